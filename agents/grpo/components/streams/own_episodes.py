"""Stream sources of the policy's episodes: the best of this step's rollouts, and successes of earlier steps."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .....checks import check_choice, check_count, check_number
from ...batch.batch import collate
from ...batch.trajectory import Group, Origin, Trajectory, trajectory_from_json, trajectory_to_json
from ...recipes.stages import SOURCES
from ..replay.memory import draw_numbers
from ..replay.past_successes import attribute_to
from ..replay.self_imitation import SelfImitation, group_advantages
from .supply import StreamSource, Supply


@SOURCES.register("successes")
class Successes(StreamSource):
    """Successful rollouts of this step, without duplicates, at most ``most`` per task: rejection sampling (STaR, arXiv
    2203.14465; RFT, arXiv 2308.01825, section 3.3; RAFT, arXiv 2304.06767, section 3).

    Args:
        most: largest number of episodes per task; None: all.
        select: "success", or "best": episodes with the highest return, successful or not (RAFT).
        distinct: keep one of several episodes with identical action tokens.
    """

    def __init__(self, most: int | None = None, select: str = "success", distinct: bool = True):
        self.most = None if most is None else check_count("most", most, 1, "episodes")
        self.select = check_choice("select", select, ("success", "best"))
        self.distinct = distinct

    def draw(self, supply: Supply) -> list[Group]:
        drawn = [Group(group.proposal, self._select(group, supply)) for group in supply.groups]
        return [group for group in drawn if group.trajectories]

    def _select(self, group: Group, supply: Supply) -> tuple[Trajectory, ...]:
        found = [t for t in group.valid if t.success or self.select == "best"]
        if self.distinct:
            # Sorted first, so that the choice among equal episodes does not depend on the order of samples.
            ranked = sorted(found, key=lambda t: (-t.outcome, [turn.act_ids for turn in t.turns]))
            found = list({tuple(turn.act_ids for turn in t.turns): t for t in reversed(ranked)}.values())
        if self.most is None:
            return tuple(found)
        if self.select == "best":
            found = sorted(found, key=lambda t: (-t.outcome, [turn.act_ids for turn in t.turns]))
            return tuple(found[: self.most])
        return tuple(found[i] for i in draw_numbers(len(found), self.most, supply.rng))


@SOURCES.register("self_imitation")
class SelfImitationStream(SelfImitation):
    """Stored episodes far above their group's mean, with a recalibrated advantage (SPEAR, arXiv 2509.22601, section
    3.2): the replay strategy of the same name, used as a stream."""

    def draw(self, supply: Supply) -> list[Group]:
        replayed = self.recall(sum(len(group.valid) for group in supply.groups), supply.step, supply.rng)
        self.remember(supply.groups, supply.step)
        return replayed

    def prepare(self, supply: Supply) -> None:
        return


@SOURCES.register("experience")
class Experience(StreamSource):
    """Replay of tasks that the policy solves sometimes: fresh episodes of a task together with one past success
    (ExGRPO, arXiv 2510.02245, section 4).

    The memory holds each task's successes and the success rate of its latest episodes. A task with success rate 1 is
    dropped. Tasks are drawn with probability proportional to N(rate; 1/2, 1), the density of a normal distribution at
    their rate. For each drawn task, the success of lowest entropy under the current policy, estimated by its mean -log
    p, joins ``samples`` - 1 fresh episodes. Trajectories store their group-normalised advantage. Replayed tokens are
    attributed to a teacher, so that the stream can give them another surrogate; their behaviour log-probabilities stay.

    Args:
        share: number of drawn tasks per task of the step.
        samples: episodes per task, including the replayed one.
        start: nothing is replayed until the success rate of some step has reached this.
        capacity: number of tasks stored; the least recently played task is dropped first.
        per_task: number of latest successes stored for each task.
    """

    def __init__(
        self, share: float = 1.0, samples: int = 8, start: float = 0.35, capacity: int = 4096, per_task: int = 8
    ):
        self.share = check_number("share", share, 0.0)
        self.samples = check_count("samples", samples, 2, "episodes")
        self.start = check_number("start", start, 0.0, 1.0)
        self.capacity = check_count("capacity", capacity, 1, "tasks")
        self.per_task = check_count("per_task", per_task, 1, "episodes")
        self._started = False
        self._solved: dict[str, dict[str, Any]] = {}

    def draw(self, supply: Supply) -> list[Group]:
        won = [t.success for group in supply.groups for t in group.valid]
        self._started |= bool(won) and statistics.fmean(won) >= self.start
        replayed = self._replay(supply) if self._started else []
        for task, group in zip(supply.tasks, supply.groups, strict=True):
            self._remember_successes(dict(task.params), int(task.seed), group)
        return replayed

    def _remember_successes(self, params: Mapping[str, Any], seed: int, group: Group) -> None:
        if not group.valid:
            return
        name, wins = group.valid[0].task_id, [t for t in group.valid if t.success]
        known = self._solved.pop(name, {"successes": []})
        successes = (known["successes"] + wins)[-self.per_task :]
        if successes and len(wins) < len(group.valid):
            rate = len(wins) / len(group.valid)
            self._solved[name] = {"params": params, "seed": seed, "rate": rate, "successes": successes}
        for oldest in list(self._solved)[: max(0, len(self._solved) - self.capacity)]:
            del self._solved[oldest]

    def _replay(self, supply: Supply) -> list[Group]:
        known = list(self._solved.values())
        count = min(round(self.share * len(supply.tasks)), len(known))
        if not count:
            return []
        heights = [math.exp(-((task["rate"] - 0.5) ** 2) / 2) for task in known]
        picks = supply.rng.choice(len(known), count, replace=False, p=[h / sum(heights) for h in heights])
        tasks = [known[i] for i in sorted(picks.tolist())]
        fresh = supply.play([supply.task(task["params"], task["seed"], self.samples - 1) for task in tasks])
        mixed = []
        for task, group in zip(tasks, fresh, strict=True):
            batch = collate([Group(-1, tuple(task["successes"]))])
            mean = batch.sum_by_episode(supply.measure(batch)) / batch.action_count
            past = attribute_to(task["successes"][int(mean.argmax())], Origin.TEACHER)  # of least entropy
            whole = Group(-1, (*group.valid, past))
            advantages = zip(whole.trajectories, group_advantages(whole), strict=True)
            mixed.append(Group(-1, tuple(replace(t, advantage=a) for t, a in advantages)))
        return mixed

    def state_dict(self) -> dict[str, Any]:
        tasks = [
            [name, {**task, "successes": [trajectory_to_json(t) for t in task["successes"]]}]
            for name, task in self._solved.items()
        ]
        return {"started": self._started, "solved": tasks}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._started = state["started"]
        self._solved = {
            name: {**task, "successes": [trajectory_from_json(t) for t in task["successes"]]}
            for name, task in state["solved"]
        }
