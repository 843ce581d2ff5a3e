"""Bonuses without networks, made of registered rewards with settings that suit a reward added at every step."""

from __future__ import annotations

from typing import Any

from .... import rewards
from ....rewards import StepReward
from ....teachers.students.tabular import observation_key
from .bonus import BONUSES


@BONUSES.register("potential")
def potential(discount: float) -> tuple[StepReward, str]:
    """Shaping reward discount * potential(next) - potential(here) by the environment's potentials (Ng et al. 1999)."""
    reward = rewards.make("potential", discount=discount, cutoff="keep")
    return _step(reward), "leaves the optimal policies as they are"


@BONUSES.register("subgoals")
def subgoals(discount: float, bonus: float = 0.1) -> tuple[StepReward, str]:
    """Bonus for each subgoal of the environment's planner, when the subgoal is first achieved in an episode."""
    del discount
    reward = rewards.make("subgoals", bonus=bonus)
    return _step(reward), "can change the optimal policies, where a subgoal lies off the shortest way"


@BONUSES.register("count")
def count(discount: float, weight: float = 0.01, exponent: float = 0.5) -> tuple[StepReward, str]:
    """Bonus weight / visits^exponent, with visits to the observation counted over all environments (MBIE-EB, Strehl and
    Littman 2008)."""
    del discount
    reward = rewards.make("count-bonus", weight=weight, exponent=exponent, key=observation_key)
    return _step(reward), "changes the optimal policies until it has faded with the visits"


def _step(reward: Any) -> StepReward:
    assert isinstance(reward, StepReward)
    return reward
