"""Building blocks of guidance by a worked solution: triggers, amounts, hints and placements.

A trigger decides which tasks are guided, an amount which share of the solution each episode gets, a placement the
position of that part: prompt or answer. Triggers and amounts are registered; strategies, recipes and the command line
name them by text, such as ``"ladder(levels=(0.25, 0.5))"``. A hint consists of the first steps of a worked solution;
for shares below 1 it does not give the answer away (`envs.hints`).
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
"""``trigger(**params)(trajectories) -> bool``: True if a task whose samples these are must be guided."""

AMOUNTS: Registry[Callable[..., Any]] = Registry("amount of guidance")
"""``amount(**params).shares(count, player)``: a generator with one item per round of episodes. It yields the share of
the solution for each episode of a round, in [0, 1], and is sent the success of each. If ``all_rounds``, the episodes of
all rounds are kept and ``count`` is their total; if not, only the last round's are kept and ``count`` is its size."""


def make_named(registry: Registry[Any], text: str) -> Any:
    """Make the entry that a text such as ``"ladder(levels=(0.25, 0.5))"`` names.

    Raises:
        InputError: the name or a parameter is unknown.
    """
    component = Component.parse(text)
    return registry.make(component.name, **component.params)


# Triggers -------------------------------------------------------------------------------------------------------------


@TRIGGERS.register("always")
def always() -> Trigger:
    """Guide every task."""
    return lambda trajectories: True


@TRIGGERS.register("success_at_most")
def success_at_most(rate: float) -> Trigger:
    """Guide tasks with a valid sample and a success rate of at most ``rate`` among the valid samples."""

    def fires(trajectories: Sequence[Trajectory]) -> bool:
        outcomes = [t.success for t in trajectories if t.valid]
        return bool(outcomes) and sum(outcomes) <= rate * len(outcomes)

    return fires


@TRIGGERS.register("all_fail")
def all_fail() -> Trigger:
    """Guide tasks with a valid sample and without a success."""
    return success_at_most(0.0)


@TRIGGERS.register("any_fail")
def any_fail() -> Trigger:
    """Guide tasks with a failed sample."""
    return lambda trajectories: any(t.valid and not t.success for t in trajectories)


# Amounts --------------------------------------------------------------------------------------------------------------


@AMOUNTS.register("fixed")
@dataclass(frozen=True)
class FixedShare:
    """Give the same share to every episode."""

    share: float = 1.0
    all_rounds = True

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
        yield [self.share] * count


@AMOUNTS.register("ladder")
@dataclass(frozen=True)
class HintLadder:
    """Give a rising share, one level per round, until an episode succeeds (GHPO, arXiv 2507.10628, section 3.3)."""

    levels: Sequence[float] = (0.25, 0.5, 0.75)
    all_rounds = False

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
        for level in self.levels:
            if any((yield [level] * count)):
                return


@AMOUNTS.register("uniform")
@dataclass(frozen=True)
class UniformShare:
    """Draw the share of each episode uniformly from [low, high] (IGPO, arXiv 2509.10396, section 3.2: 0.2 to 0.6)."""

    low: float = 0.2
    high: float = 0.6
    all_rounds = True

    def shares(self, count: int, player: EpisodePlayer) -> Shares:
        yield player.rng.uniform(self.low, self.high, count).tolist()


@AMOUNTS.register("graded")
@dataclass(frozen=True)
class GradedShare:
    """Give shares that fall within the group and with training (RuscaRL, arXiv 2508.16949, section 3.2; values of the
    released run).

    Member i of G, from 0, gets (G - 1 - i) / (G - 1) / (1 + exp(steepness (x - midpoint))), x in [0, 1] being the share
    of training that is done.
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
    """Search in rounds for the share at which ``target`` of the episodes succeed (SEELE, arXiv 2509.06923, sec. 4).

    The first round has share 0. After each round a logistic curve with three parameters is fitted to the success rates
    at the shares so far; the next share is that at which the curve reaches ``target``.
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
    """Solve c + (1 - c) / (1 + exp(-a (p - b))) = target for the share p, limited to [0, 1] (SEELE, eq. 8)."""
    if target <= c:
        return 0.0
    odds = (target - c) / (1 - c)
    return min(1.0, max(0.0, b + math.log(odds / (1 - odds)) / a))


