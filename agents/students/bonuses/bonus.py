"""The registry of the rewards that ``palaestra train --bonus`` adds, and what each does to the optimal policies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....errors import InputError
from ....registry import Registry, take_callable
from ....rewards import StepReward
from ...grpo.recipes.recipe import Component


@dataclass(frozen=True)
class Bonus:
    """A bonus of a run.

    Attributes:
        name: name as the user gave it.
        reward: reward to add at each step.
        optimum: effect on the optimal policies, as the end of a sentence.
    """

    name: str
    reward: StepReward
    optimum: str


BONUSES: Registry[Callable[..., tuple[StepReward, str]]] = Registry(
    "bonus", group="palaestra.bonuses", take=take_callable, modules=[str(__package__)]
)
"""``factory(discount, **options) -> (reward, effect on the optimal policies)``."""


def make_bonuses(texts: Sequence[str], discount: float) -> list[Bonus]:
    """Make the bonuses that texts such as "count(weight=0.02)" name; ``discount`` is the student's.

    Raises:
        InputError: no bonus has that name, it does not take an option, or it is given twice.
        MissingExtra: one needs torch, which is absent.
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
    """Describe the effect of a bonus on the optimal policies."""
    return f"The bonus {bonus.name} {bonus.optimum}."
