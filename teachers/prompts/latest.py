"""Success rate of each task in its latest group, for selectors that use only the present accuracy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..protocol import Evidence
from .screening import Tallies


class LatestGroups:
    """Success rate of each of n tasks in its latest group; single episodes are collected into groups first.

    Args:
        n: number of tasks.
        group: number of single episodes that make a group.

    Attributes:
        rate: float64[n], NaN before the first complete group.
        size: int64[n], episodes in the latest group, 0 before the first.
    """

    def __init__(self, n: int, group: int):
        self.rate = np.full(n, np.nan)
        self.size = np.zeros(n, dtype=np.int64)
        self._tallies = Tallies(group)

    def add(self, task: int, evidence: Evidence) -> bool:
        """Add the episodes of one outcome. Return True if they complete a group."""
        done = self._tallies.add(replace(evidence, record=task))
        if done is not None:
            self.rate[task], self.size[task] = done
        return done is not None

    def save(self) -> dict[str, Any]:
        known = np.flatnonzero(self.size)
        columns = [known.tolist(), self.rate[known].tolist(), self.size[known].tolist()]
        return {"known": columns, "waiting": self._tallies.save()}

    def restore(self, saved: Any) -> None:
        index, rate, size = saved["known"]
        self.rate[:], self.size[:] = np.nan, 0
        if index:
            self.rate[np.array(index)], self.size[np.array(index)] = rate, size
        self._tallies.restore(saved["waiting"])