def fit_logistic(seen: Sequence[tuple[float, float, int]]) -> tuple[float, float, float]:
    """Fit (a, b, c) of the logistic curve by least squares on a grid; ties are won by the point nearest to (10, 0.5,
    0).

    Args:
        seen: (share, success rate, number of episodes) of each round.
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
    """Solution of a task, played from its beginning.

    Attributes:
        played: the episode; origin of its tokens is TEACHER.
        steps: steps of the worked solution, the last being the answer; () for a game, whose solution consists of turns.
        ends: for a single action, the number of its tokens up to the end of each step; without steps, only their total
            number.
    """

    played: FinishedEpisode
    steps: tuple[str, ...] = ()
    ends: tuple[int, ...] = ()

    @classmethod
    def read(cls, played: FinishedEpisode, renderer: Renderer, steps: Sequence[str] | None = None) -> Solution:
        """Make a solution from an episode; in a single action, locate ``steps``, by default the action's lines."""
        if len(played.trajectory.turns) != 1:
            return cls(played, tuple(steps or ()))
        (turn,) = played.trajectory.turns
        steps = [line for line in turn.action.splitlines() if line.strip()] if steps is None else steps
        ends, place = [], 0
        for step in steps[:-1]:
            place = max(place, turn.action.find(step, place) + len(step))
            # A line break belongs to the step before it.
            ends.append(renderer.tokens_until(turn.act_ids, place + (turn.action[place : place + 1] == "\n")))
        return cls(played, tuple(steps), (*ends, len(turn.act_ids) - (turn.act_ids[-1:] == renderer.stop_ids[:1])))

    @property
    def actions(self) -> tuple[str, ...]:
        """The text of each action."""
        return tuple(turn.action for turn in self.played.trajectory.turns)

    @property
    def is_right(self) -> bool:
        """True if the environment's verifier accepted the solution."""
        trajectory = self.played.trajectory
        return trajectory.valid and trajectory.success and bool(trajectory.turns)

    def text(self, share: float) -> str:
        """Return the first ``share`` of the solution: steps as in `hint_text`, or whole actions of a game, one per
        line, without the last if ``share`` is below 1."""
        if self.steps or len(self.actions) == 1:
            turns = self.played.trajectory.turns
            return hint_text(self.steps or self.actions, share, turns[0].observation if turns else "")
        count = len(self.actions)
        return "\n".join(self.actions[: min(round(share * count), count - (share < 1))])

    def tokens(self, share: float, renderer: Renderer) -> int:
        """Return the number of tokens of a single action that cover at most the text for ``share``."""
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
        """Return a random ``share`` of the criteria that a solution must meet, one per line.

        The criteria are ``extras["criteria"]`` of the environment, or else the actions of a game; "" if there are
        neither.

        Raises:
            InputError: the environment states neither criteria nor steps before the answer.
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
    """Play each task with the environment's oracle, which writes the steps of a worked solution before the answer.

    The origin of the tokens is TEACHER. Only the context limits their number, so that a policy with a small budget can
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
    """Return token limits that all equal the player's context."""
    return TokenLimits(player.limits.context, player.limits.context, player.limits.context)


# Placements -----------------------------------------------------------------------------------------------------------

TEMPLATE = "The following text is the beginning part of the answer: {hint}"
"""GHPO's template of a hint."""


def guided_start(
    task: RolloutTask,
    solution: Solution,
    share: float,
    player: EpisodePlayer,
    where: str = "prompt",
    template: str = TEMPLATE,
) -> Start:
    """Make a start with the first ``share`` of a solution; a plain start if the share is 0.

    Args:
        solution: as returned by `solve`.
        where: "prompt" (after the observation), "stripped" (after the observation, left out of the trained context) or
            "answer" (see `in_answer`).
        template: text of a hint in the prompt; ``{hint}`` is replaced by the steps.
    """
    if where == "answer":
        return in_answer(task, solution, share, player)
    return hinted_start(task, solution.text(share), share, where, template)


def hinted_start(task: RolloutTask, hint: str, share: float, where: str = "prompt", template: str = TEMPLATE) -> Start:
    """Make a start with a hint in the prompt (``where`` "prompt" or "stripped"); a plain start if the hint is empty."""
    if not hint:
        return Start(task)
    return Start(task, hint=template.replace("{hint}", hint), keep_hint=where == "prompt", guided=share)


def in_answer(task: RolloutTask, solution: Solution, share: float, player: EpisodePlayer) -> Start:
    """Make a start with the first ``share`` of the solution as the beginning of the answer.

    For a single action, these are the tokens of whole steps without the stop token; for several turns, whole turns
    without the last.
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
    """Make a start with random chunks of the solution's steps at their positions in the answer; the policy writes the
    tokens between them and the answer (IGPO, arXiv 2509.10396, section 3.2).

    Chunks are cut from the steps before the answer; from all tokens but the last if there are no such steps; from the
    whole first action of a game.

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
        del edges[-2]  # A rest shorter than `low` is joined to the chunk before.
    chunks = list(pairwise(edges))
    chosen = sorted(player.rng.choice(len(chunks), max(1, round(share * len(chunks))), replace=False).tolist())
    inserts = tuple(Insert.of(a, ids[a:b], Origin.HINT) for a, b in (chunks[i] for i in chosen))
    guided = sum(len(insert.ids) for insert in inserts) / len(ids)
    return Start(task, inserts=inserts, limits=extend(task.conditions.limits or player.limits, inserts), guided=guided)


def extend(limits: TokenLimits, inserts: Sequence[Insert]) -> TokenLimits:
    """Extend the budgets by the tokens of the inserts, so that the policy can write as many tokens as without inserts.

    The limit on the context stays.
    """
    given = sum(len(insert.ids) for insert in inserts)
    return replace(limits, action=limits.action + given, episode=limits.episode + given)
