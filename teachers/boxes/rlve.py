"""RLVE's sliding window of difficulty (Zeng et al., arXiv 2511.07317, section 3).

Tasks come uniformly from the last few levels up to the present one. Only the present level counts: once enough of its
tasks have been seen, the level rises where their accuracy is high enough, and counting starts anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_count, check_share
from ..protocol import Common, Evidence
from ..registration import register
from ..signals import success_counts
from .ladder import LadderTeacher


@register("rlve")
class RLVE(LadderTeacher):
    """A window of difficulty whose upper end rises by one when the student masters it; it never falls.

    Accuracy counts successes, or returns mapped to [0, 1] where the environment does not report success.

    Args:
        space, axis, levels, start: see `LadderTeacher`.
        window: levels in the window (4 in the paper).
        threshold: accuracy at the present level that raises it (0.9 in the paper).
        tasks: outcomes of the present level between two checks (8 in the paper).
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2511.07317"

    def __init__(
        self,
        space: Any,
        *,
        axis: str | None = None,
        levels: int | None = None,
        start: int = 0,
        window: int = 4,
        threshold: float = 0.9,
        tasks: int = 8,
        **common: Unpack[Common],
    ):
        check_count("window", window, low=1)
        check_count("tasks", tasks, low=1)
        self.window, self.threshold, self.tasks = int(window), check_share("threshold", threshold), int(tasks)
        settings = {"window": self.window, "threshold": self.threshold, "tasks": self.tasks}
        super().__init__(space, axis=axis, levels=levels, start=start, settings=settings, **common)
        self._seen, self._successes, self._episodes = 0, 0.0, 0

    def _levels(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        low = max(0, self.level - self.window + 1)
        return self._rng.integers(low, self.level + 1, size=k), 1 / (self.level - low + 1), "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            if item.record[0] != self.level:
                continue
            successes, episodes = success_counts(item)
            self._seen, self._successes = self._seen + 1, self._successes + successes
            self._episodes += episodes
            if self._seen >= self.tasks:
                if self._successes >= self.threshold * self._episodes - 1e-9:
                    self.level = min(self.level + 1, self.ladder.n - 1)
                self._seen, self._successes, self._episodes = 0, 0.0, 0

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "counts": [self._seen, self._successes, self._episodes]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        seen, successes, episodes = own["counts"]
        super()._restore(own)
        self._seen, self._successes, self._episodes = int(seen), float(successes), int(episodes)
