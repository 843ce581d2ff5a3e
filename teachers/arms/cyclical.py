"""Cyclical curriculum learning: the share of the data in use goes up and down (Kesgin, Amasyali, arXiv 2202.05531).

Each epoch draws a subset of the arms without replacement, easy ones more likely, and goes through it once. The subset's
size follows a cycle.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ...checks import check_choice, check_numbers, check_share
from ...errors import InputError
from ..protocol import Common, Draw, Evidence
from ..registration import register
from ..sampling import in_turn
from .arm_teacher import ArmTeacher

SOFTENING = 0.1  # the easiest arm, of difficulty 0, is eleven times as likely as the hardest


def next_size(size: float, rising: bool, start: float, end: float, factor: float, strategy: str) -> tuple[float, bool]:
    """Return the share of the data after ``size`` (0 before the first epoch), and whether sizes are rising then.

    "cycle" divides by ``factor`` until ``end``, then multiplies by it until ``start``, and so on; "up" and "down" go
    one way and stay; "sharp" goes up and starts again.
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

    Args:
        space, bins: see `ArmTeacher`.
        start, end: smallest and largest share of the arms, 0 < start <= end <= 1.
        factor: ratio of neighbouring sizes, in (0, 1).
        strategy: "cycle", "up", "down" or "sharp" (see `next_size`).
        scores: float[n], positive, weight of each arm in the draw; the paper has 1 / loss of a plainly trained model.
            None takes 1 / (0.1 + difficulty).
        first: "easy" uses the scores as weights, "hard" their inverses.
        seed, return_range, max_in_flight: see `Teacher`.

    Attributes:
        size: share of the arms in the current epoch; 0 before the first epoch.

    Raises:
        InputError: an option out of range.
    """

    paper = "2202.05531"
    state_name = "Cyclical"

    def __init__(
        self,
        space: Any,
        *,
        start: float = 0.25,
        end: float = 1.0,
        factor: float = 0.5,
        strategy: Literal["cycle", "up", "down", "sharp"] = "cycle",
        scores: Sequence[float] | None = None,
        first: Literal["easy", "hard"] = "easy",
        bins: int | Sequence[int] | None = None,
        **common: Unpack[Common],
    ):
        start, end = check_share("start", start, positive=True), check_share("end", end, positive=True)
        if start > end:
            raise InputError(f"start={start:g} must not be above end={end:g}.")
        factor = check_share("factor", factor, positive=True)
        if factor == 1:
            raise InputError("factor=1 never changes the size; take a number below 1.")
        check_choice("strategy", strategy, ("cycle", "up", "down", "sharp"))
        check_choice("first", first, ("easy", "hard"))
        settings = {
            "start": start,
            "end": end,
            "factor": factor,
            "strategy": strategy,
            "scores": None if scores is None else list(check_numbers("scores", scores)),
            "first": first,
        }
        super().__init__(space, bins=bins, settings=settings, **common)
        weights = (
            1 / (SOFTENING + self.arms.difficulty) if scores is None else np.array(check_numbers("scores", scores))
        )
        if weights.shape != (self.arms.n,) or (weights <= 0).any():
            raise InputError(f"scores must be one positive number for each of the {self.arms.n} arms.")
        self._scores = weights if first == "easy" else 1 / weights
        self._cycle = (start, end, factor, strategy)
        self.size, self._rising = 0.0, True
        self._queue: deque[int] = deque()  # remaining arms of the epoch

    def distribution(self) -> None:
        return None

    def _probabilities(self) -> np.ndarray:
        raise RuntimeError("the chance of an arm has no closed form")

    def _draw(self, k: int) -> list[Draw]:
        while len(self._queue) < k:
            self.size, self._rising = next_size(self.size, self._rising, *self._cycle)
            chosen, _ = in_turn(np.log(self._scores), max(1, int(self.size * self.arms.n)), self._rng)
            self._queue += self._rng.permutation(chosen).tolist()
        drawn = [self._queue.popleft() for _ in range(k)]
        return [Draw(arm, self.arms.task(arm, self._rng)) for arm in drawn]

    def _learn(self, evidence: list[Evidence]) -> None:
        pass

    def _metrics(self) -> dict[str, float]:
        return {"size": self.size}

    def _save(self) -> dict[str, Any]:
        return {"size": self.size, "rising": self._rising, "queue": list(self._queue)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        queue = deque(int(arm) for arm in own["queue"])
        if any(not 0 <= arm < self.arms.n for arm in queue):
            raise ValueError("an arm out of range")
        self.size, self._rising, self._queue = float(own["size"]), bool(own["rising"]), queue
