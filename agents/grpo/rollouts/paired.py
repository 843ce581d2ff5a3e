"""A strategy that plays every task in two wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....checks import check_count
from ....envs.transforms.rephrased import reword
from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .environments import begin, snapshot
from .episode_player import EpisodePlayer
from .episode_starts import Moment, RolloutTask, Start
from .independent import Strategy, group_of, play_by_task


@ROLLOUTS.register("paired_rephrase")
@dataclass(eq=False)
class PairedRephrase(Strategy):
    """Play each task twice, with its prompt and, in a second group, with the prompt in other words (Co-rewarding-I,
    arXiv 2508.00410, section 3.2, where a language model rephrased the data beforehand).

    Both groups share the extra "pair", and each has the other's prompt as "twin_prompt". The second group belongs to no
    proposal of the teacher. A task whose rewording leaves no room for an action is played once.

    Args:
        changes: number of palaestra/Rephrased-v0's five rewordings to apply, at least 1.
    """

    changes: int = 3
    provides: ClassVar[frozenset[str]] = frozenset({"pair", "twin_prompt"})

    def __post_init__(self) -> None:
        check_count("changes", self.changes, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        twins = {n: twin for n, task in enumerate(tasks) if (twin := self._reword(task, player)) is not None}
        starts = [[Start(task)] * task.samples for task in tasks]
        starts += [[Start(replace(tasks[n], proposal=-1), twin)] * tasks[n].samples for n, twin in twins.items()]
        by_task = play_by_task(player, starts)
        groups = [group_of(task, played) for task, played in zip(tasks, by_task[: len(tasks)], strict=True)]
        others = dict(zip(twins, by_task[len(tasks) :], strict=True))
        pairs = []
        for n, group in enumerate(groups):
            other = group_of(replace(tasks[n], proposal=-1), others[n]) if n in others else None
            extras = {"pair": f"{tasks[n].seed}/{n}"}
            groups[n] = _tell(group, {**extras, "twin_prompt": _prompt(other)})
            if other is not None:
                pairs.append(_tell(other, {**extras, "twin_prompt": _prompt(group)}))
        return player.judge([*groups, *pairs])  # together, as rewards compare the two

    def _reword(self, task: RolloutTask, player: EpisodePlayer) -> Moment | None:
        """Return the start of a task with its prompt reworded; None if no room for an action remains."""
        env = player.environments.take()
        observation, info = begin(env, task.seed, task.params)
        moment = Moment(snapshot(env), reword(observation, player.rng, self.changes), info)
        player.environments.give_back(env)
        ids = player.renderer.observation(moment.observation, first=True)
        return moment if len(ids) + player.limits.action <= player.limits.context else None


def _prompt(group: Group | None) -> list[int] | None:
    """Return the ids of the first prompt of a group; None if no episode of it is valid."""
    return list(group.valid[0].turns[0].obs_ids) if group and group.valid else None


def _tell(group: Group, extras: Mapping[str, Any]) -> Group:
    members = (replace(t, extras={**t.extras, **extras}) for t in group.trajectories)
    return replace(group, trajectories=tuple(members))
