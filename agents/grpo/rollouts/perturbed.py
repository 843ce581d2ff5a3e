"""A strategy that plays tasks a second time with their prompts in other words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....checks import check_count, check_number
from ....envs.transforms.rephrased import reword
from ....errors import InputError
from ..batch.trajectory import Group
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask, Start
from .independent import Strategy, group_of, play_by_task


@ROLLOUTS.register("perturbed_twin")
@dataclass(eq=False)
class PerturbedTwin(Strategy):
    """Play a second group of each task, with a reworded prompt and separate baselines; its episodes also store the
    original prompt's tokens, so that the policy can be compared with itself after either wording (VOGUE, arXiv
    2510.01444).

    The rewordings of palaestra/Rephrased-v0 do not change the question. The second group is played with a probability
    of ``start`` x (1 - share of training that is done): the branch fades out.

    Args:
        start: probability at the beginning, in [0, 1].
        changes: rewordings of a prompt, 1 to 5.
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
