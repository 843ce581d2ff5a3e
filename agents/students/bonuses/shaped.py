"""Bonuses from registered rewards, with settings that suit one that is added at every step: no network is learned."""

from __future__ import annotations

from typing import Any

from .... import rewards
from ....rewards import StepReward
from ....teachers.students.tabular import observation_key
from .bonus import BONUSES


@BONUSES.register("potential")
def potential(discount: float) -> tuple[StepReward, str]:
    """discount x potential(next) - potential(here), from the environment's own potentials (Ng et al. 1999)."""
    reward = rewards.make("potential", discount=discount, cutoff="keep")
    return _step(reward), "leaves the optimal policies as they are"


@BONUSES.register("subgoals")
def subgoals(discount: float, bonus: float = 0.1) -> tuple[StepReward, str]:
    """A bonus for each subgoal that the environment's planner names, when it is first achieved."""
    del discount
    reward = rewards.make("subgoals", bonus=bonus)
    return _step(reward), "can change the optimal policies, where a subgoal lies off the shortest way"


@BONUSES.register("count")
def count(discount: float, weight: float = 0.01, exponent: float = 0.5) -> tuple[StepReward, str]:
    """weight / visits^exponent of the observation, over all environments (MBIE-EB, Strehl and Littman 2008)."""
    del discount
    reward = rewards.make("count-bonus", weight=weight, exponent=exponent, key=observation_key)
    return _step(reward), "changes the optimal policies until it has faded with the visits"


def _step(reward: Any) -> StepReward:
    assert isinstance(reward, StepReward)
    return reward
