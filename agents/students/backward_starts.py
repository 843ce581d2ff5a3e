"""Backward curriculum: episodes begin at points of a solution, from its end back to its start (Salimans and Chen, arXiv
1812.03381; the second phase of Go-Explore, arXiv 1901.10995, section 2.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np


class BackwardStarts:
    """Curriculum of starts along each level's solution, at first ``move`` actions before the end of the solution.

    As in Salimans and Chen's code, some episodes begin later, to prevent forgetting; the start moves towards the end
    again if no episode succeeds; and an episode that takes much longer than the solution is cut off.

    Args:
        move: number of actions by which a level's start moves; episodes begin up to ``move`` actions after the start.
        success: share of a level's counted episodes, in (0, 1], that must succeed before the start moves back.
        episodes: number of latest episodes that are counted for ``success``.
        later: share of episodes that begin anywhere between the start and the end of the solution.
        lag: number of actions that an episode may take beyond the rest of the solution; no such limit for a level whose
            start is 0.

    Attributes:
        solutions: level (given by its seed) -> actions of the solution.
        starts: level -> number of actions of the solution that are taken before an episode begins.
    """

    def __init__(self, move: int = 5, success: float = 0.2, episodes: int = 20, later: float = 0.2, lag: int = 50):
        self.move, self.success, self.episodes = move, success, episodes
        self.later, self.lag = later, lag
        self.solutions: dict[int, list[Any]] = {}
        self.starts: dict[int, int] = {}
        self._played: dict[int, list[bool]] = {}

    def begin(self, solutions: Mapping[int, Sequence[Any]]) -> None:
        """Begin the curriculum: set the solutions, and each start to ``move`` actions before the solution's end."""
        self.solutions = {level: list(actions) for level, actions in solutions.items()}
        self.starts = {level: max(len(actions) - self.move, 0) for level, actions in self.solutions.items()}
        self._played = {level: [] for level in self.solutions}

    def draw(self, seed: int) -> tuple[int, list[Any]] | None:
        """Draw the level of an episode and the actions to take before the episode begins; None without solutions."""
        if not self.solutions:
            return None
        rng = np.random.default_rng(seed)
        level = [*self.solutions][int(rng.integers(len(self.solutions)))]
        actions, start = self.solutions[level], self.starts[level]
        last = min(start + self.move, len(actions) - 1) if start else 0
        if rng.random() < self.later:
            last = len(actions) - 1
        return level, actions[: int(rng.integers(start, last + 1))]

    def is_late(self, level: int, begun: int, actions: int) -> bool:
        """Return True if an episode must be cut off: it began after ``begun`` actions of the solution and has taken at
        least as many ``actions`` as the rest of the solution plus ``lag``."""
        if not self.starts.get(level):
            return False
        return begun + actions >= len(self.solutions[level]) + self.lag

    def report(self, level: int, success: bool, begun: int) -> None:
        """Count an episode that began after ``begun`` actions, unless that is too late to count. Move the level's start
        back when enough of the latest episodes have succeeded, and forward when all have failed."""
        if level not in self._played or begun > self.starts[level] + (self.move if self.starts[level] else 0):
            return
        played = self._played[level]
        played.append(success)
        del played[: -self.episodes]
        if len(played) == self.episodes and np.mean(played) >= self.success and self.starts[level]:
            self.starts[level] = max(self.starts[level] - self.move, 0)
            played.clear()
        elif len(played) == self.episodes and not any(played):
            self.starts[level] = min(self.starts[level] + self.move, max(len(self.solutions[level]) - self.move, 0))
            played.clear()

    def metrics(self) -> dict[str, float]:
        """Return "start", the mean share of the solutions that is taken before episodes begin, and
        "success_from_start", the success rate of the latest episodes of levels whose start is 0, as far as known."""
        left = [self.starts[level] / len(actions) for level, actions in self.solutions.items()]
        whole = [np.mean(played) for level, played in self._played.items() if played and not self.starts[level]]
        found = {"start": float(np.mean(left))} if left else {}
        return found | ({"success_from_start": float(np.mean(whole))} if whole else {})

    def state_dict(self) -> dict[str, Any]:
        """Return the whole state as JSON-serializable values."""
        rows = [[level, self.solutions[level], self.starts[level], self._played[level]] for level in self.solutions]
        return {"levels": rows}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        rows = state["levels"]
        self.solutions = {int(row[0]): list(row[1]) for row in rows}
        self.starts = {int(row[0]): int(row[2]) for row in rows}
        self._played = {int(row[0]): [bool(flag) for flag in row[3]] for row in rows}
