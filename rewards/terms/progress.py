"""Rewards on the way to the goal: subgoals, potentials, completion of a route.

Each gives one number per step. Only potential-based shaping leaves the optimal policies unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..episode import Episode, Step
from ..reward import StepReward, register
from ..steps import potential_differences, waypoint_potentials
from .scores import read_scores, read_vector

Achieved = Callable[[str, Episode, int], "bool | None"]
"""Callable from (subgoal, episode, index of the step) to True if that step achieved the subgoal; None if unknown."""


@register("subgoals")
class SubgoalBonus(StepReward):
    """Term of ``bonus`` for each subgoal at the step that first achieves it.

    ``episode.extra("achieved")`` holds for each step the names of the subgoals achieved, or None if unknown. A judge
    (`palaestra.rewards.judges.SubgoalJudge`) is not asked again for a subgoal that was achieved.

    Raises:
        InputError: ``achieved`` is given without ``subgoals``; when called, ``episode.extra("achieved")`` does not have
            one entry for each step.
    """

    paper = "CALM, arXiv 2409.12798"
    needs = frozenset({"achieved"})
    subgoals: Sequence[str] | None = option(
        default=None, says="names that get the bonus, also for a learner's judge; None: every name achieved."
    )
    achieved: Achieved | None = option(
        default=None, says='judges one subgoal at one step; None reads ``episode.extra("achieved")``.'
    )
    bonus: float = option(default=0.1, says="reward for each subgoal.")

    def setup(self) -> None:
        if isinstance(self.subgoals, str) or (self.achieved is not None and not self.subgoals):
            raise InputError(f"subgoals must be a sequence of names, and a judge needs some, not {self.subgoals!r}.")
        self.subgoals = None if self.subgoals is None else tuple(dict.fromkeys(self.subgoals))
        self.needs = frozenset() if self.achieved else frozenset({"achieved"})
        self.measure_options = {"achieved": {"subgoals": self.subgoals}} if self.subgoals else {}

    def values(self, episode: Episode) -> list[float] | None:
        steps = len(episode.steps)
        listed = episode.extra("achieved") if self.achieved is None else [None] * steps
        if listed is None:
            return None
        if len(listed) != steps:
            raise InputError(f"an episode of {steps} steps needs as many lists, not {len(listed)}.")
        done: set[str] = set()
        bonuses = []
        for t in range(steps):
            names = listed[t] if self.achieved is None else self._judge_step(self.achieved, episode, t, done)
            if names is None:
                return None
            new = {name for name in names if self.subgoals is None or name in self.subgoals} - done
            done |= new
            bonuses.append(self.bonus * len(new))
        return bonuses

    def from_extras(self, extras: Mapping[str, Any], terminated: bool) -> float | None:
        listed = extras.get("achieved") if self.achieved is None else None
        if not listed or listed[-1] is None:
            return None
        new = {name for name in listed[-1] if self.subgoals is None or name in self.subgoals}
        if new:
            new = new.difference(*(names or () for names in listed[:-1]))
        return self.bonus * len(new)

    def _judge_step(self, achieved: Achieved, episode: Episode, t: int, done: set[str]) -> list[str] | None:
        """Return the subgoals outside ``done`` that step ``t`` achieves; None if the judge failed on one of them."""
        names = []
        for subgoal in self.subgoals or ():
            if subgoal not in done:
                verdict = achieved(subgoal, episode, t)
                if verdict is None:
                    return None
                if verdict:
                    names.append(subgoal)
        return names


class Shaping(StepReward):
    """Base class of a term of ``discount * potential(next state) - potential(state)`` for each step."""

    potential: Callable[[Any], float] | None
    discount: float
    cutoff: str

    def values(self, episode: Episode) -> list[float] | None:
        number = len(episode.steps)
        if self.potential is not None:
            raw = [self.potential(step.observation) for step in episode.steps]
        else:
            raw = episode.extra("potentials")
        potentials = read_vector(raw, "potentials")
        if potentials is None:
            return None
        if len(potentials) not in (number, number + 1):
            raise InputError(f"{number} steps need {number} or {number + 1} potentials, not {len(potentials)}.")
        if not number:
            return []
        last = 0.0
        if episode.truncated and self.cutoff == "keep":
            if len(potentials) == number:
                raise InputError("cutoff='keep' needs the potential of the last state; pass it in 'potentials'.")
            last = potentials[-1]
        return potential_differences(np.append(potentials[:number], last), self.discount).tolist()

    def step_reward_now(self, step: Step, observation: Any, terminated: bool) -> float | None:
        if self.potential is None:
            return None
        after = 0.0 if terminated else self.discount * self.potential(observation)
        return after - self.potential(step.observation)

    def from_extras(self, extras: Mapping[str, Any], terminated: bool) -> float | None:
        potentials = extras.get("potentials")
        if self.potential is not None or potentials is None or None in (potentials[-1], potentials[-2]):
            return None
        return (0.0 if terminated else self.discount * potentials[-1]) - potentials[-2]


@register("potential")
class PotentialShaping(Shaping):
    """Term of ``discount * potential(next state) - potential(state)`` for each step.

    The terminal state has potential 0, as otherwise the optimal policies could change. Over an episode the discounted
    terms sum to minus the potential of the first state. ``episode.extra("potentials")`` holds the potentials of the
    states before each step and, optionally, of the last state.

    The last state of an episode that was cut off counts as terminal, for a learner that does the same; with
    ``cutoff="keep"`` its potential is read from the extra, for a learner that bootstraps from its value estimate. A
    reward given at each step (`step_reward_now`) keeps the potential, as a cutoff is not known then.

    Raises:
        InputError: when called, another number of potentials, or "keep" without the last one.
    """

    paper = "Ng, Harada and Russell, ICML 1999, theorem 1"
    needs = frozenset({"potentials"})
    potential: Callable[[Any], float] | None = option(
        default=None, says='maps an observation to its potential; None reads ``episode.extra("potentials")``.'
    )
    discount: float = option(default=1.0, low=0, high=1, says="the learner's discount.")
    cutoff: Literal["zero", "keep"] = option(
        default="zero", says="potential of the last state of an episode that was cut off: 0, or its own."
    )

    def setup(self) -> None:
        self.needs = frozenset() if self.potential else frozenset({"potentials"})


@register("waypoints")
class WaypointShaping(StepReward):
    """Term of ``potential(next state) - potential(state)`` for each step, by the path that remains to the goal.

    The potential is minus the length of the path through the waypoints not yet reached, divided by its length at the
    start. ``episode.extra("positions")`` (of the states 0 to K) and ``episode.extra("waypoints")`` (in order, in the
    same coordinates) are needed; a planner or a model proposes the waypoints. The potential of the last state counts as
    0, as in `PotentialShaping`: the terms sum to 1 over an episode and to 0 over a loop.
    """

    paper = "KAGI, arXiv 2407.10341 (its constants are not published)"
    needs = frozenset({"positions", "waypoints"})
    radius: float = option(default=0.0, low=0, says="distance at which a waypoint counts as reached.")
    cutoff: Literal["zero", "keep"] = option(
        default="zero", says='last state of an episode cut off: terminal ("zero"), or like any other ("keep").'
    )

    def values(self, episode: Episode) -> list[float] | None:
        positions, waypoints = episode.extra("positions"), episode.extra("waypoints")
        if positions is None or waypoints is None:
            return None
        if len(positions) != len(episode.steps) + 1:
            raise InputError(f"{len(episode.steps)} steps need one position more, not {len(positions)}.")
        potentials = waypoint_potentials(positions, waypoints, self.radius)
        if not episode.steps or not potentials[0]:
            return [0.0] * len(episode.steps)
        if not (episode.truncated and self.cutoff == "keep"):
            potentials[-1] = 0.0
        return potential_differences(potentials / -potentials[0], 1.0).tolist()


def progress_times_penalties(completion: Sequence[float], factors: Sequence[float]) -> list[float]:
    """Return for each step the rise of the best completion so far, times the step's factor (CaRL, arXiv 2504.17838).

    Args:
        completion: share of the task completed after each step, in [0, 1]; regaining lost completion adds nothing.
        factors: product of the soft penalties of each step, in [0, 1]; 1 for a step without penalty.
    """
    best, values = 0.0, []
    for done, factor in zip(completion, factors, strict=True):
        values.append(max(done - best, 0.0) * factor)
        best = max(best, done)
    return values


@register("progress-penalties")
class ProgressPenalties(StepReward):
    """Reward of a whole episode, step by step: new completion times penalty factors; 1 in sum for a perfect run.

    ``episode.extra("completion")`` is a number in [0, 1] after each step. Optional are ``extras["soft_factors"]``, for
    each step a number or several in [0, 1] (0.5 while a soft limit is violated), and ``extras["hard_violation"]``, True
    if a hard limit ended the episode. `ranks_success` is not claimed: a success with many violations can get less than
    half a clean run.

    Raises:
        InputError: when called, extras that do not have one entry per step.
    """

    paper = "CaRL, arXiv 2504.17838 (route completion reward)"
    needs = frozenset({"completion"})
    complete = True
    terminal: float = option(default=-1.0, high=0, says="added to the last step after a hard violation.")

    @property
    def bounds(self) -> tuple[float, float]:
        return self.terminal, 1.0

    def values(self, episode: Episode) -> list[float] | None:
        steps = len(episode.steps)
        completion = read_scores(episode.extra("completion"), "completion", 0.0, 1.0)
        factors = _multiply_factors(episode.extras.get("soft_factors", [1.0] * steps))
        if completion is None or factors is None:
            return None
        if len(completion) != steps or len(factors) != steps:
            raise InputError(
                f"completion and soft_factors need one entry for each of the {steps} steps, not {len(completion)} and "
                f"{len(factors)}."
            )
        values = progress_times_penalties(completion, factors)
        if values and episode.extras.get("hard_violation"):
            values[-1] += self.terminal
        return values


def _multiply_factors(by_step: Any) -> list[float] | None:
    """Return one factor per step, the product if a step has several; None if any factor is missing."""
    if isinstance(by_step, Sequence) and not isinstance(by_step, str):
        products: list[Any] = []
        for factors in by_step:
            if isinstance(factors, Sequence):
                known = read_scores(factors, "soft_factors", 0.0, 1.0)
                factors = None if known is None else math.prod(known)
            products.append(factors)
        by_step = products
    return read_scores(by_step, "soft_factors", 0.0, 1.0)
