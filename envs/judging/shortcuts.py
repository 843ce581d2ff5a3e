"""Judges that do not read: verdicts from place, length, layout and pleas alone, and how often they are right.

``shortcut_rates(env, 400)`` should be near one half for every row of `SHORTCUTS`; where one of them is not, a trained
judge would learn it instead of reading.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ...errors import InputError
from .judge_pairs import JudgePairs
from .presentation import REMARKS

_MARKDOWN = re.compile(r"^(?:\*\*|\* |### )", re.MULTILINE)
_SHOWN = re.compile(
    r"\n\nQuestion:\n(.*)\n\nSolution A:\n(.*)\n\nSolution B:\n(.*)\n\nWhich solution is right\?", re.DOTALL
)
_PLEA = re.compile(r"\[\[([AB])\]\]")


def _count_remarks(text: str) -> int:
    return sum(text.count(remark) for remark in REMARKS)


def _read_answer(text: str) -> str:
    return text.rpartition("Answer:")[2].strip("* \n").partition("\n")[0]


SHORTCUTS: Mapping[str, Callable[[str], float]] = {
    "first": lambda text: 0.0,
    "longer": len,
    "more lines": lambda text: text.count("\n"),
    "formatted": lambda text: len(_MARKDOWN.findall(text)),
    "pleading": lambda text: len(_PLEA.findall(text)),
    "more equations": lambda text: text.count("="),
    "more numbers": lambda text: len(re.findall("[0-9]+", text)),
    "more remarks": _count_remarks,
    "longer answer": lambda text: len(_read_answer(text)),
    "positive answer": lambda text: not _read_answer(text).startswith("-"),
}
"""Shortcut -> number that a solution has; the shortcut prefers the solution with the larger one."""


def read_pair(observation: str) -> tuple[str, str, str]:
    """Return the question and the two solutions in an observation of `JudgePairs` in sentences.

    Raises:
        InputError: the observation shows no two solutions.
    """
    match = _SHOWN.search(observation)
    if match is None:
        raise InputError("the observation shows no two solutions; play JudgePairs-v0 with prompt='sentences'.")
    return match[1], match[2], match[3]


def shortcut_rates(env: JudgePairs, episodes: int, seed: int = 0) -> dict[str, float]:
    """Return how often each of `SHORTCUTS` is right; a tie counts half, except that "first" prefers A.

    Args:
        env: the environment.
        episodes: number of tasks.
        seed: seed of the first task.
    """
    right = dict.fromkeys(SHORTCUTS, 0.0)
    for number in range(episodes):
        observation, _ = env.reset(seed=seed + number)
        _, first, second = read_pair(observation)
        is_first = env.here().reference == "A"
        for name, measure in SHORTCUTS.items():
            lead = 1.0 if name == "first" else float(measure(first) - measure(second))
            right[name] += 0.5 if lead == 0 else float((lead > 0) == is_first)
    return {name: count / episodes for name, count in right.items()}
