"""Building blocks of guidance by a worked solution: triggers, amounts, hints and placements.

A trigger decides which tasks are guided, an amount which share of the solution each episode gets, a placement where it
stands. Triggers and amounts are registered; a strategy names them by text, such as ``"ladder(levels=(0.25, 0.5))"``, so
that recipes and the command line can. A hint is cut from the steps of a worked solution and does not give the answer
away below the whole of it (`envs.hints`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ....envs.hints import cut_steps, hint_text
from ....errors import InputError
from ....registry import Registry
from ...language.renderer import Renderer
from ...oracle import worked_steps
from ..batch.trajectory import Origin, Trajectory
from ..recipes.recipe import Component
from .episode_player import EpisodePlayer
from .episode_starts import FinishedEpisode, Insert, RolloutTask, Start, TokenLimits

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

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
        yield [self.share] * count


@AMOUNTS.register("ladder")
@dataclass(frozen=True)
class HintLadder:
    """Rising shares, one a round, until an episode succeeds (GHPO, arXiv 2507.10628, section 3.3)."""

    levels: Sequence[float] = (0.25, 0.5, 0.75)
    all_rounds = False

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
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

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
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

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
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

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
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
    """A solution of a task, played from its beginning.

    Attributes:
        played: the episode, its tokens marked as a teacher's.
        steps: the worked solution, the last step being the answer; () for a game whose solution has only turns.
        ends: for each step, the number of tokens of a single action through the end of that step; without steps, only
            the total number.
    """

    played: FinishedEpisode
    steps: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def read(cls, played: FinishedEpisode, renderer: Renderer, steps: Sequence[str] | None = None) -> Solution:
        """Find the steps in an episode of a single action; by default they are its lines."""
        if len(played.trajectory.turns) != 1:
            return cls(played, tuple(steps or ()))
        (turn,) = played.trajectory.turns
        steps = [line for line in turn.action.splitlines() if line.strip()] if steps is None else steps
        ends, place = [], 0
        for step in steps[:-1]:
            place = max(place, turn.action.find(step, place) + len(step))
            # The end of the line belongs to the step, so that what follows begins with the next one.
            ends.append(renderer.tokens_until(turn.act_ids, place + (turn.action[place : place + 1] == "\n")))
        return cls(played, tuple(steps), (*ends, len(turn.act_ids) - (turn.act_ids[-1:] == renderer.stop_ids[:1])))

    @property
    def actions(self) -> tuple[str, ...]:
        """The text of each action."""
        return tuple(turn.action for turn in self.played.trajectory.turns)

    @property
    def is_right(self) -> bool:
        """True if the environment's verifier has accepted it."""
        trajectory = self.played.trajectory
        return trajectory.valid and trajectory.success and bool(trajectory.turns)

    def text(self, share: float) -> str:
        """The first ``share`` of the solution: the steps of `hint_text`, or whole actions of a game, one a line, below
        1 never the last."""
        if self.steps or len(self.actions) == 1:
            turns = self.played.trajectory.turns
            return hint_text(self.steps or self.actions, share, turns[0].observation if turns else "")
        count = len(self.actions)
        return "\n".join(self.actions[: min(round(share * count), count - (share < 1))])

    def tokens(self, share: float, renderer: Renderer) -> int:
        """Return the number of first tokens of a single action that hold no more than the text of the same share."""
        *working, whole = self.ends
        if share <= 0 or share >= 1:
            return whole if share > 0 else 0
        if not working:
            return max(0, min(round(share * whole), whole - 1))
        (turn,) = self.played.trajectory.turns
        shown, part = cut_steps(self.steps, share, turn.observation)
        if shown or not part:
            return working[len(shown) - 1] if shown else 0
        place = max(0, turn.action.find(part)) + len(part)
        count = renderer.tokens_until(turn.act_ids, place)
        return count - (len(renderer.action(turn.act_ids[:count])) > place)

    def criteria(self, share: float, rng: np.random.Generator) -> str:
        """A random ``share`` of the criteria that a solution must meet, one a line: ``extras["criteria"]``, or the
        actions of a game without criteria; "" where all that could be said would be the answer.

        Raises:
            InputError: the environment tells neither criteria nor steps.
        """
        info = self.played.moments[0].info if self.played.moments else {}
        listed = (info.get("extras") or {}).get("criteria") or (() if self.steps else self.actions)
        if not listed and len(self.steps) == 1:
            raise InputError(
                "the environment tells no criteria and no steps before the answer, so that criteria would show the "
                "answer itself; take source='solution', or an environment with worked solutions."
            )
        chosen = sorted(rng.choice(len(listed), round(share * len(listed)), replace=False).tolist())
        return "\n".join(str(listed[i]) for i in chosen)


