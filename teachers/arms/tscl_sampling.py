"""Sampling rule of teacher-student curriculum learning (arXiv 1707.00183); the paper's other rules are in `tscl`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..protocol import Draw, Evidence
from ..registration import register
from ..saved_state import restore_array
from .arm_teacher import ArmTeacher
from .tscl import OPTIMISM


@register("tscl-sampling")
class Sampling(ArmTeacher):
    """Teacher-student curriculum, sampling rule: the arm with the largest draw from its recent changes of score.

    Each arm stores the last `window` changes between its successive scores (the first change is from 0, the lowest
    return). A proposal draws one change of each arm and takes the arm with the largest. For untried arms the change is
    1, the largest possible (algorithm 4). The probability of an arm has no closed form and is NaN.
    """

    paper = "1707.00183"
    when = "Few arms and no wish to set an exploration rate: noise in the recent changes makes it explore."
    kept = ("last", "counts")
    window: int = option(default=10, low=1, says="number of latest changes stored for each arm.")
    absolute: bool = option(
        default=True, says="take the largest |change|, as the paper does; False takes the largest change."
    )

    def setup(self) -> None:
        super().setup()
        n = self.arms.n
        self.last, self.counts = np.zeros(n), np.zeros(n, dtype=np.int64)
        self._changes = np.full((n, self.window), OPTIMISM)  # rings: the m-th change of an arm is at m modulo window

    def distribution(self) -> None:
        return None

    def _probabilities(self) -> np.ndarray:
        raise RuntimeError("the chance of an arm has no closed form")

    def _draw(self, k: int) -> list[Draw]:
        n = self.arms.n
        known = self.counts.clip(1, self.window)
        free = self._rng.random(k) < self.floor
        drawn = self._rng.integers(n, size=k)
        values = (np.abs(self._changes) if self.absolute else self._changes).ravel()
        first = np.arange(n) * self.window
        for place in np.flatnonzero(~free):
            drawn_values = values.take(first + (self._rng.random(n) * known).astype(np.int64))
            best = np.flatnonzero(drawn_values == drawn_values.max())
            drawn[place] = best[int(self._rng.integers(len(best)))]
        origins = np.where(free, "explore", "exploit").tolist()
        return [Draw(a, self.arms.task(a, self._rng), origin=o) for a, o in zip(drawn.tolist(), origins)]

    def _metrics(self) -> dict[str, float]:
        return {"untried": float((self.counts == 0).sum())}

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm, score = int(item.record), float(item.returns.mean())
            self._changes[arm, self.counts[arm] % self.window] = score - self.last[arm]
            self.counts[arm] += 1
            self.last[arm] = score

    def _save(self) -> dict[str, Any]:
        tried = np.flatnonzero(self.counts)
        return {**super()._save(), "changes": [[int(arm), self._changes[arm].tolist()] for arm in tried]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._changes = np.full((self.arms.n, self.window), OPTIMISM)
        for arm, changes in own["changes"]:
            self._changes[int(arm)] = restore_array(changes, self._changes[0])
