"""Recomposed batches: short successes and long failures are trained first, the rest later through a queue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .....checks import check_count, check_number
from ...batch.trajectory import Group, Trajectory
from ...recipes.stages import REPLAYS
from .memory import RememberedGroup, Replay
from .self_imitation import group_advantages


@REPLAYS.register("recompose")
class Recompose(Replay):
    """Train a share of each group's shortest successes and longest failures now, and queue the rest; the oldest part of
    the queue joins a batch with ``probability`` (RoRecomp, arXiv 2509.25958, section 3).

    Every trajectory stores the advantage that it has in its whole group, so the recipe must use the adjustment "given".
    The paper states neither the shares nor the size of the queue, and trains episodes from the queue in separate
    updates.

    Args:
        share: share of a group's successes, and of its failures, that is trained at once, rounded up.
        probability: chance per update of taking the oldest part of the queue.
        capacity: most groups in the queue; from a fuller queue the oldest part is taken in any case.
        most: number of groups taken from the queue at a time; None: as many as there are fresh ones.
    """

    def __init__(
        self,
        share: float = 0.5,
        probability: float = 0.5,
        capacity: int = 256,
        most: int | None = None,
        eps: float = 1e-4,
    ):
        super().__init__(capacity)
        self.share = check_number("share", share, high=1.0, above=0.0)
        self.probability = check_number("probability", probability, 0.0, 1.0)
        self.most = None if most is None else check_count("most", most, 1, "groups")
        self.eps = check_number("eps", eps, 0.0)

    def mix(self, groups: Sequence[Group], step: int, rng: np.random.Generator) -> list[Group]:
        now, later = [], []
        for group in groups:
            first, rest = self._split_now_and_later(group)
            now.append(replace(group, trajectories=first))
            if rest:
                later.append(replace(group, trajectories=rest))
        taken = self.most or len(groups)
        due = rng.random() < self.probability
        queue = self._kept + [RememberedGroup(group, step) for group in later]
        count = max(taken if due else 0, len(queue) - self.capacity)
        self._kept = queue[count:]
        return now + [kept.group for kept in queue[:count]]

    def _split_now_and_later(self, group: Group) -> tuple[tuple[Trajectory, ...], tuple[Trajectory, ...]]:
        """Split a group into episodes trained now and episodes to queue, each with its advantage stored."""
        credited = [
            replace(t, advantage=a) for t, a in zip(group.valid, group_advantages(group, self.eps), strict=True)
        ]
        won = sorted((t for t in credited if t.success), key=lambda t: (t.action_tokens, _ids(t)))
        lost = sorted((t for t in credited if not t.success), key=lambda t: (-t.action_tokens, _ids(t)))
        first, rest = [], []
        for members in (won, lost):
            cut = math.ceil(self.share * len(members))
            first += members[:cut]
            rest += members[cut:]
        return tuple(first), tuple(rest)


def _ids(trajectory: Trajectory) -> list[tuple[int, ...]]:
    """Return a sort key that orders episodes of equal length independently of their order in the group."""
    return [turn.act_ids for turn in trajectory.turns]
