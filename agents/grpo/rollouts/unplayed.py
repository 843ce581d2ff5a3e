"""Nothing is played: for recipes that learn from streams alone, whose sources need the curriculum's tasks only."""

from __future__ import annotations

from collections.abc import Sequence

from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .independent import Strategy
from .player import Player
from .starts import RolloutTask


@ROLLOUTS.register("unplayed")
class Unplayed(Strategy):
    """An empty group for every task. The curriculum then learns nothing of how its tasks went."""

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        return [Group(task.proposal, ()) for task in tasks]
