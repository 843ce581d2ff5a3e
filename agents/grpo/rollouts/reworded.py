"""Rollout strategies that play every task, or some tasks, in two wordings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from ....checks import check_count, check_number
from ....envs.transforms.rephrased import reword
from ....errors import InputError
from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .environments import begin, snapshot
from .episode_player import EpisodePlayer
from .episode_starts import Moment, RolloutTask, Start
from .independent import Strategy, group_of, play_by_task


@ROLLOUTS.register("paired_rephrase")
@dataclass(eq=False)
class PairedRephrase(Strategy):
    """Play each task twice: with its prompt, and in a second group with the prompt reworded (Co-rewarding-I, arXiv
    2508.00410, section 3.2, where a language model rephrased the data beforehand).

    All episodes of both groups have equal ``extras["pair"]``, and the other group's prompt as
    ``extras["twin_prompt"]``. The second group has no proposal of the teacher. A task whose rewording leaves no context
    for an action is played once.

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
        """Return the beginning of a task with a reworded prompt; None if that leaves no context for an action."""
        env = player.environments.take()
        observation, info = begin(env, task.seed, task.params)
        moment = Moment(snapshot(env), reword(observation, player.rng, self.changes), info)
        player.environments.give_back(env)
        ids = player.renderer.observation(moment.observation, first=True)
        return moment if len(ids) + player.limits.action <= player.limits.context else None


def _prompt(group: Group | None) -> list[int] | None:
    """Return the token ids of a group's first prompt; None if the group has no valid episode."""
    return list(group.valid[0].turns[0].obs_ids) if group and group.valid else None


def _tell(group: Group, extras: Mapping[str, Any]) -> Group:
    members = (replace(t, extras={**t.extras, **extras}) for t in group.trajectories)
    return replace(group, trajectories=tuple(members))


@ROLLOUTS.register("perturbed_twin")
@dataclass(eq=False)
class PerturbedTwin(Strategy):
    """Play a second group of some tasks, with a reworded prompt and separate baselines; its episodes store the original
    prompt's tokens in ``extras["twin_prompt"]``, so that the policy's distributions after both wordings can be compared
    (VOGUE, arXiv 2510.01444).

    The rewordings of palaestra/Rephrased-v0 do not change the question. A second group is played with probability
    ``start`` x (1 - share of training that is done).

    Args:
        start: probability at the beginning, in [0, 1].
        changes: number of rewordings of a prompt, 1 to 5.
    """

    start: float = 1.0
    changes: int = 3
    provides = frozenset({"twin_prompt"})

    def __post_init__(self) -> None:
        check_number("start of perturbed_twin", self.start, 0, 1)
        if check_count("changes", self.changes, 1) > 5:
            raise InputError(f"changes={self.changes} of a prompt must be at most 5, the number of rewordings.")

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        plain = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        probability = self.start * (1 - player.share_of_training)
        chosen = [i for i in range(len(tasks)) if player.rng.random() < probability]
        firsts = {i: next((p.trajectory.turns[0] for p in plain[i] if p.trajectory.turns), None) for i in chosen}
        twins = {}
        for i, turn in firsts.items():
            if turn is not None:
                prompt = reword(turn.observation, player.rng, int(self.changes))
                conditions = replace(tasks[i].conditions, prompt=prompt, note="")
                twins[i] = replace(tasks[i], proposal=-1, conditions=conditions)
        played = play_by_task(player, [[Start(task)] * task.samples for task in twins.values()])
        groups = [group_of(task, one) for task, one in zip(tasks, plain, strict=True)]
        for i, again in zip(twins, played, strict=True):
            first = firsts[i]
            assert first is not None
            known = {"twin_prompt": list(first.obs_ids)}
            members = tuple(replace(p.trajectory, extras={**p.trajectory.extras, **known}) for p in again)
            groups.append(Group(-1, members))
        return [*groups[: len(tasks)], *player.judge(groups[len(tasks) :])]
