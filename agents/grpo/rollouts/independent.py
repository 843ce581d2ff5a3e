"""The base class of rollout strategies, and the plain ones: independent samples of every task, and none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start


class Strategy:
    """Base of the rollout strategies.

    ``play`` returns one group for each task, in their order, followed by groups that belong to no proposal of the
    teacher (``Group.proposal`` -1). ``provides`` names the data of its groups besides trajectories: "greedy", "drawn",
    "nodes", "node_values". ``abilities`` names the required abilities of the engine (`engines.engine.ABILITIES`).
    Parameters are attributes of the same name, so that a schedule can set them. A strategy with memory also overrides
    the two state methods.
    """

    provides: ClassVar[frozenset[str]] = frozenset()
    abilities: ClassVar[frozenset[str]] = frozenset()

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        """Play every task."""
        raise NotImplementedError

    def state_dict(self) -> dict[str, Any]:
        """Return the memory that lasts between updates, JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """The inverse of ``state_dict``."""


def play_by_task(
    player: EpisodePlayer, starts: Sequence[Sequence[Start]], **options: Any
) -> list[list[FinishedEpisode]]:
    """Play the starts of several tasks together. Return the episodes of each task."""
    flat = iter(player.play([start for several in starts for start in several], **options))
    return [[next(flat) for _ in several] for several in starts]


def group_of(task: RolloutTask, played: Sequence[FinishedEpisode], **fields: Any) -> Group:
    """Make the group of a task; ``fields`` are further fields of `Group`."""
    return Group(task.proposal, tuple(p.trajectory for p in played), **fields)


@ROLLOUTS.register("independent")
class Independent(Strategy):
    """Every sample of a task is played from the beginning, independently of the others."""

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        by_task = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        return [group_of(task, played) for task, played in zip(tasks, by_task, strict=True)]


@ROLLOUTS.register("unplayed")
class Unplayed(Strategy):
    """An empty group for every task, so that no outcome is reported to the teacher."""

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        return [Group(task.proposal, ()) for task in tasks]
