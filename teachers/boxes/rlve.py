"""RLVE's sliding window of difficulty (Zeng et al., arXiv 2511.07317, section 3).

Tasks come uniformly from the last few levels up to the present one. Only outcomes of the present level count: after
every few of them, the level rises if their accuracy is high enough, and counting starts anew. A variant (`rlve-down`)
also checks the easier levels of the window, mastered earlier: if their accuracy has collapsed, the level falls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import Preset, register
from ..signals import success_counts
from .ladder import LadderTeacher


@register("rlve")
class RLVE(LadderTeacher):
    """A window of difficulty whose upper end rises by one when the student masters it; as published it never falls.

    Accuracy counts successes, or returns mapped to [0, 1] where the environment does not report success.
    """

    paper = "2511.07317"
    when = (
        "Many environments with one integer difficulty each, mastered level by level, and a student that does not "
        "forget."
    )
    window: int = option(default=4, low=1, says="levels in the window (4 in the paper).")
    threshold: float = option(
        default=0.9, low=0, high=1, says="accuracy at the present level that raises it (0.9 in the paper)."
    )
    tasks: int = option(default=8, low=1, says="outcomes of the present level between two checks (8 in the paper).")
    lower_below: float | None = option(
        default=None,
        low=0,
        high=1,
        saved=False,
        says="accuracy over the easier levels of the window that lowers the level by one, checked every `tasks` "
        "outcomes of these; None as in the paper.",
    )

    def setup(self) -> None:
        if self.lower_below is not None and (self.window < 2 or self.lower_below >= self.threshold):
            raise InputError(
                f"lower_below={self.lower_below} needs a window of at least 2 levels and a threshold above it, not "
                f"window={self.window}, threshold={self.threshold}."
            )
        if self.lower_below is not None:
            self.settings = {"lower_below": self.lower_below}
        super().setup()
        self._present, self._easier = _Accuracy(), _Accuracy()

    def _levels(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        low = max(0, self.level - self.window + 1)
        return self._rng.integers(low, self.level + 1, size=k), 1 / (self.level - low + 1), "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            level = item.record[0]
            if level == self.level:
                counts = self._present
            elif self.lower_below is not None and self.level - self.window < level < self.level:
                counts = self._easier
            else:
                continue
            counts.add(*success_counts(item))
            if counts.tasks < self.tasks:
                continue
            if counts is self._present and counts.reaches(self.threshold):
                self._move(self.level + 1)
            elif counts is self._easier and not counts.reaches(self.lower_below or 0.0):
                self._move(self.level - 1)
            counts.clear()

    def _move(self, level: int) -> None:
        self.level = min(level, self.ladder.n - 1)
        self._present.clear()
        self._easier.clear()

    def _save(self) -> dict[str, Any]:
        easier = {} if self.lower_below is None else {"easier": self._easier.save()}
        return {**super()._save(), "counts": self._present.save(), **easier}

    def _restore(self, own: Mapping[str, Any]) -> None:
        present, easier = _Accuracy(*own["counts"]), _Accuracy(*own.get("easier", ()))
        super()._restore(own)
        self._present, self._easier = present, easier


@dataclass
class _Accuracy:
    tasks: int = 0
    successes: float = 0.0
    episodes: int = 0

    def add(self, successes: float, episodes: int) -> None:
        self.tasks, self.successes, self.episodes = self.tasks + 1, self.successes + successes, self.episodes + episodes

    def reaches(self, share: float) -> bool:
        return self.successes >= share * self.episodes - 1e-9

    def clear(self) -> None:
        self.tasks, self.successes, self.episodes = 0, 0.0, 0

    def save(self) -> list[float]:
        return [self.tasks, self.successes, self.episodes]


Preset(
    "rlve-down",
    RLVE,
    "RLVE's window, which also falls by one when the success rate over its easier levels collapses.",
    "2511.07317",
    when="As `rlve`, for a student whose success on easier levels can collapse.",
    lower_below=0.5,
)
