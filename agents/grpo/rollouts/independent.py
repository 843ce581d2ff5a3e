"""What a rollout strategy is, and the plain one: independent samples of every task."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .player import Player
from .starts import PlayedEpisode, RolloutTask, Start


class Strategy:
    """Base of the rollout strategies.

    ``play`` returns one group for each task, in their order, and after them groups that the curriculum did not ask for
    (``Group.proposal`` -1). ``provides`` names what its groups have beyond trajectories: "greedy", "drawn", "nodes",
    "node_values". Parameters are attributes of the same name, so that a schedule can set them; what remembers something
    also overrides the two state methods.
    """

    provides: ClassVar[frozenset[str]] = frozenset()

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        """Play every task."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """What is remembered between updates, JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of ``state_dict``."""


def play_by_task(player: Player, starts: Sequence[Sequence[Start]], **options: Any) -> list[list[PlayedEpisode]]:
    """Play the starts of several tasks together; what was played, by task."""
    flat = iter(player.play([start for several in starts for start in several], **options))
    return [[next(flat) for _ in several] for several in starts]


def group_of(task: RolloutTask, played: Sequence[PlayedEpisode], **fields: Any) -> Group:
    """The group of a task."""
    return Group(task.proposal, tuple(p.trajectory for p in played), **fields)


@ROLLOUTS.register("independent")
class Independent(Strategy):
    """Every sample of every task, from the beginning, each by itself."""

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        waves = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        return [group_of(task, played) for task, played in zip(tasks, waves, strict=True)]
