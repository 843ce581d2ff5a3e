"""Building blocks of guidance by the environment's solution: triggers, amounts and placements.

A trigger decides which tasks are guided, an amount which share of the solution each episode gets, a placement where it
stands. Triggers and amounts are registered; a strategy names them by text, such as ``"ladder(levels=(0.25, 0.5))"``, so
that recipes and the command line can. The solution comes from the environment's oracle.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ....registry import Registry
from ..batch.trajectory import Origin, Trajectory
from ..recipes.recipe import Component
from .player import Player
from .starts import Insert, PlayedEpisode, RolloutTask, Start

Trigger = Callable[[Sequence[Trajectory]], bool]
Shares = Generator[list[float], list[bool], None]

TRIGGERS: Registry[Callable[..., Trigger]] = Registry("trigger of guidance")
"""``trigger(**params)(trajectories) -> bool``: True if a task with these samples is to be guided."""

AMOUNTS: Registry[Callable[..., Any]] = Registry("amount of guidance")
"""``amount(**params).shares(count, player)``: a generator of rounds. It yields the share of the solution, in [0, 1], of
each episode of a round, and receives for each whether it succeeded. If ``all_rounds``, the episodes of all rounds are
kept and ``count`` is their total; otherwise only the last round's are kept and ``count`` is the size of each round."""


def make_named(registry: Registry[Any], text: str) -> Any:
    """Make the entry that a text such as ``"ladder(levels=(0.25, 0.5))"`` names.

    Raises:
        InputError: unknown name or parameter.
    """
    component = Component.parse(text)
    return registry.make(component.name, **component.params)


# Triggers -------------------------------------------------------------------------------------------------------------


@TRIGGERS.register("always")
def always() -> Trigger:
    """Every task."""
    return lambda trajectories: True


@TRIGGERS.register("success_at_most")
def success_at_most(rate: float) -> Trigger:
    """At most this share of the valid samples succeeded, and at least one sample is valid."""

    def fires(trajectories: Sequence[Trajectory]) -> bool:
        outcomes = [t.success for t in trajectories if t.valid]
        return bool(outcomes) and sum(outcomes) <= rate * len(outcomes)

    return fires


@TRIGGERS.register("all_fail")
def all_fail() -> Trigger:
    """No sample succeeded."""
    return success_at_most(0.0)


@TRIGGERS.register("any_fail")
def any_fail() -> Trigger:
    """A sample failed."""
    return lambda trajectories: any(t.valid and not t.success for t in trajectories)


# Amounts --------------------------------------------------------------------------------------------------------------


@AMOUNTS.register("fixed")
@dataclass(frozen=True)
class FixedShare:
    """The same share for every episode."""

    share: float = 1.0
    all_rounds = True

    def shares(self, count: int, player: Player) -> Shares:
        yield [self.share] * count


@AMOUNTS.register("ladder")
@dataclass(frozen=True)
class HintLadder:
    """Rising shares, one a round, until an episode succeeds (GHPO, arXiv 2507.10628, section 3.3)."""

    levels: Sequence[float] = (0.25, 0.5, 0.75)
    all_rounds = False

    def shares(self, count: int, player: Player) -> Shares:
        for level in self.levels:
            if any((yield [level] * count)):
                return


@AMOUNTS.register("uniform")
@dataclass(frozen=True)
class UniformShare:
    """A share drawn uniformly for each episode (IGPO, arXiv 2509.10396, section 3.2: 0.2 to 0.6)."""

    low: float = 0.2
    high: float = 0.6
    all_rounds = True

    def shares(self, count: int, player: Player) -> Shares:
        yield player.rng.uniform(self.low, self.high, count).tolist()


@AMOUNTS.register("graded")
@dataclass(frozen=True)
class GradedShare:
    """Shares that fall within the group and with training (RuscaRL, arXiv 2508.16949, section 3.2; values of the
    released run).

    Member i of G gets (G - 1 - i) / (G - 1) / (1 + exp(steepness (x - midpoint))), x in [0, 1] being the share of
    training that is done.
    """

    midpoint: float = 0.2
    steepness: float = 125.0
    all_rounds = True

    def shares(self, count: int, player: Player) -> Shares:
        now = 1 / (1 + math.exp(min(700.0, self.steepness * (player.share_of_training - self.midpoint))))
        yield [now * (count - 1 - i) / (count - 1) if count > 1 else 0.0 for i in range(count)]


@AMOUNTS.register("logistic")
@dataclass(frozen=True)
class LogisticShare:
    """Rounds that search for the share at which ``target`` of the episodes succeed (SEELE, arXiv 2509.06923, sec. 4).

    The first round has share 0. After each round a logistic curve with three parameters is fitted to the success rates
    at the shares so far; the next share is the one at which the curve reaches the target.
    """

    target: float = 0.5
    rounds: int = 4
    all_rounds = True

    def shares(self, count: int, player: Player) -> Shares:
        seen: list[tuple[float, float, int]] = []
        share = 0.0
        rounds = min(self.rounds, count)
        for number in range(rounds):
            size = count // rounds + (number < count % rounds)
            successes = yield [share] * size
            seen.append((share, sum(successes) / size, size))
            share = share_for(*fit_logistic(seen), self.target)


