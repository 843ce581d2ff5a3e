"""Coach of reasoning-gym: a level that rises and falls with the mean score (Stojanovski et al., arXiv 2505.24760,
and the curriculum of its training code)."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..saved_state import Kept
from ..signals import success_counts
from .ladder import LadderTeacher

MODES = ("upper_bound", "inclusive", "last_k")


@register("reasoning-gym")
class Coach(LadderTeacher):
    """Teacher that raises its level when the mean of the last scores is high, and lowers it when the mean is low.

    The released trainer keeps its scores after a change of level, so that scores of the old level can raise it again
    and again; here they are forgotten by default, and so are outcomes of tasks drawn before the change.
    """

    paper = "2505.24760"
    when = (
        "Environments with one scale of difficulty, and a simple rule that also falls back. Levels need many episodes "
        "each."
    )
    kept = (Kept("_scores", deque[tuple[float, int]]), "_total")
    mode: Literal["upper_bound", "inclusive", "last_k"] = option(
        default="upper_bound",
        says='source of tasks: "upper_bound", the present level; "inclusive", all levels up to it; "last_k", the '
        "last `span` levels up to it.",
    )
    span: int = option(default=3, low=1, says='number of levels of "last_k".')
    last_k: int = option(
        default=2560,
        low=1,
        says="number of latest episodes over which scores are averaged; the level does not change before there are "
        "as many (2560 in the released configuration for knights and knaves).",
    )
    raise_above: float = option(
        default=0.7, low=0, high=1, says="mean score above which the level rises (0.7 in the released configuration)."
    )
    lower_below: float = option(
        default=0.3, low=0, high=1, says="mean score below which the level falls (0.3 in the released configuration)."
    )
    reset: bool = option(default=True, says="forget scores when the level changes; False is the released behaviour.")

    def setup(self) -> None:
        if self.raise_above <= self.lower_below:
            raise InputError(f"raise_above={self.raise_above:g} must be larger than lower_below={self.lower_below:g}.")
        super().setup()
        self._scores: deque[tuple[float, int]] = deque()  # (sum, episodes) of each outcome, oldest first
        self._total, self._episodes = 0.0, 0

    def _levels(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        reach = {"upper_bound": 1, "inclusive": self.level + 1, "last_k": self.span}[self.mode]
        low = max(0, self.level - reach + 1)
        return self._rng.integers(low, self.level + 1, size=k), 1 / (self.level - low + 1), "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            if self.reset and item.record[1] != self.level:
                continue
            total, episodes = success_counts(item)
            self._scores.append((total, episodes))
            self._total, self._episodes = self._total + total, self._episodes + episodes
        while self._scores and self._episodes - self._scores[0][1] >= self.last_k:
            total, episodes = self._scores.popleft()
            self._total, self._episodes = self._total - total, self._episodes - episodes
        if self._episodes < self.last_k:
            return
        mean = self._total / self._episodes
        level = self.level + (mean > self.raise_above + 1e-9) - (mean < self.lower_below - 1e-9)
        level = min(max(level, 0), self.ladder.n - 1)
        if level != self.level:
            self.level = level
            if self.reset:
                self._scores.clear()
                self._total, self._episodes = 0.0, 0

    def _metrics(self) -> dict[str, float]:
        return {**super()._metrics(), "score": self._total / max(self._episodes, 1)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._episodes = sum(episodes for _, episodes in self._scores)
