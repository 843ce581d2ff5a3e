"""Rollout strategy that plays tasks again with part of a solution in the prompt or in the answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ....checks import check_choice, check_share
from ....errors import InputError
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, RolloutTask, Start
from .guidance import AMOUNTS, TEMPLATE, TRIGGERS, Shares, Solution, guided_start, hinted_start, in_chunks, make_named
from .independent import Strategy, group_of, play_by_task
from .solution_sources import gather_solutions, make_sources

_WHERE = ("prompt", "stripped", "answer", "chunks")
_SOURCES = ("solution", "answer", "criteria", "feedback")
_MERGES = ("replace", "failures", "add", "beside")


@ROLLOUTS.register("guided")
@dataclass(eq=False)
class Guided(Strategy):
    """Play tasks again with part of the solution if their plain samples trigger it.

    With ``trigger="always", merge="replace"`` no plain samples are played.

    Args:
        trigger: selects the tasks to guide: a name in `guidance.TRIGGERS`, with parameters.
        amount: share of the solution: a name in `guidance.AMOUNTS`, with parameters.
        where: "prompt" (text after the observation, which is not trained), "stripped" (the same, but left out of the
            trained context), "answer" (tokens or turns that open the answer, `Origin.HINT`) or "chunks" (tokens at
            their positions within the answer, `Origin.HINT`).
        source: text of the hint: the first steps of the worked "solution"; the bare "answer", whatever the share; a
            share of the "criteria" that a solution meets; or "feedback" on a failed attempt followed by the first
            steps.
        template: text of the hint; ``{hint}`` is replaced by the source's text.
        count: number of guided episodes of a task; 0: as many as the task's samples, -1: one per failed sample.
        keep: guided episodes to keep: "all" or only "successes".
        merge: guided episodes "replace" the plain ones, replace "failures" (in the order of both), are "add"ed to the
            group, or form a separate group ("beside"), compared only with each other.
        most: most guided episodes to keep; 0: all.
        chunk: least and most tokens of a chunk.
        sources: authors of the solutions: names in `solution_sources.SOLUTIONS`, joined by +. Guided episodes of a task
            use its correct solutions in turn.
    """

    trigger: str = "all_fail"
    amount: str = "fixed(share=0.5)"
    where: str = "prompt"
    source: str = "solution"
    template: str = TEMPLATE
    count: int = 0
    keep: str = "all"
    merge: str = "replace"
    most: int = 0
    chunk: tuple[int, int] = (5, 10)
    sources: str = "oracle"

    def __post_init__(self) -> None:
        check_choice("where", self.where, _WHERE)
        check_choice("source", self.source, _SOURCES)
        check_choice("merge", self.merge, _MERGES)
        check_choice("keep", self.keep, ("all", "successes"))
        if "{hint}" not in self.template:
            raise InputError(f"template must contain {{hint}}, not {self.template!r}.")
        if not 1 <= self.chunk[0] <= self.chunk[1]:
            raise InputError(f"chunk must be two rising numbers of at least 1, not {self.chunk}.")
        self._fires = make_named(TRIGGERS, self.trigger)
        self._amount = make_named(AMOUNTS, self.amount)
        self._sources = make_sources(self.sources)
        self.needs = frozenset().union(*(source.needs for source in self._sources))
        self._only_guided = self.trigger in ("always", "always()") and self.merge == "replace"

    def play(self, tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Group]:
        plain = play_by_task(player, [[] if self._only_guided else [Start(task)] * task.samples for task in tasks])
        failed = [[p.trajectory for p in played if p.trajectory.valid and not p.trajectory.success] for played in plain]
        wanted = [i for i, played in enumerate(plain) if self._fires([p.trajectory for p in played])]
        guided = dict(zip(wanted, self._guide([tasks[i] for i in wanted], [failed[i] for i in wanted], player)))
        groups, guided_groups = [], []
        for i, (task, played) in enumerate(zip(tasks, plain, strict=True)):
            more = [p for p in guided.get(i, []) if self.keep == "all" or (p.trajectory.valid and p.trajectory.success)]
            more = more[: self.most] if self.most else more
            if self.merge == "beside" and more:
                guided_groups.append(replace(group_of(task, more), proposal=-1))
            groups.append(group_of(task, self._merge(played, more)))
        for source in self._sources:
            source.remember([p.trajectory for played in plain for p in played])
        return [*groups, *guided_groups]

    def state_dict(self) -> dict[str, Any]:
        return {name: value for source in self._sources for name, value in source.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for source in self._sources:
            source.load_state_dict(state)

    def _merge(self, plain: Sequence[FinishedEpisode], guided: Sequence[FinishedEpisode]) -> list[FinishedEpisode]:
        if self.merge == "beside" or not guided:
            return list(plain)
        if self.merge == "replace":
            return list(guided)
        if self.merge == "add":
            return [*plain, *guided]
        return replace_failures(plain, guided)

    def _guide(
        self, tasks: Sequence[RolloutTask], failed: Sequence[Sequence[Trajectory]], player: EpisodePlayer
    ) -> list[list[FinishedEpisode]]:
        """Play the guided episodes of each task, one round after another, all tasks together."""
        counts = [len(f) if self.count < 0 else self.count or t.samples for t, f in zip(tasks, failed, strict=True)]
        rounds: list[Shares] = [self._amount.shares(count, player) for count in counts]
        pools = gather_solutions(self._sources, tasks, player, complete=False)
        kept: list[list[FinishedEpisode]] = [[] for _ in tasks]
        # A task without a solution is played unguided if it has no plain samples yet, and else not again.
        asked: dict[int, list[float] | None] = {
            i: next(shares, None) if pools[i] or self._only_guided else None for i, shares in enumerate(rounds)
        }
        last: dict[int, tuple[list[Start], list[bool]]] = {}
        while open_ := {i: shares for i, shares in asked.items() if shares is not None}:
            starts = {
                i: [self._start(tasks[i], pools[i], share, failed[i], n, player) for n, share in enumerate(shares)]
                for i, shares in open_.items()
            }
            # A round that gives the same help as the last one, as only whole steps are given, is not played.
            new = [
                i for i in starts if self._amount.all_rounds or i not in last or not _same_help(starts[i], last[i][0])
            ]
            for i, episodes in zip(new, play_by_task(player, [starts[i] for i in new]), strict=True):
                kept[i] = [*kept[i], *episodes] if self._amount.all_rounds else list(episodes)
                last[i] = starts[i], [p.trajectory.valid and p.trajectory.success for p in episodes]
            for i in open_:
                try:
                    asked[i] = rounds[i].send(last[i][1])
                except StopIteration:
                    asked[i] = None
        return kept

    def _start(
        self,
        task: RolloutTask,
        pool: Sequence[Solution],
        share: float,
        failed: Sequence[Trajectory],
        number: int,
        player: EpisodePlayer,
    ) -> Start:
        """Return the start of guided episode ``number``; solutions take turns, those with worked steps if any."""
        check_share("a share of the solution", share)
        worked = [solution for solution in pool if len(solution.steps) != 1] or pool
        if not worked:
            return Start(task)
        solution = worked[number % len(worked)]
        if self.where == "chunks":
            return in_chunks(task, solution, share, player, *self.chunk) if share else Start(task)
        if self.where == "answer":
            return guided_start(task, solution, share, player, "answer")
        if self.source == "criteria":
            hint = solution.criteria(share, player.rng)
        elif self.source == "answer":
            hint = solution.steps[-1] if solution.steps else solution.text(1.0)
        elif self.source == "feedback" and failed:
            hint = feedback_on(failed[number % len(failed)], solution.text(share))
        else:
            hint = solution.text(share)
        return hinted_start(task, hint, share, self.where, self.template)


def _same_help(starts: Sequence[Start], others: Sequence[Start]) -> bool:
    """Return True if two rounds give the same help, even if their shares differ."""
    return [replace(start, guided=0.0) for start in starts] == [replace(start, guided=0.0) for start in others]


def replace_failures(plain: Sequence[FinishedEpisode], others: Sequence[FinishedEpisode]) -> list[FinishedEpisode]:
    """Replace failed plain episodes by ``others``, in order, until either runs out."""
    rest = iter(others)
    return [p if p.trajectory.success or not p.trajectory.valid else next(rest, p) for p in plain]


def feedback_on(attempt: Trajectory, plan: str) -> str:
    """Write a hint from a failed attempt and a plan.

    It consists of the attempt's actions, the environment's errors and feedback, the report on failed tests
    (``extras["test_report"]``) and the plan; missing parts are left out (Agent-RLVR, arXiv 2506.11425, section 3.2).
    """
    actions = "\n".join(turn.action for turn in attempt.turns)
    report = str(attempt.turns[-1].extras.get("test_report") or "") if attempt.turns else ""
    found = [text for turn in attempt.turns for text in (turn.action_error, turn.feedback) if text]
    if report:
        # Leave out feedback that repeats the report: it begins with the same line.
        found = [text for text in found if not text.startswith(report.partition("\n")[0])]
    lines = [f"An earlier attempt failed: {actions}", *found, *([report] if report else [])]
    return "\n".join(dict.fromkeys([*lines, *([f"Plan: {plan}"] if plan else [])]))
