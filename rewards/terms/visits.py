"""Bonuses for states that were seldom visited: counts, and random distribution distillation without a network (RDD).

Both remember visits across episodes, so judging an episode twice counts it twice; their state is plain JSON. States
are told apart by a key, the observation's text by default.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode, Step
from ..reward import StepReward, register

StateKey = Callable[[Any], Any]


class _VisitBonus(StepReward):
    """Pays the visit of each observation; a subclass says how much and how a visit changes what is remembered."""

    def __init__(self, weight: float, key: StateKey):
        self.weight = check_number("weight", weight, low=0.0)
        self.key = key

    def visit(self, state: str) -> float:
        raise NotImplementedError

    def values(self, episode: Episode) -> list[float]:
        return [self.visit(self._digest(step.observation)) for step in episode.steps]

    def at_once(self, step: Step, observation: Any, terminated: bool) -> float:
        return self.visit(self._digest(step.observation))

    def _digest(self, observation: Any) -> str:
        text = str(self.key(observation)).encode("utf-8", "surrogatepass")
        return hashlib.blake2b(text, digest_size=8).hexdigest()

    def state_dict(self) -> dict[str, Any]:
        return {"visits": dict(self._visits)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if set(state) != {"visits"}:
            raise InputError(f"the saved state of {self.name!r} holds 'visits', not {sorted(state)}.")
        self._visits = dict(state["visits"])

    _visits: dict[str, Any]


@register("count-bonus")
class CountBonus(_VisitBonus):
    """``weight / visits ** exponent`` for the state of each step, the visit itself included.

    Args:
        weight: the bonus of a first visit; 0 or more.
        exponent: 0.5 in the paper.
        episodic: count within each episode only, so that nothing is remembered.
        key: from an observation to what identifies the state.
    """

    paper = "MBIE-EB, Strehl and Littman, JCSS 2008"

    def __init__(self, weight: float = 1.0, exponent: float = 0.5, episodic: bool = False, key: StateKey = str):
        super().__init__(weight, key)
        self.exponent = check_number("exponent", exponent, low=0.0)
        self.episodic = episodic
        self._visits: dict[str, int] = {}

    def values(self, episode: Episode) -> list[float]:
        paid = super().values(episode)
        if self.episodic:
            self._visits = {}
        return paid

    def at_once(self, step: Step, observation: Any, terminated: bool) -> float | None:
        # Where an episode begins cannot be told from one step.
        return None if self.episodic else super().at_once(step, observation, terminated)

    def visit(self, state: str) -> float:
        self._visits[state] = self._visits.get(state, 0) + 1
        return self.weight / self._visits[state] ** self.exponent


@register("rdd")
class RandomDistillation(_VisitBonus):
    """Distance of a prediction from the mean of a random target that is drawn anew at each visit.

    Each state has a distribution of its own, normal with deviation ``deviation``; the prediction is the mean of the
    draws so far, the best a table can do. After n visits the expected bonus is ``deviation ** 2 / n``: it decays like a
    count, where plain random network distillation stops at whatever error is left. The mean of the distribution
    cancels, so none is kept. A network in place of the table would generalise over states; this one does not.

    Args:
        weight: of the bonus; 0 or more.
        deviation: of the draws.
        dimension: of the target; the bonus averages over it, so that more of it means less noise.
        seed: of the draws, which depend on nothing but the state and the number of the visit.
        key: from an observation to what identifies the state.
    """

    paper = "RDD, arXiv 2505.11044"

    def __init__(
        self, weight: float = 1.0, deviation: float = 1.0, dimension: int = 64, seed: int = 0, key: StateKey = str
    ):
        super().__init__(weight, key)
        self.deviation = check_number("deviation", deviation, low=0.0)
        self.dimension = check_count("dimension", dimension, low=1)
        self.seed = check_count("seed", seed)
        # Of each state: the number of visits and the sum of the draws' deviations from their mean.
        self._visits: dict[str, list[Any]] = {}

    def visit(self, state: str) -> float:
        count, total = self._visits.get(state, (0, [0.0] * self.dimension))
        noise = np.random.default_rng([self.seed, int(state, 16), count]).normal(size=self.dimension)
        summed = np.asarray(total) + self.deviation * noise
        self._visits[state] = [count + 1, summed.tolist()]
        return self.weight * float(np.mean(np.square(summed / (count + 1))))
