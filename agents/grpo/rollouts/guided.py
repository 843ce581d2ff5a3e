"""A strategy that plays tasks again with a part of the solution in the prompt or in the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ....checks import check_choice, check_share
from ....errors import InputError
from ..batch.trajectory import Group, Trajectory
from ..recipes.stages import ROLLOUTS
from .guidance import AMOUNTS, TRIGGERS, Shares, Solution, in_answer, in_chunks, make_named, solve
from .independent import Strategy, group_of, play_by_task
from .player import Player
from .starts import PlayedEpisode, RolloutTask, Start

_WHERE = ("prompt", "stripped", "answer", "chunks")
_SOURCES = ("solution", "criteria", "feedback")
_MERGES = ("replace", "failures", "add", "beside")


@ROLLOUTS.register("guided")
@dataclass(eq=False)
class Guided(Strategy):
    """Play tasks again with a part of the solution if their plain samples trigger it.

    With ``trigger="always", merge="replace"`` no plain samples are played.

    Args:
        trigger: tasks that are guided: a name of `guidance.TRIGGERS`, with parameters.
        amount: share of the solution: a name of `guidance.AMOUNTS`, with parameters.
        where: "prompt" (text after the observation, never trained), "stripped" (likewise, but left out of the trained
            context), "answer" (tokens or turns that open the answer, `Origin.HINT`) or "chunks" (tokens at their places
            within the answer, `Origin.HINT`).
        source: source of the text: the beginning of the "solution", some of the "criteria" that it meets, or "feedback"
            on a failed attempt followed by the beginning of the solution.
        template: text of the hint; ``{hint}`` stands for the source's text.
        count: guided episodes of a task; 0: as many as its samples, -1: one for each failed sample.
        keep: guided episodes that are kept: "all" or only "successes".
        merge: guided episodes "replace" the plain ones, take the place of "failures" (in the order of both), are
            "add"ed to the group, or form a group of their own ("beside"), compared only with each other.
        most: most guided episodes that are kept; 0: no bound.
        chunk: least and most tokens of a chunk.
    """

    trigger: str = "all_fail"
    amount: str = "fixed(share=0.5)"
    where: str = "prompt"
    source: str = "solution"
    template: str = "The following text is the beginning part of the answer: {hint}"
    count: int = 0
    keep: str = "all"
    merge: str = "replace"
    most: int = 0
    chunk: tuple[int, int] = (5, 10)

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
        self._only_guided = self.trigger in ("always", "always()") and self.merge == "replace"

    def play(self, tasks: Sequence[RolloutTask], player: Player) -> list[Group]:
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
        return [*groups, *guided_groups]

    def _merge(self, plain: Sequence[PlayedEpisode], guided: Sequence[PlayedEpisode]) -> list[PlayedEpisode]:
        if self.merge == "beside" or not guided:
            return list(plain)
        if self.merge == "replace":
            return list(guided)
        if self.merge == "add":
            return [*plain, *guided]
        return replace_failures(plain, guided)

    def _guide(
        self, tasks: Sequence[RolloutTask], failed: Sequence[Sequence[Trajectory]], player: Player
    ) -> list[list[PlayedEpisode]]:
        """Play the guided episodes of each task; one wave plays a round of all tasks."""
        counts = [len(f) if self.count < 0 else self.count or t.samples for t, f in zip(tasks, failed, strict=True)]
        rounds: list[Shares] = [self._amount.shares(count, player) for count in counts]
        solutions = solve(tasks, player)
        kept: list[list[PlayedEpisode]] = [[] for _ in tasks]
        asked: dict[int, list[float] | None] = {i: next(shares, None) for i, shares in enumerate(rounds)}
        while open_ := {i: shares for i, shares in asked.items() if shares is not None}:
            starts = [
                [
                    self._start(
                        tasks[i],
                        solutions[i],
                        check_share("a share of the solution", share),
                        failed[i],
                        number,
                        player.rng,
                    )
                    for number, share in enumerate(shares)
                ]
                for i, shares in open_.items()
            ]
            waves = dict(zip(open_, play_by_task(player, starts)))
            for i, wave in waves.items():
                kept[i] = [*kept[i], *wave] if self._amount.all_rounds else list(wave)
                try:
                    asked[i] = rounds[i].send([p.trajectory.valid and p.trajectory.success for p in wave])
                except StopIteration:
                    asked[i] = None
        return kept

    def _start(
        self,
        task: RolloutTask,
        solution: Solution,
        share: float,
        failed: Sequence[Trajectory],
        number: int,
        rng: np.random.Generator,
    ) -> Start:
        if self.where == "answer":
            return in_answer(task, solution, share)
        if self.where == "chunks":
            return in_chunks(task, solution, share, rng, *self.chunk) if share else Start(task)
        if self.source == "criteria":
            hint = solution.criteria(share, rng)
        elif self.source == "feedback" and failed:
            hint = feedback_on(failed[number % len(failed)], solution.text(share))
        else:
            hint = solution.text(share)
        if not hint:
            return Start(task)
        keep = self.where == "prompt"
        return Start(task, hint=self.template.replace("{hint}", hint), keep_hint=keep, guided=share)


def replace_failures(plain: Sequence[PlayedEpisode], others: Sequence[PlayedEpisode]) -> list[PlayedEpisode]:
    """Replace failed plain episodes by the others, in order, until either runs out."""
    rest = iter(others)
    return [p if p.trajectory.success or not p.trajectory.valid else next(rest, p) for p in plain]


def feedback_on(attempt: Trajectory, plan: str) -> str:
    """Write a hint from a failed attempt: its actions, the environment's error messages, and a partial solution."""
    actions = "\n".join(turn.action for turn in attempt.turns)
    errors = dict.fromkeys(turn.action_error for turn in attempt.turns if turn.action_error)
    lines = [f"An earlier attempt failed: {actions}", *errors, *([f"Plan: {plan}"] if plan else [])]
    return "\n".join(lines)
