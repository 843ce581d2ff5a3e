"""The rewards that ``palaestra train --bonus`` adds for students, and what each does to the optimal policies.

Each is a registered reward with settings that suit one that is added at every step; `RewardWrapper` adds it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import rewards
from ...errors import InputError
from ...registry import Registry
from ...rewards import StepReward
from ...teachers.students.tabular import observation_key
from ..grpo.recipes.recipe import Component


@dataclass(frozen=True)
class Bonus:
    """A bonus of a run.

    Attributes:
        name: as the user gave it.
        reward: what is added at each step.
        optimum: what it does to the optimal policies, as the end of a sentence.
    """

    name: str
    reward: StepReward
    optimum: str


BONUSES: Registry[Callable[..., tuple[StepReward, str]]] = Registry("bonus", group="palaestra.bonuses")
"""``factory(discount, **options) -> (reward, effect on the optimal policies)``."""


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
    """weight / visits^exponent of what is observed, over all environments (MBIE-EB, Strehl and Littman 2008)."""
    del discount
    reward = rewards.make("count-bonus", weight=weight, exponent=exponent, key=observation_key)
    return _step(reward), "changes the optimal policies until it has faded with the visits"


def make_bonuses(texts: Sequence[str], discount: float) -> list[Bonus]:
    """Make the bonuses that texts such as "count(weight=0.02)" name; ``discount`` is the student's.

    Raises:
        InputError: no bonus has that name, it does not take an option, or it is given twice.
    """
    found = []
    for text in texts:
        component = Component.parse(text)
        reward, optimum = BONUSES.make(component.name, discount, **component.params)
        if any(reward.name == other.reward.name for other in found):
            raise InputError(f"the bonus {component.name!r} is given twice; give it once.")
        found.append(Bonus(text, reward, optimum))
    return found


def describe_bonus(bonus: Bonus) -> str:
    """Say what a bonus does to the optimal policies."""
    return f"The bonus {bonus.name} {bonus.optimum}."


def _step(reward: Any) -> StepReward:
    assert isinstance(reward, StepReward)
    return reward
