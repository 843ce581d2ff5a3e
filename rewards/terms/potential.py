"""Shaping that leaves the optimal policies as they are: differences of a potential (Ng, Harada and Russell)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...checks import check_choice, check_number
from ...errors import InputError
from ..episode import Episode, Step
from ..reward import StepReward, register
from ..steps import potential_differences
from .step_scores import finite


@register("potential")
class PotentialShaping(StepReward):
    """A term of ``discount * potential(next state) - potential(state)`` for each step.

    The potential of the state that ends an episode is 0, without which the optimal policies could change; over an
    episode the discounted terms sum to minus the potential of its first state.

    Args:
        potential: from an observation to its potential; None reads the extra "potentials": those of the states
            before each step, and, optionally, of the last one.
        discount: the learner's own, in [0, 1].
        cutoff: the last state of an episode that was cut off: "zero" treats it as an end, right for a learner that
            does; "keep" takes its potential from the extra, right for a learner that goes on from its value estimate.
            As soon as a step is taken (`at_once`) nobody knows of a cutoff, and the potential is kept.

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
            given = [self.potential(step.observation) for step in episode.steps]
        else:
            given = episode.extra("potentials")
        potentials = finite(given, "potentials")
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