def solve(tasks: Sequence[RolloutTask], player: EpisodePlayer) -> list[Solution]:
    """Play each task by the environment's oracle, which writes the steps of a worked solution before the answer.

    The tokens are marked as a teacher's. Only the context bounds their number, so that a policy with a small budget can
    be shown a long solution.

    Raises:
        InputError: the environment has no oracle.
    """
    starts = [
        Start(task, oracle_turns=math.inf, oracle_origin=Origin.TEACHER, limits=context_limits(player))
        for task in tasks
    ]
    solutions = []
    for played in player.play(starts, states=True):
        trajectory = replace(played.trajectory, max_tokens=player.limits.episode)
        steps = worked_steps(played.moments[0].info) if played.moments else ()
        solutions.append(Solution.read(replace(played, trajectory=trajectory), player.renderer, steps))
    return solutions


def context_limits(player: EpisodePlayer) -> TokenLimits:
    """Return budgets that are limited by the context only."""
    return TokenLimits(player.limits.context, player.limits.context, player.limits.context)


# Placements -----------------------------------------------------------------------------------------------------------

TEMPLATE = "The following text is the beginning part of the answer: {hint}"
"""GHPO's sentence before a hint."""


def guided_start(
    task: RolloutTask,
    solution: Solution,
    share: float,
    player: EpisodePlayer,
    where: str = "prompt",
    template: str = TEMPLATE,
) -> Start:
    """Make a start with the first ``share`` of a solution; without a hint where the share is 0.

    Args:
        solution: of `solve`.
        where: "prompt" (after the observation), "stripped" (likewise, but left out of the trained context) or "answer"
            (`in_answer`).
        template: text of the hint in a prompt; ``{hint}`` stands for the steps.
    """
    if where == "answer":
        return in_answer(task, solution, share, player)
    return hinted_start(task, solution.text(share), share, where, template)


def hinted_start(task: RolloutTask, hint: str, share: float, where: str = "prompt", template: str = TEMPLATE) -> Start:
    """Make a start with the text of a hint in the prompt ("prompt" or "stripped"); a plain one if it is empty."""
    if not hint:
        return Start(task)
    return Start(task, hint=template.replace("{hint}", hint), keep_hint=where == "prompt", guided=share)


def in_answer(task: RolloutTask, solution: Solution, share: float, player: EpisodePlayer) -> Start:
    """Start with the first ``share`` of the solution as the beginning of the answer.

    These are the tokens of whole steps of a single action, without its stop token, or whole turns, never the last one.
    """
    turns = solution.played.trajectory.turns
    if len(turns) != 1:
        given = min(round(share * len(turns)), len(turns) - 1)
        return Start(task, actions=solution.actions[: max(0, given)], guided=given / len(turns) if turns else 0.0)
    given, whole = solution.tokens(share, player.renderer), solution.ends[-1]
    inserts = (Insert.of(0, turns[0].act_ids[:given], Origin.HINT),) if given else ()
    return Start(
        task,
        inserts=inserts,
        limits=extend(task.conditions.limits or player.limits, inserts),
        guided=given / whole if whole else 0.0,
    )


def in_chunks(task: RolloutTask, solution: Solution, share: float, player: EpisodePlayer, low: int, high: int) -> Start:
    """Start with some chunks of the solution's steps at their places in the answer; the policy writes the tokens
    between them and the answer (IGPO, arXiv 2509.10396, section 3.2).

    The chunks are of the steps that do not give the answer away; of a solution without steps before the answer, of all
    its tokens but the last, and of a game's first action, of all.

    Args:
        share: share of the chunks that is given, at least one chunk.
        low, high: least and most tokens of a chunk; the last one may have up to ``low`` more.
    """
    turns = solution.played.trajectory.turns
    if not turns:
        return Start(task)
    most = solution.tokens(math.nextafter(1, 0), player.renderer) if solution.ends else -1
    ids = turns[0].act_ids[:most]
    if not ids:
        return Start(task)
    edges = [0]
    while edges[-1] < len(ids):
        edges.append(min(len(ids), edges[-1] + int(player.rng.integers(low, high + 1))))
    if len(edges) > 2 and edges[-1] - edges[-2] < low:
        del edges[-2]  # A rest that is too short belongs to the chunk before.
    chunks = list(pairwise(edges))
    chosen = sorted(player.rng.choice(len(chunks), max(1, round(share * len(chunks))), replace=False).tolist())
    inserts = tuple(Insert.of(a, ids[a:b], Origin.HINT) for a, b in (chunks[i] for i in chosen))
    guided = sum(len(insert.ids) for insert in inserts) / len(ids)
    return Start(task, inserts=inserts, limits=extend(task.conditions.limits or player.limits, inserts), guided=guided)


def extend(limits: TokenLimits, inserts: Sequence[Insert]) -> TokenLimits:
    """Extend the budgets by the tokens of the inserts, so that the policy can write as many tokens as without them.

    The limit on the context stays.
    """
    given = sum(len(insert.ids) for insert in inserts)
    return replace(limits, action=limits.action + given, episode=limits.episode + given)
