"""Self-imitation: replay of episodes that did better than their group, with a recalibrated advantage.

The same memory serves as a replay strategy and as the source of a separate stream (`streams.own_episodes`). SPEAR
raises the stream's coefficient over the first updates.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from .....checks import check_choice, check_count, check_number
from ...batch.trajectory import Group, Trajectory
from ...recipes.stages import REPLAYS
from .memory import Replay, draw_numbers


def group_advantages(group: Group, eps: float = 1e-4, ddof: int = 1) -> list[float]:
    """Return (R - mean) / (std + eps) of each valid trajectory of a group (GRPO, arXiv 2402.03300, section 4.1.2)."""
    outcomes = [t.outcome for t in group.valid]
    mean = sum(outcomes) / max(len(outcomes), 1)
    squares = sum((r - mean) ** 2 for r in outcomes)
    std = (squares / max(len(outcomes) - ddof, 1)) ** 0.5
    return [(r - mean) / (std + eps) for r in outcomes]


@REPLAYS.register("self_imitation")
class SelfImitation(Replay):
    """Store episodes far above their group's mean for some updates, and train them with a recalibrated advantage
    (SPEAR, arXiv 2509.22601, section 3.2).

    advantage = outcome - median of the last group means; with ``normalise`` it is divided by the median of the last
    groups' standard deviations. Only episodes whose advantage is still above 0 are replayed; it is stored in the
    trajectory.

    Args:
        capacity: number of episodes stored.
        threshold: an episode is stored if its advantage within its group exceeds this.
        good: least number of successes in the group of a stored episode.
        expiry: number of updates after which an episode is dropped.
        history: number of latest group means (and deviations) of which medians are computed.
        normalise: divide by the median standard deviation.
        calibration: "median" (see above), or "decay": 0.9 x the stored advantage.
        most: most episodes replayed at a time; None: as many as fresh episodes.
    """

    def __init__(
        self,
        capacity: int = 2048,
        threshold: float = 1.0,
        good: int = 2,
        expiry: int = 10,
        history: int = 10240,
        normalise: bool = False,
        calibration: str = "median",
        most: int | None = None,
    ):
        super().__init__(capacity)
        self.threshold = check_number("threshold", threshold)
        self.good = check_count("good", good, 0, "successes")
        self.expiry = check_count("expiry", expiry, 1, "updates")
        self.history = check_count("history", history, 1, "group means")
        self.normalise = normalise
        self.calibration = check_choice("calibration", calibration, ("median", "decay"))
        self.most = None if most is None else check_count("most", most, 1, "episodes")
        self._means: list[float] = []
        self._stds: list[float] = []

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        """Return the fresh groups, followed by a group of one for each replayed episode, with its advantage stored."""
        replayed = self.recall(sum(len(group.valid) for group in groups), step, rng)
        self.remember(groups, step)
        return [*groups, *replayed]

    def remember(self, groups: Sequence[Group], step: int) -> None:
        """Store the best episodes of fresh groups, and the means and standard deviations of the groups."""
        for group in groups:
            outcomes = [t.outcome for t in group.valid]
            if not outcomes:
                continue
            self._means.append(statistics.fmean(outcomes))
            self._stds.append(statistics.stdev(outcomes) if len(outcomes) > 1 else 0.0)
            if sum(t.success for t in group.valid) < self.good:
                continue
            above = zip(group.valid, group_advantages(group), strict=True)
            kept = [replace(t, advantage=a) for t, a in above if a > self.threshold]
            self._remember([Group(group.proposal, (t,)) for t in kept], step)
        self._means, self._stds = self._means[-self.history :], self._stds[-self.history :]

    def recall(self, fresh: int, step: int, rng: np.random.Generator) -> list[Group]:
        """Draw stored episodes with a positive advantage, at most ``most``, or ``fresh`` if ``most`` is None."""
        self._kept = [kept for kept in self._kept if step - kept.step <= self.expiry]
        measured = [(kept.group, self._advantage(kept.group.trajectories[0])) for kept in self._kept]
        positive = [(group, advantage) for group, advantage in measured if advantage > 0]
        picked = [positive[i] for i in draw_numbers(len(positive), fresh if self.most is None else self.most, rng)]
        return [replace(g, trajectories=(replace(g.trajectories[0], advantage=a),)) for g, a in picked]

    def _advantage(self, trajectory: Trajectory) -> float:
        if self.calibration == "decay":
            return 0.9 * (trajectory.advantage or 0.0)
        gain = trajectory.outcome - statistics.median(self._means)
        spread = statistics.median(self._stds) if self.normalise else 1.0
        return gain / spread if spread > 0 else 0.0

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "means": list(self._means), "stds": list(self._stds)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict(state)
        self._means, self._stds = list(state["means"]), list(state["stds"])
