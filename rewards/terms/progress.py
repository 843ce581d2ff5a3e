"""Rewards on the way to the goal: subgoals, potentials, completion of a route.

Each gives one number a step. Only potential-based shaping leaves the optimal policies unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import check_choice, check_number
from ...errors import InputError
from ..episode import Episode, Step
from ..reward import StepReward, register
from ..steps import potential_differences, waypoint_potentials
from .scores import read_scores, read_vector

Achieved = Callable[[str, Episode, int], "bool | None"]
"""(subgoal, episode, index of the step) -> True if that step achieved it; None where it could not be determined."""


@register("subgoals")
class SubgoalBonus(StepReward):
    """A term of ``bonus`` for each subgoal at the step that first achieves it.

    Args:
        subgoals: names of the subgoals. Names outside this list get no bonus; with None every name in the extra gets it
            the first time that it appears. A learner that has a judge look for subgoals looks for these.
        achieved: judges one subgoal at one step, and is not called again for a subgoal that was achieved; None reads
            the extra "achieved": for each step, the names of the subgoals achieved, or None where that is unknown.
            See `palaestra.rewards.judges.SubgoalJudge`.
        bonus: for each subgoal.

    Raises:
        InputError: ``achieved`` is given without ``subgoals``; or, when called, the extra "achieved" has not one entry
            for each step.
    """

    paper = "CALM, arXiv 2409.12798"
    needs = frozenset({"achieved"})

    def __init__(self, subgoals: Sequence[str] | None = None, achieved: Achieved | None = None, bonus: float = 0.1):
        if isinstance(subgoals, str) or (achieved is not None and not subgoals):
            raise InputError(f"subgoals must be a sequence of names, and a judge needs some, not {subgoals!r}.")
        self.subgoals = None if subgoals is None else tuple(dict.fromkeys(subgoals))
        self.achieved = achieved
        self.bonus = check_number("bonus", bonus)
        self.needs = frozenset() if achieved else frozenset({"achieved"})
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
        """Subgoals outside ``done`` that step ``t`` achieves; None where the judge has no opinion on one."""
        names = []
        for subgoal in self.subgoals or ():
            if subgoal not in done:
                verdict = achieved(subgoal, episode, t)
                if verdict is None:
                    return None
                if verdict:
                    names.append(subgoal)
        return names


@register("potential")
class PotentialShaping(StepReward):
    """A term of ``discount * potential(next state) - potential(state)`` for each step.

    The terminal state has potential 0, as otherwise the optimal policies could change. Over an episode the discounted
    terms sum to minus the potential of the first state.

    Args:
        potential: maps an observation to its potential; None reads the extra "potentials": the potentials of the states
            before each step and, optionally, of the last state.
        discount: the learner's discount, in [0, 1].
        cutoff: the last state of an episode that was cut off: "zero" treats it as terminal, for a learner that does the
            same; "keep" takes its potential from the extra, for a learner that bootstraps from its value estimate. A
            reward given at each step keeps the potential, as a cutoff is not known then.

    Raises:
        InputError: when called, another number of potentials, or "keep" without the last one.
    """

    paper = "Ng, Harada and Russell, ICML 1999, theorem 1"
    needs = frozenset({"potentials"})

    def __init__(self, potential: Callable[[Any], float] | None = None, discount: float = 1.0, cutoff: str = "zero"):
        self.potential = potential
        self.discount = check_number("discount", discount, low=0.0, high=1.0)
        self.cutoff = check_choice("cutoff", cutoff, ("zero", "keep"))
        self.needs = frozenset() if potential else frozenset({"potentials"})

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

    def at_once(self, step: Step, observation: Any, terminated: bool) -> float | None:
        if self.potential is None:
            return None
        after = 0.0 if terminated else self.discount * self.potential(observation)
        return after - self.potential(step.observation)

    def from_extras(self, extras: Mapping[str, Any], terminated: bool) -> float | None:
        potentials = extras.get("potentials")
        if self.potential is not None or potentials is None or None in (potentials[-1], potentials[-2]):
            return None
        return (0.0 if terminated else self.discount * potentials[-1]) - potentials[-2]


@register("waypoints")
class WaypointShaping(StepReward):
    """A term of ``potential(next state) - potential(state)`` for each step, the potential being minus the length of the
    path through the waypoints not yet reached, as a share of its length at the start.

    Needs the extras "positions" (of the states 0 to K) and "waypoints" (in order, in equal coordinates), which a
    planner or a model proposes. The potential of the last state counts as 0, as in `PotentialShaping`: the terms sum to
    1 over an episode and to 0 over a loop.

    Args:
        radius: the distance, in units of the positions, at which a waypoint counts as reached.
        cutoff: the last state of an episode that was cut off: "zero" treats it as an end, "keep" as any other.
    """

    paper = "KAGI, arXiv 2407.10341 (its constants are not published)"
    needs = frozenset({"positions", "waypoints"})

    def __init__(self, radius: float = 0.0, cutoff: str = "zero"):
        self.radius = check_number("radius", radius, low=0.0)
        self.cutoff = check_choice("cutoff", cutoff, ("zero", "keep"))

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
    """Compute for each step the rise of the best completion so far, times the step's factor (CaRL, arXiv 2504.17838).

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

    Extras: "completion", a number in [0, 1] after each step; optionally "soft_factors", for each step a number or
    several in [0, 1] (0.5 while a soft limit is violated); and optionally "hard_violation", true where one ended the
    episode. `ranks_success` is not claimed: a success with many violations can get less than half a clean run.

    Args:
        terminal: added to the last step after a hard violation, at most 0.

    Raises:
        InputError: ``terminal`` above 0; when called, extras that do not have one entry a step.
    """

    paper = "CaRL, arXiv 2504.17838 (route completion reward)"
    needs = frozenset({"completion"})
    complete = True

    def __init__(self, terminal: float = -1.0):
        self.terminal = check_number("terminal", terminal, high=0.0)

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
    """One factor a step, the product where a step has several; None where any is missing."""
    if isinstance(by_step, Sequence) and not isinstance(by_step, str):
        products: list[Any] = []
        for factors in by_step:
            if isinstance(factors, Sequence):
                known = read_scores(factors, "soft_factors", 0.0, 1.0)
                factors = None if known is None else math.prod(known)
            products.append(factors)
        by_step = products
    return read_scores(by_step, "soft_factors", 0.0, 1.0)
