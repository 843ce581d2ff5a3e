"""Rollout strategies that choose the number of episodes of each task, and the episodes to keep."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....checks import check_choice, check_number
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask, Start
from .independent import Independent, Strategy, group_of, play_by_task


@ROLLOUTS.register("greedy_twin")
class GreedyBaseline(Strategy):
    """Play one more episode per task at temperature 0; its return is the group's baseline (ReMax, arXiv 2310.10505,
    sec. 4.1).

    This episode is not trained. If it is invalid, the group has no greedy return.
    """

    begins = True
    provides = frozenset({"greedy"})

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        starts = [[*[Start(task)] * task.samples, Start(task, temperature=0.0)] for task in tasks]
        by_task = play_by_task(player, starts)
        twins = player.judge([group_of(task, played[-1:]) for task, played in zip(tasks, by_task, strict=True)])
        return [
            group_of(task, played[:-1], greedy=twin.trajectories[0].outcome if twin.valid else None)
            for task, played, twin in zip(tasks, by_task, twins, strict=True)
        ]


@ROLLOUTS.register("resample_on_correct")
@dataclass(eq=False)
class ResampleOnCorrect(Strategy):
    """Sample more episodes than are kept; keep the first failures and the cleanest successes (GRPO-RoC, rStar2-Agent,
    arXiv 2508.20722, section 2.3).

    Successes and failures keep their proportion, with at least ``least`` of each if there are that many. Of the
    successes, those with the least `clumsiness` are kept, as in the released code; the paper draws them with
    probability inversely proportional to it.

    Args:
        oversample: episodes sampled per kept one, at least 1.
        least: least number of successes and of failures to keep.
        tag: XML tag of the answer in the last action.
    """

    oversample: float = 2.0
    least: int = 2
    tag: str = "answer"

    begins = True
    provides = frozenset({"drawn"})

    def __post_init__(self) -> None:
        check_number("oversample", self.oversample, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        starts = [[Start(task)] * math.ceil(self.oversample * task.samples) for task in tasks]
        by_task = play_by_task(player, starts)
        groups = player.judge([group_of(task, played) for task, played in zip(tasks, by_task, strict=True)])
        return [
            replace(
                group,
                trajectories=tuple(self.keep(group.valid, task.samples)),
                drawn=tuple(t.outcome for t in group.valid),
            )
            for task, group in zip(tasks, groups, strict=True)
        ]

    def keep(self, drawn: Sequence[Trajectory], samples: int) -> list[Trajectory]:
        """Select at most ``samples`` of the drawn trajectories, in their original order."""
        good = [t for t in drawn if t.success]
        bad = [t for t in drawn if not t.success]
        if len(drawn) <= samples:
            return list(drawn)
        bads = round(len(bad) * samples / len(drawn))
        bads = min(len(bad), max(bads, min(self.least, len(bad))))
        goods = min(len(good), samples - bads)
        if goods < (floor := min(self.least, len(good))):
            goods, bads = floor, samples - floor
        best = sorted(range(len(good)), key=lambda i: (clumsiness(good[i], self.tag), i))[:goods]
        stays = {id(good[i]) for i in best} | {id(t) for t in bad[:bads]}
        return [t for t in drawn if id(t) in stays]


def clumsiness(trajectory: Trajectory, tag: str = "answer") -> float:
    """Return the share of failed tool calls plus a penalty on the form of the answer, in [0, 2] (rStar2-Agent, section
    2.3).

    The environment reports for each call if it failed in ``extras["tool_errors"]``. Without that report, every turn but
    the last is a call, and an action error is a failure. Without any call the share is 0.5. The penalty is 1 if the
    answer's tags are missing or do not match, else min((number of answers - 1) / turns, 1).
    """
    failed = trajectory.turns[-1].extras.get("tool_errors") if trajectory.turns else None
    if failed is None:
        failed = [turn.action_error is not None for turn in trajectory.turns[:-1]]
    errors = sum(failed) / len(failed) if failed else 0.5
    text = trajectory.turns[-1].action if trajectory.turns else ""
    opened, closed = text.count(f"<{tag}>"), text.count(f"</{tag}>")
    form = 1.0 if opened != closed or not opened else min((opened - 1) / len(trajectory.turns), 1.0)
    return errors + form


@ROLLOUTS.register("adaptive_rounds")
@dataclass(eq=False)
class AdaptiveRounds(Strategy):
    """Sample a task in rounds of episodes until both outcomes have occurred, then keep a balanced subset
    (Reinforce-Ada, arXiv 2510.04996, algorithm 1). All drawn outcomes are stored in `Group.drawn` for the baseline.

    Args:
        mode: condition to stop: "balanced": positives and negatives each reach half of the task's samples; "positive":
            one positive episode.
        rounds: most rounds.
        oversample: episodes per round and kept episode, at least 1.
        threshold: an episode with a return above this is positive.
    """

    mode: str = "balanced"
    rounds: int = 4
    oversample: float = 2.0
    threshold: float = 0.7

    begins = True
    provides = frozenset({"drawn"})

    def __post_init__(self) -> None:
        check_choice("mode", self.mode, ("balanced", "positive"))
        check_number("rounds", self.rounds, 1)
        check_number("oversample", self.oversample, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        drawn: list[list[Trajectory]] = [[] for _ in tasks]
        active = list(range(len(tasks)))
        for _ in range(self.rounds):
            starts = [[Start(tasks[i])] * math.ceil(self.oversample * tasks[i].samples) for i in active]
            by_task = play_by_task(player, starts)
            judged = player.judge([group_of(tasks[i], played) for i, played in zip(active, by_task, strict=True)])
            for i, group in zip(active, judged, strict=True):
                drawn[i] += group.valid
            active = [i for i in active if not self._is_finished(drawn[i], tasks[i].samples)]
        return [
            Group(
                task.proposal,
                tuple(self._keep_balanced(sampled, task.samples)),
                drawn=tuple(t.outcome for t in sampled),
            )
            for task, sampled in zip(tasks, drawn, strict=True)
        ]

    def _split(self, drawn: Sequence[Trajectory]) -> tuple[list[Trajectory], list[Trajectory]]:
        good = [t for t in drawn if t.outcome > self.threshold]
        return good, [t for t in drawn if t.outcome <= self.threshold]

    def _is_finished(self, drawn: Sequence[Trajectory], samples: int) -> bool:
        good, bad = self._split(drawn)
        if self.mode == "positive":
            return bool(good)
        return 2 * len(good) >= samples and 2 * len(bad) >= samples

    def _keep_balanced(self, drawn: Sequence[Trajectory], samples: int) -> list[Trajectory]:
        """Select the first ones drawn: half of each kind, and more of one kind if the other is too rare."""
        good, bad = self._split(drawn)
        goods = min(len(good), max(samples // 2, samples - len(bad)))
        return [*good[:goods], *bad[: samples - goods]]


@ROLLOUTS.register("first_finished")
@dataclass(eq=False)
class FirstFinished(Strategy):
    """Start more episodes than are kept and cancel the rest once every task has its samples, so that no step waits for
    a few long episodes (over-sampling, as in Kimi-Researcher and others).

    Long episodes are cancelled more often than short ones, so the kept ones are biased towards short answers.

    Args:
        oversample: episodes started per kept one, at least 1.
    """

    oversample: float = 1.25
    begins = True

    def __post_init__(self) -> None:
        check_number("oversample", self.oversample, 1)

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        starts = [(i, Start(t)) for i, t in enumerate(tasks) for _ in range(math.ceil(self.oversample * t.samples))]
        kept: list[list[tuple[int, Trajectory]]] = [[] for _ in tasks]

        def enough(number: int, trajectory: Trajectory) -> bool:
            i = starts[number][0]
            if trajectory.valid and len(kept[i]) < tasks[i].samples:
                kept[i].append((number, trajectory))
            return all(len(have) == task.samples for have, task in zip(kept, tasks, strict=True))

        player.play([start for _, start in starts], enough=enough)
        return [
            Group(task.proposal, tuple(t for _, t in sorted(have, key=lambda pair: pair[0])))
            for task, have in zip(tasks, kept, strict=True)
        ]


@ROLLOUTS.register("growing_groups")
@dataclass(eq=False)
class GrowingGroups(Strategy):
    """Play larger groups of fewer tasks once success has stopped rising (BroRL, arXiv 2510.01180, section 3).

    The growth factor doubles when mean success over the last ``patience`` steps exceeds mean success over the
    ``patience`` steps before by less than ``gain``. The number of episodes stays constant: only the first 1 / factor of
    the tasks are played, and the groups of the others are empty.

    Args:
        patience: number of steps in each of the two windows compared.
        gain: least rise in mean success that counts as progress.
        most: largest factor; the paper goes from 16 to 512 samples.
    """

    patience: int = 50
    gain: float = 0.005
    most: int = 32
    begins = True

    def __post_init__(self) -> None:
        check_number("patience", self.patience, 1)
        check_number("most", self.most, 1)
        self._factor = 1
        self._success: list[float] = []

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        played = max(1, len(tasks) // self._factor) if tasks else 0
        grown = [replace(task, samples=task.samples * len(tasks) // played) for task in tasks[:played]]
        groups = Independent().play(grown, player)
        outcomes = [t.success for group in groups for t in group.valid]
        if outcomes:
            self._remember(sum(outcomes) / len(outcomes))
        return [*groups, *(Group(task.proposal, ()) for task in tasks[played:])]

    def _remember(self, success: float) -> None:
        self._success.append(success)
        p = self.patience
        if len(self._success) < 2 * p:
            return
        before, after = sum(self._success[:p]) / p, sum(self._success[p : 2 * p]) / p
        self._success = self._success[1:]
        if after - before < self.gain and self._factor < self.most:
            self._factor *= 2
            self._success = []

    def state_dict(self) -> dict[str, Any]:
        return {"factor": self._factor, "success": self._success}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._factor, self._success = int(state["factor"]), [float(s) for s in state["success"]]
