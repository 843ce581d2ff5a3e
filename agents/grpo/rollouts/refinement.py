"""Rollout strategy that lets the policy improve its best sample after a critique from the rewards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....checks import check_choice, check_number
from ....errors import InputError
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start
from .guidance import hinted_start
from .guided import replace_failures
from .independent import Strategy, group_of, play_by_task


@ROLLOUTS.register("rubric_refine")
@dataclass(eq=False)
class RubricRefine(Strategy):
    """Judge the samples of a task, let the policy rewrite the best one with a critique in the prompt, and add the new
    episode to the group (RGR-GRPO, arXiv 2511.12344, section 3).

    The critique consists of the rewards' remarks on the best sample, such as unmet criteria of a rubric, or else of the
    environment's feedback. A group without a critique stays unchanged. The critique is left out of the trained context,
    and the origin of the new tokens is TEACHER, so that a recipe can shape their ratio.

    Args:
        template: the hint; ``{attempt}`` is replaced by the actions of the best sample, ``{critique}`` by the critique.
        count: number of new episodes of a task.
        keep: new episodes to keep: "all", or only those with a higher return than the best sample ("better").
        merge: "add" the new episodes to the group, or let them replace "failures".
    """

    template: str = (
        "An earlier answer:\n{attempt}\nIt does not meet these criteria:\n{critique}\nWrite a better answer."
    )
    count: int = 1
    keep: str = "all"
    merge: str = "add"

    def __post_init__(self) -> None:
        if "{attempt}" not in self.template or "{critique}" not in self.template:
            raise InputError(f"template must contain {{attempt}} and {{critique}}, not {self.template!r}.")
        check_number("count", self.count, 1)
        check_choice("keep", self.keep, ("all", "better"))
        check_choice("merge", self.merge, ("add", "failures"))

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        by_task = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        groups = player.judge([group_of(task, played) for task, played in zip(tasks, by_task, strict=True)])
        bests = [max(group.valid, key=lambda t: t.outcome, default=None) for group in groups]
        starts = [self._start_again(task, best) for task, best in zip(tasks, bests, strict=True)]
        written = [
            [p.trajectory.attributed_to_teacher() for p in episodes] for episodes in play_by_task(player, starts)
        ]
        judged = player.judge([Group(task.proposal, tuple(new)) for task, new in zip(tasks, written, strict=True)])
        return [self._merge(group, best, new.valid) for group, best, new in zip(groups, bests, judged, strict=True)]

    def _start_again(self, task: RolloutTask, best: Trajectory | None) -> list[Start]:
        critique = find_critique(best) if best is not None else ""
        if best is None or not critique:
            return []
        attempt = "\n".join(turn.action for turn in best.turns)
        text = self.template.replace("{attempt}", attempt).replace("{critique}", critique)
        return [hinted_start(task, text, 0.0, "stripped", "{hint}")] * self.count

    def _merge(self, group: Group, best: Trajectory | None, new: Sequence[Trajectory]) -> Group:
        better = [t for t in new if self.keep == "all" or best is None or t.outcome > best.outcome]
        if self.merge == "add":
            return replace(group, trajectories=(*group.trajectories, *better))
        plain = [FinishedEpisode(t) for t in group.trajectories]
        kept = replace_failures(plain, [FinishedEpisode(t) for t in better])
        return replace(group, trajectories=tuple(p.trajectory for p in kept))


def find_critique(trajectory: Trajectory) -> str:
    """Return the rewards' remarks on a judged episode, or else the environment's feedback if it failed; "" without
    either."""
    if trajectory.remarks or trajectory.success:
        return trajectory.remarks
    return "\n".join(
        dict.fromkeys(text for turn in trajectory.turns for text in (turn.action_error, turn.feedback) if text)
    )
