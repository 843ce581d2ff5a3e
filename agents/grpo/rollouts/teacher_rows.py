"""Rollout strategy that adds solutions by teachers to groups of the policy's samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....checks import check_choice, check_number
from ..batch.trajectory import Group, last_context
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import RolloutTask, Start
from .guidance import TRIGGERS, Solution, make_named
from .guided import replace_failures
from .independent import Strategy, group_of, play_by_task
from .solution_sources import OwnSolutions, gather_solutions, make_sources


@ROLLOUTS.register("teacher_rows")
@dataclass(eq=False)
class TeacherRows(Strategy):
    """Add solutions that the policy did not sample to a group, or replace failures by them (LUFFY, arXiv 2504.14945,
    section 3.1: one in each group; AMPO, arXiv 2510.02227, section 3.2: two, if all samples fail).

    The pool of a task holds the right solutions of all sources. If it is larger than ``most``, solutions are ranked by
    the mean probability under the policy of the tokens of their answer, given the task and the solution before the
    answer (AMPO's comprehension score); of equals the shorter comes first.

    Args:
        trigger: selects the tasks that get solutions: a name in `guidance.TRIGGERS`, with parameters.
        merge: "add" solutions to the group, or replace "failures" by them.
        most: most solutions of a task.
        remember: number of the policy's successes stored per task and used like those of the source "own"; 0: none.
        tasks_remembered: most tasks stored; the least recently solved is dropped first.
        sources: names in `solution_sources.SOLUTIONS`, joined by +.
    """

    trigger: str = "always"
    merge: str = "add"
    most: int = 1
    remember: int = 0
    tasks_remembered: int = 4096
    sources: str = "oracle"

    abilities = frozenset({"forced"})

    def __post_init__(self) -> None:
        check_choice("merge", self.merge, ("add", "failures"))
        check_number("most", self.most, 1)
        check_number("tasks_remembered", self.tasks_remembered, 1)
        self._fires = make_named(TRIGGERS, self.trigger)
        self._sources = make_sources(self.sources)
        if self.remember:
            self._sources.append(OwnSolutions(self.remember, self.tasks_remembered))
        self.needs = frozenset().union(*(source.needs for source in self._sources))

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        plain = play_by_task(player, [[Start(task)] * task.samples for task in tasks])
        wanted = [i for i, played in enumerate(plain) if self._fires([p.trajectory for p in played])]
        pools = dict(zip(wanted, gather_solutions(self._sources, [tasks[i] for i in wanted], player), strict=True))
        groups = []
        for i, (task, played) in enumerate(zip(tasks, plain, strict=True)):
            rows = [solution.played for solution in self._choose_likeliest(pools.get(i, []), player)]
            merged = [*played, *rows] if self.merge == "add" else replace_failures(played, rows)
            groups.append(group_of(task, merged))
        for source in self._sources:
            for played in plain:
                source.remember([p.trajectory for p in played])
        return groups

    def _choose_likeliest(self, pool: list[Solution], player: EpisodePlayer) -> list[Solution]:
        if len(pool) <= self.most:
            return pool
        contexts, answers = [], []
        for solution in pool:
            *before, last = solution.played.trajectory.turns
            # The answer begins at the end of the last step before it.
            cut = solution.ends[-2] if len(solution.ends) > 1 else 0
            earlier = () if last.fresh else last_context(before)
            seen = (i for turn in earlier for i in (*turn.obs_ids, *turn.act_ids))
            contexts.append((*seen, *last.obs_ids, *last.act_ids[:cut]))
            answers.append(last.act_ids[cut:])
        scores = [float(np.exp(logps).mean()) for logps in player.log_likelihoods(contexts, answers)]
        lengths = [solution.played.trajectory.action_tokens for solution in pool]
        order = sorted(range(len(pool)), key=lambda i: (-scores[i], lengths[i], i))
        return [pool[i] for i in order[: self.most]]

    def state_dict(self) -> dict[str, Any]:
        return {name: value for source in self._sources for name, value in source.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for source in self._sources:
            source.load_state_dict(state)
