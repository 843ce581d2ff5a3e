"""A strategy that plays nothing, for recipes that learn from streams alone."""

from __future__ import annotations

from collections.abc import Sequence

from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask
from .independent import Strategy


@ROLLOUTS.register("unplayed")
class Unplayed(Strategy):
    """An empty group for every task, so that no outcome is reported to the teacher."""

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        return [Group(task.proposal, ()) for task in tasks]
