"""Right and spoilt solutions as plain texts:

    pairs = draw_pairs(300, of=["palaestra/Arithmetic-v0"], split="train")
    model.fit([Preference(pair.question, pair.right, pair.wrong) for pair in pairs])

Reward models are trained on them and audited with them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ..question import Question
from ..splits import check_split
from .flaws import Flaw, SolvedTask, Worked, draw_flaw
from .judge_pairs import JudgePairs
from .judging import FAMILIES

MAX_TRIES = 50
ERRORS = ("blatant", "slip", "subtle")


@dataclass(frozen=True, slots=True)
class SolutionPair:
    """A question with a right and a spoilt solution.

    Args:
        question: the question's prompt.
        right, wrong: the solutions, one line for each step, the answer last.
        flaw: kind of the flaw, one in `flaws.FLAWS`.
        error: how easily it is seen: "blatant", "slip" or "subtle".
        line: index of the first wrong line of ``wrong``.
    """

    question: str
    right: str
    wrong: str
    flaw: str
    error: str
    line: int


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
    pairs: list[SolutionPair] = []
    for _ in range(MAX_TRIES * max(1, count)):
        if len(pairs) == count:
            return pairs
        error = ERRORS[len(pairs) % len(ERRORS)]
        params = {"level": float(rng.random()) if level is None else level, "error": error}
        _, source, flaw = env.draw_spoilt(rng, params)
        if env.belongs(source.key):
            pairs.append(_pair(source.task.prompt, source, flaw, error))
    raise InputError(f"there are not {count} {split} questions of {of}; take split='all', or fewer.")


def _pair(question: str, source: SolvedTask, flaw: Flaw, error: str) -> SolutionPair:
    texts = (write_solution(source.worked), write_solution(flaw.solution))
    return SolutionPair(question, *texts, flaw.kind, error, flaw.line)


def draw_pairs_of(env: gym.Env[Any, Any], count: int, seed: int = 0) -> list[SolutionPair]:
    """Draw pairs of a right and a spoilt solution to the tasks of an environment, with its axes, split and prompts.

    Args:
        env: environment of a `Question` with worked solutions.
        count: number of pairs; each is of a task of a difficulty of its own.
        seed: seed of all draws.

    Raises:
        InputError: the environment is no question, has no worked solutions, or they cannot be spoilt.
    """
    question, rng = env.unwrapped, np.random.default_rng(seed)
    if not isinstance(question, Question):
        raise InputError(f"solutions can be spoilt of questions with one answer, not of {type(question).__name__}.")
    pairs: list[SolutionPair] = []
    for _ in range(MAX_TRIES * max(1, count)):
        if len(pairs) == count:
            return pairs
        error = ERRORS[len(pairs) % len(ERRORS)]
        observation, info = env.reset(seed=int(rng.integers(2**31)), options={"difficulty": float(rng.random())})
        source = SolvedTask(question, question.here(), info["params"])
        if not source.worked.steps:
            raise InputError(f"{type(question).__name__} has no worked solutions; let an agent answer its questions.")
        flaw = draw_flaw(source, rng, error)
        if flaw is not None:
            pairs.append(_pair(str(observation), source, flaw, error))
    raise InputError(f"{count} solutions of {type(question).__name__} cannot be spoilt; take other axes, or fewer.")