def share_for(a: float, b: float, c: float, target: float = 0.5) -> float:
    """Solve c + (1 - c) / (1 + exp(-a (p - b))) = target for the share p, clipped to [0, 1] (SEELE, eq. 8)."""
    if target <= c:
        return 0.0
    odds = (target - c) / (1 - c)
    return min(1.0, max(0.0, b + math.log(odds / (1 - odds)) / a))


def fit_logistic(seen: Sequence[tuple[float, float, int]]) -> tuple[float, float, float]:
    """Fit (a, b, c) of the logistic curve by least squares on a grid; of equal fits the nearest to (10, 0.5, 0) wins.

    Args:
        seen: (share, success, episodes) of each round.
    """
    a, b, c = np.meshgrid(np.linspace(2, 30, 29), np.linspace(-1, 2, 61), np.linspace(0, 0.9, 19), indexing="ij")
    error = 1e-6 * (((a - 10) / 10) ** 2 + (b - 0.5) ** 2 + c**2)
    for share, success, episodes in seen:
        error = error + episodes * (c + (1 - c) / (1 + np.exp(-a * (share - b))) - success) ** 2
    best = np.unravel_index(np.argmin(error), error.shape)
    return float(a[best]), float(b[best]), float(c[best])


# Solutions ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Solution:
    """The oracle's episode, from the beginning of the task."""

    played: PlayedEpisode

    @property
    def actions(self) -> tuple[str, ...]:
        """The text of each action."""
        return tuple(turn.action for turn in self.played.trajectory.turns)

    def text(self, share: float) -> str:
        """The first ``share`` of the solution: characters of a single action, else whole actions, one a line."""
        if len(self.actions) == 1:
            return self.actions[0][: round(share * len(self.actions[0]))]
        return "\n".join(self.actions[: round(share * len(self.actions))])

    def criteria(self, share: float, rng: np.random.Generator) -> str:
        """A random ``share`` of the criteria that a solution must meet, one a line: the environment's
        ``info["criteria"]``, or the lines of the solution if it has none.
        """
        listed = self.played.moments[0].info.get("criteria") if self.played.moments else None
        every = [str(criterion) for criterion in listed or "\n".join(self.actions).splitlines()]
        chosen = sorted(rng.choice(len(every), round(share * len(every)), replace=False).tolist())
        return "\n".join(every[i] for i in chosen)


def solve(tasks: Sequence[RolloutTask], player: Player) -> list[Solution]:
    """The oracle's solution of each task, its tokens marked as a teacher's.

    Raises:
        InputError: the environment has no oracle.
    """
    starts = [Start(task, oracle_turns=math.inf, oracle_origin=Origin.TEACHER) for task in tasks]
    return [Solution(played) for played in player.play(starts, states=True)]


# Placements -----------------------------------------------------------------------------------------------------------


def in_answer(task: RolloutTask, solution: Solution, share: float) -> Start:
    """Start with the first ``share`` of the solution as the beginning of the answer.

    These are tokens of a single action, without its stop token, or whole turns, never the last one.
    """
    turns = solution.played.trajectory.turns
    if len(turns) != 1:
        given = min(round(share * len(turns)), len(turns) - 1)
        return Start(task, oracle_turns=given, guided=given / len(turns) if turns else 0.0)
    ids = turns[0].act_ids[:-1]
    given = round(share * len(ids))
    inserts = (Insert.of(0, ids[:given], Origin.HINT),) if given else ()
    return Start(task, inserts=inserts, guided=given / len(ids) if ids else 0.0)


def in_chunks(
    task: RolloutTask, solution: Solution, share: float, rng: np.random.Generator, low: int, high: int
) -> Start:
    """Start with some chunks of the solution's first action at their places in the answer; the policy writes the tokens
    between them (IGPO, arXiv 2509.10396, section 3.2).

    Args:
        share: share of the chunks that is given, at least one chunk.
        low, high: least and most tokens of a chunk.
    """
    turns = solution.played.trajectory.turns
    ids = turns[0].act_ids[:-1] if turns else ()
    if not ids:
        return Start(task)
    edges = [0]
    while edges[-1] < len(ids):
        edges.append(min(len(ids), edges[-1] + int(rng.integers(low, high + 1))))
    chunks = list(pairwise(edges))
    chosen = sorted(rng.choice(len(chunks), max(1, round(share * len(chunks))), replace=False).tolist())
    inserts = tuple(Insert.of(a, ids[a:b], Origin.HINT) for a, b in (chunks[i] for i in chosen))
    return Start(task, inserts=inserts, guided=sum(len(insert.ids) for insert in inserts) / len(ids))
