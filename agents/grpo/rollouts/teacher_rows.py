"""A strategy that adds solutions of a teacher to groups of the policy's own samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ....checks import check_choice, check_number
from ..batch.trajectory import Group, Origin, Trajectory, trajectory_from_json, trajectory_to_json
from ..recipes.stages import ROLLOUTS
from .guidance import TRIGGERS, make_named, solve
from .guided import replace_failures
from .independent import Strategy, group_of, play_by_task
from .player import Player
from .starts import PlayedEpisode, RolloutTask, Start


@ROLLOUTS.register("teacher_rows")
@dataclass(eq=False)
class TeacherRows(Strategy):
    """Solutions that the policy did not sample join the group or take the place of failures (LUFFY, arXiv 2504.14945,
    section 3.1: one in each group; AMPO, arXiv 2510.02227, section 3.2: two, if all fail).

    The pool of a task holds the oracle's solution and, optionally, earlier successes on the same task. If the pool is
    larger than ``most``, solutions are ranked by the mean probability under the policy of the tokens of their last
    action, given its context (AMPO's comprehension score); of equals the shorter comes first.

    Args:
        trigger: tasks that get solutions, see `guidance.TRIGGERS`.
        merge: "add" them to the group, or replace "failures".
        most: most solutions of a task.
        remember: successes of the policy remembered for each task; 0 for none.
        tasks_remembered: most tasks in memory; the oldest are forgotten.
    """

    trigger: str = "always"
    merge: str = "add"
    most: int = 1
    remember: int = 0
    tasks_remembered: int = 4096

    def __post_init__(self) -> None:
        check_choice("merge", self.merge, ("add", "failures"))
        check_number("most", self.most, 1)
        check_number("tasks_remembered", self.tasks_remembered, 1)
        self._fires = make_named(TRIGGERS, self.trigger)
        self._memory: dict[str, list[Trajectory]] = {}

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
        plain = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        wanted = [i for i, played in enumerate(plain) if self._fires([p.trajectory for p in played])]
        solutions = solve([tasks[i] for i in wanted], player)
        pools: dict[int, list[PlayedEpisode]] = {}
        for i, solution in zip(wanted, solutions, strict=True):
            remembered = self._memory.get(solution.played.trajectory.task_id, ())
            pool = [solution.played, *(PlayedEpisode(_mark_as_teacher(t)) for t in remembered)]
            pools[i] = [p for p in pool if p.trajectory.valid and p.trajectory.success and p.trajectory.turns]
        groups = []
        for i, (task, played) in enumerate(zip(tasks, plain, strict=True)):
            rows = self._choose_likeliest(pools.get(i, []), player)
            merged = [*played, *rows] if self.merge == "add" else replace_failures(played, rows)
            groups.append(group_of(task, merged))
        for played in plain:
            self._remember([p.trajectory for p in played])
        return groups

    def _choose_likeliest(self, pool: list[PlayedEpisode], player: Player) -> list[PlayedEpisode]:
        if len(pool) <= self.most:
            return pool
        contexts, answers = [], []
        for p in pool:
            *before, last = p.trajectory.turns
            contexts.append((*(i for turn in before for i in (*turn.obs_ids, *turn.act_ids)), *last.obs_ids))
            answers.append(last.act_ids)
        scores = [float(np.exp(logps).mean()) for logps in player.log_likelihoods(contexts, answers)]
        order = sorted(range(len(pool)), key=lambda i: (-scores[i], pool[i].trajectory.action_tokens, i))
        return [pool[i] for i in order[: self.most]]

    def _remember(self, trajectories: Sequence[Trajectory]) -> None:
        for trajectory in trajectories:
            if not self.remember or not trajectory.success or not trajectory.valid:
                continue
            rows = self._memory.pop(trajectory.task_id, [])
            if all(_ids(row) != _ids(trajectory) for row in rows):
                rows = [*rows, trajectory][-self.remember :]
            self._memory[trajectory.task_id] = rows
        while len(self._memory) > self.tasks_remembered:
            self._memory.pop(next(iter(self._memory)))

    def state_dict(self) -> dict[str, Any]:
        # A list, because the order of the tasks is the order in which they are forgotten.
        return {"memory": [[task, [trajectory_to_json(t) for t in rows]] for task, rows in self._memory.items()]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._memory = {task: [trajectory_from_json(row) for row in rows] for task, rows in state["memory"]}


def _mark_as_teacher(trajectory: Trajectory) -> Trajectory:
    """Mark the trajectory's tokens as a teacher's, not sampled by the policy."""
    turns = []
    for turn in trajectory.turns:
        size = len(turn.act_ids)
        turns.append(replace(turn, origins=(int(Origin.TEACHER),) * size, logps=(0.0,) * size, entropies=()))
    return replace(trajectory, turns=tuple(turns), nodes=(), version=-1)


def _ids(trajectory: Trajectory) -> tuple[tuple[int, ...], ...]:
    return tuple(turn.act_ids for turn in trajectory.turns)
