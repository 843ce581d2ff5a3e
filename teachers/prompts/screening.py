"""Parts of selectors that screen tasks before training on them: turns, tallies of single outcomes, a pilot, a queue.

A screening proposal has ``train=False``: the rollouts estimate the difficulty of the task and are not trained on. As
teachers never wait, each part decides the next tasks from the outcomes received so far.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..protocol import Draw, Evidence
from ..sampling import argsmallest
from ..saved_state import Kept, SavedState
from ..signals import success_counts
from .prompt_teacher import PromptTeacher


class Turns(SavedState):
    """Time of the last turn of each of n tasks, counted in proposals; the task with the least recent turn comes first.

    Repeated use goes through all tasks in random order before any comes again.
    """

    kept = ("last", "now")

    def __init__(self, n: int):
        self.last = np.full(n, -1, dtype=np.int64)
        self.now = 0

    def take(self, k: int, rng: np.random.Generator, *, allowed: np.ndarray | None = None) -> np.ndarray:
        """Choose at most k of the ``allowed`` tasks (bool[n]; None: all), the least recent first; mark their turn."""
        return self.mark(self.oldest(self.last, k, rng, allowed))

    def oldest(self, due: np.ndarray, k: int, rng: np.random.Generator, allowed: np.ndarray | None) -> np.ndarray:
        """Return the tasks with the smallest ``due`` (float[n]), as `take` does, without marking their turn."""
        if allowed is None:
            return argsmallest(due, k, rng)
        among = np.flatnonzero(allowed)
        return among[argsmallest(due[among], k, rng)] if len(among) and k else among[:0]

    def mark(self, tasks: np.ndarray) -> np.ndarray:
        self.last[tasks] = self.now
        self.now += len(tasks)
        return tasks


class Tallies:
    """Success rates by task. Single outcomes are collected until ``size`` of them make a rate; a group of several
    episodes is a rate by itself and discards a collection in progress."""

    def __init__(self, size: int):
        self.size = size
        self.open: dict[int, list[float]] = {}  # task -> [successes, episodes]

    def add(self, item: Evidence) -> tuple[float, int] | None:
        """Add an outcome. Return (success rate, episodes) of its task if a rate is complete, else None."""
        successes, episodes = success_counts(item)
        # Always remove the open collection: a single outcome followed by groups only would otherwise leave its task
        # open, and first in line, for ever.
        waiting = self.open.pop(int(item.record), [0.0, 0])
        if episodes == 1:
            successes, episodes = waiting[0] + successes, int(waiting[1]) + 1
            if episodes < self.size:
                self.open[int(item.record)] = [successes, episodes]
                return None
        return successes / episodes, episodes

    def save(self) -> list[Any]:
        return [[task, *counts] for task, counts in self.open.items()]

    def restore(self, saved: Any) -> None:
        self.open = {int(task): [float(successes), int(episodes)] for task, successes, episodes in saved}


class Pilot(SavedState):
    """A first tour that sees each of n tasks ``passes`` times.

    Outcomes may be lost and a task may never give a valid episode: the tour also ends once at least one outcome has
    been seen and the number of unanswered proposals reaches ``patience`` times ``passes`` n.
    """

    kept = ("asked", "seen", "answered")

    def __init__(self, n: int, passes: int, patience: float = 2.0):
        self.asked, self.seen = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
        self.answered, self.passes, self.patience = 0, passes, patience

    @property
    def over(self) -> bool:
        if (self.seen >= self.passes).all():
            return True
        unanswered = int(self.asked.sum()) - self.answered
        return bool(self.seen.any()) and unanswered >= self.patience * self.passes * len(self.seen)

    def take(self, k: int, rng: np.random.Generator) -> np.ndarray:
        """Return int[m], m <= k, the tasks proposed least often first and those with enough outcomes last."""
        tasks = argsmallest(self.asked + np.where(self.seen >= self.passes, np.int64(2**40), 0), k, rng)
        self.asked[tasks] += 1
        return tasks


@keyword_declared
class ScreeningTeacher(PromptTeacher):
    """Base of selectors that propose some tasks for screening only (``train=False``).

    A subclass writes `_choose`, which must put the tasks to screen into `_screening`, and `_learn_outcome` instead of
    `_learn`.
    """

    screen: int = option(
        default=8,
        low=1,
        says="number of rollouts of a screening proposal; single outcomes are collected up to the same number.",
    )
    n: int = option(default=8, low=1, says="number of rollouts of a training proposal.")

    def setup(self) -> None:
        super().setup()
        self._screening: set[int] = set()
        self._proposed = {"screened": 0, "trained": 0}

    @abstractmethod
    def _learn_outcome(self, item: Evidence, screened: bool) -> None:
        """Learn from one outcome, whose record is the task's index.

        Args:
            item: the outcome.
            screened: True for a screening proposal, and for a task given to `update`.
        """

    def _draw(self, k: int) -> list[Draw]:
        draws = [replace(draw, record=[draw.record, not draw.train]) for draw in super()._draw(k)]
        trained = sum(draw.train for draw in draws)
        self._proposed["trained"] += trained
        self._proposed["screened"] += k - trained
        return draws

    def _record(self, task: Any) -> list[Any]:
        return [self.pool.arm(task), True]

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            task, screened = item.record
            self._learn_outcome(Evidence(int(task), item.returns, item.outcome), bool(screened))

    def _draw_fields(self, index: int) -> dict[str, Any]:
        screened = index in self._screening
        return {"n": self.screen if screened else self.n, "train": not screened}

    def _metrics(self) -> dict[str, float]:
        total = sum(self._proposed.values())
        return {"screening_share": self._proposed["screened"] / total if total else 0.0}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "proposed": dict(self._proposed)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._proposed = {name: int(own["proposed"][name]) for name in self._proposed}


class StreamTeacher(ScreeningTeacher):
    """Base of selectors that screen tasks in turn and train on the tasks in a queue, which a subclass fills in
    `_take_rate`.

    Attributes:
        queue: tasks to train on next, each with the ids of the proposals that screened it.
    """

    asks = frozenset({"joins"})
    kept = (Kept("queue", dict[int, list[int]]), "_turns", "_tallies", Kept("_ids", dict[int, list[int]]))

    def setup(self) -> None:
        super().setup()
        self.queue: dict[int, list[int]] = {}
        self._turns, self._tallies = Turns(self.pool.n), Tallies(self.screen)
        self._ids: dict[int, list[int]] = {}  # ids of screening proposals of tasks with an open tally
        self._joins: dict[int, list[int]] = {}  # of the batch being drawn

    @abstractmethod
    def _take_rate(self, task: int, rate: float, ids: list[int]) -> None:
        """Receive the success rate of a task whose screening is complete, and the ids of its screening proposals."""

    def _choose(self, k: int) -> tuple[np.ndarray, float, list[str]]:
        self._joins = {task: self.queue.pop(task) for task in list(self.queue)[:k]}
        train, free = list(self._joins), np.ones(self.pool.n, dtype=bool)
        free[train] = False
        # A task with an open tally comes first: otherwise single outcomes would rarely add up to a rate.
        look = [task for task in self._tallies.open if free[task]][: k - len(train)]
        free[look] = False
        more = self._turns.take(k - len(train) - len(look), self._rng, allowed=free)
        self._screening = {*look, *more.tolist()}
        chosen = np.concatenate([np.array(train + look, dtype=np.int64), more])
        return chosen, np.nan, ["exploit"] * len(train) + ["explore"] * (len(chosen) - len(train))

    def _draw_fields(self, index: int) -> dict[str, Any]:
        advice = super()._draw_fields(index)
        return {**advice, "meta": {"joins": self._joins[index]}} if advice["train"] else advice

    def joinable(self) -> frozenset[int]:
        return frozenset().union(*self.queue.values(), *self._ids.values())

    def _learn_outcome(self, item: Evidence, screened: bool) -> None:
        if not screened:
            return
        ids = self._ids.pop(item.record, []) + ([item.outcome.id] if item.outcome.id >= 0 else [])
        done = self._tallies.add(item)
        if done is None:
            self._ids[item.record] = ids
        else:
            self._take_rate(item.record, done[0], ids)
