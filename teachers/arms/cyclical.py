"""Cyclical curriculum learning: the share of the data in use goes up and down (Kesgin, Amasyali, arXiv 2202.05531).

Each epoch draws a subset of the arms without replacement, easy arms more likely, and proposes each of them once. The
subset's size follows a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import check_numbers, option
from ...errors import InputError
from ..protocol import Draw, Evidence
from ..registration import register
from ..sampling import draw_without_replacement
from ..saved_state import Kept
from .arm_teacher import ArmTeacher

SOFTENING = 0.1  # an arm of difficulty 0 is eleven times as likely as one of difficulty 1


def next_size(size: float, rising: bool, start: float, end: float, factor: float, strategy: str) -> tuple[float, bool]:
    """Return the share of the data in the epoch after one of ``size`` (0 before the first), and if sizes then rise.

    "cycle" divides by ``factor`` until ``end``, then multiplies by it until ``start``, and so on; "up" and "down" move
    in one direction and stay at the limit; "sharp" rises to ``end`` and restarts from ``start``.
    """
    if size == 0:
        return (end, False) if strategy == "down" else (start, True)
    if strategy == "sharp" and size >= end:
        return start, True
    if strategy == "cycle":
        rising = size < end if rising else size <= start
    return (min(size / factor, end) if rising else max(size * factor, start)), rising


@register("cyclical")
class CyclicalSubsets(ArmTeacher):
    """Epochs over random subsets of the arms whose size rises and falls.

    With the defaults the subsets hold 0.25, 0.5, 1, 0.5, 0.25, 0.5 ... of the arms (at least one). Arms enter a subset
    with probability proportional to their score; the order within an epoch is random. The probability of a proposal has
    no closed form and is NaN.

    Attributes:
        size: share of the arms in the current epoch; 0 before the first epoch.
    """

    paper = "2202.05531"
    when = (
        "Easy and hard arms are known beforehand, and a long run is to meet all of them again and again in subsets "
        "that grow and shrink."
    )
    state_name = "Cyclical"
    kept = (Kept("size", float), "_rising", Kept("_queue", deque[int]))
    floor: float = option(default=0.0, init=False)
    start: float = option(default=0.25, above=0, high=1, says="smallest share of the arms.")
    end: float = option(default=1.0, above=0, high=1, says="largest share, at least `start`.")
    factor: float = option(default=0.5, above=0, high=1, says="ratio of neighbouring sizes, below 1.")
    strategy: Literal["cycle", "up", "down", "sharp"] = option(
        default="cycle", says="course of the sizes, see `next_size`."
    )
    scores: Sequence[float] | None = option(
        default=None,
        check=lambda name, value: list(check_numbers(name, value)),
        says="float[n], positive, weight of each arm in the draw; the paper uses 1 / loss of a conventionally "
        "trained model. None takes 1 / (0.1 + difficulty).",
    )
    first: Literal["easy", "hard"] = option(
        default="easy", says='"easy" uses the scores as weights, "hard" their inverses.'
    )

    def setup(self) -> None:
        if self.start > self.end:
            raise InputError(f"start={self.start:g} must not be above end={self.end:g}.")
        if self.factor == 1:
            raise InputError("factor=1 never changes the size; take a number below 1.")
        super().setup()
        weights = 1 / (SOFTENING + self.arms.difficulty) if self.scores is None else np.array(self.scores)
        if weights.shape != (self.arms.n,) or (weights <= 0).any():
            raise InputError(f"scores must be one positive number for each of the {self.arms.n} arms.")
        self._weights = weights if self.first == "easy" else 1 / weights
        self.size, self._rising = 0.0, True
        self._queue: deque[int] = deque()  # remaining arms of the epoch

    def distribution(self) -> None:
        return None

    def _probabilities(self) -> np.ndarray:
        raise RuntimeError("the chance of an arm has no closed form")

    def _draw(self, k: int) -> list[Draw]:
        while len(self._queue) < k:
            self.size, self._rising = next_size(
                self.size, self._rising, self.start, self.end, self.factor, self.strategy
            )
            chosen, _ = draw_without_replacement(np.log(self._weights), max(1, int(self.size * self.arms.n)), self._rng)
            self._queue += self._rng.permutation(chosen).tolist()
        drawn = [self._queue.popleft() for _ in range(k)]
        return [Draw(arm, self.arms.task(arm, self._rng)) for arm in drawn]

    def _learn(self, evidence: list[Evidence]) -> None:
        pass

    def _metrics(self) -> dict[str, float]:
        return {"size": self.size}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        if any(not 0 <= arm < self.arms.n for arm in self._queue):
            raise ValueError("an arm out of range")
