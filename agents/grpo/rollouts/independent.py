"""Base class of rollout strategies, and the plain strategies: independent samples of every task, and no samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .environments import Environments
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start


class Strategy:
    """Base class of rollout strategies.

    ``play`` returns one group per task, in the order of the tasks, followed by groups without a teacher's proposal
    (``Group.proposal`` -1). ``provides`` names data of the groups besides trajectories: "greedy", "drawn", "nodes",
    "node_values". ``abilities`` names the required abilities of the engine (`engines.engine.ABILITIES`). ``roles`` are
    the roles that can have different policies (`EpisodePlayer.for_role`). ``begins`` is True if every answer is sampled
    from its beginning, without given tokens. Parameters must be attributes of the same
    name, so that a schedule can set them. A strategy with memory must override both state methods too.
    """

    roles: tuple[str, ...] = ()
    provides: ClassVar[frozenset[str]] = frozenset()
    abilities: ClassVar[frozenset[str]] = frozenset()
    begins: ClassVar[bool] = False

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        """Play every task and return the groups."""
        raise NotImplementedError

    def check(self, environments: Environments) -> None:
        """Raise InputError if the strategy cannot play these environments; called before a model is loaded."""

    def metrics(self) -> dict[str, float]:
        """Return statistics of the last `play`, for ``metrics.jsonl``."""
        return {}

    def state_dict(self) -> dict[str, Any]:
        """Return the memory that lasts between updates, JSON-able."""
        return {}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore the memory that ``state_dict`` returned."""


def play_by_task(
    player: EpisodePlayer, starts: Sequence[Sequence[Start]], **options: Any
) -> list[list[FinishedEpisode]]:
    """Play the starts of several tasks together; return the episodes of each task."""
    flat = iter(player.play([start for several in starts for start in several], **options))
    return [[next(flat) for _ in several] for several in starts]


def group_of(task: RolloutTask, played: Sequence[FinishedEpisode], **fields: Any) -> Group:
    """Make the group of a task; ``fields`` are further fields of `Group`."""
    return Group(task.proposal, tuple(p.trajectory for p in played), **fields)


@ROLLOUTS.register("independent")
class Independent(Strategy):
    """Play every sample of a task from the beginning, independently of the others."""

    begins = True

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        by_task = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        return [group_of(task, played) for task, played in zip(tasks, by_task, strict=True)]


@ROLLOUTS.register("unplayed")
class Unplayed(Strategy):
    """Return an empty group for every task, so that no outcome is reported to the teacher."""

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        return [Group(task.proposal, ()) for task in tasks]
