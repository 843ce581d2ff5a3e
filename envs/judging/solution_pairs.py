"""Right and spoilt solutions as plain texts:

    pairs = draw_pairs(300, of=["palaestra/Arithmetic-v0"], split="train")
    model.fit([Preference(pair.question, pair.right, pair.wrong) for pair in pairs])

Reward models are trained on them and audited with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError
from ..splits import check_split
from .flaws import Worked
from .judge_pairs import JudgePairs
from .judging import FAMILIES

MAX_TRIES = 50


@dataclass(frozen=True, slots=True)
class SolutionPair:
    """A question with a right and a spoilt solution.

    Args:
        question: the question's prompt.
        right, wrong: the solutions, one line for each step, the answer last.
        flaw: kind of the flaw, one in `flaws.FLAWS`.
        error: how easily it is seen: "blatant", "slip" or "subtle".
    """

    question: str
    right: str
    wrong: str
    flaw: str
    error: str


def write_solution(solution: Worked) -> str:
    """Write a solution as text: its lines, and the answer behind "Answer:"."""
    return "\n".join([*solution.steps, f"Answer: {solution.answer}"])


def draw_pairs(
    count: int, *, of: str | Sequence[str] = FAMILIES, split: str = "train", level: float | None = None, seed: int = 0
) -> list[SolutionPair]:
    """Draw pairs of a right and a spoilt solution, with every kind of flaw.

    Args:
        count: number of pairs.
        of: ids of the families that ask the questions.
        split: split of the questions.
        level: difficulty of the questions in their families; None to draw it for each.
        seed: seed of all draws.

    Raises:
        InputError: a family that cannot be judged, or an unknown split.
    """
    env = JudgePairs(of=of, split=check_split(split))
    rng = np.random.default_rng(seed)
    errors = ("blatant", "slip", "subtle")
    pairs: list[SolutionPair] = []
    for _ in range(MAX_TRIES * max(1, count)):
        if len(pairs) == count:
            return pairs
        error = errors[len(pairs) % len(errors)]
        params = {"level": float(rng.random()) if level is None else level, "error": error}
        _, source, flaw = env.draw_spoilt(rng, params)
        if env.belongs(source.key):
            texts = (write_solution(source.worked), write_solution(flaw.solution))
            pairs.append(SolutionPair(source.task.prompt, *texts, flaw.kind, error))
    raise InputError(f"there are not {count} {split} questions of {of}; take split='all', or fewer.")
