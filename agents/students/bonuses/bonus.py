"""Registry of the bonuses of ``palaestra train --bonus``, with the effect of each on the optimal policies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

from ....checks import declared, declared_options, option
from ....errors import InputError
from ....registry import Registry, take_callable
from ....rewards import StepReward
from ...grpo.recipes.recipe import Component

R = TypeVar("R", bound=type[StepReward])


@dataclass(frozen=True)
class Bonus:
    """Bonus of a run.

    Attributes:
        name: the user's text, such as "count(weight=0.02)".
        reward: reward to add at each step.
        optimum: effect on the optimal policies, as the predicate of the sentence "The bonus changes ...".
    """

    name: str
    reward: StepReward
    optimum: str


BONUSES: Registry[Callable[..., Any]] = Registry(
    "bonus", group="palaestra.bonuses", take=take_callable, modules=[str(__package__)]
)
"""Name -> ``factory(discount, **options) -> (reward, effect on the optimal policies)``, or a class (see `register`)."""


@dataclass_transform(eq_default=False, field_specifiers=(option,))
def register(name: str) -> Callable[[R], R]:
    """Return a class decorator that declares the options of a reward (see `checks.declared`) and registers the class.

    The class must have an attribute ``optimum``, the effect on the optimal policies. If it has an option ``discount``,
    this is set to the student's discount.
    """

    def add(cls: R) -> R:
        cls.name = name
        return BONUSES.register(name)(declared(cls))

    return add


def make_bonuses(texts: Sequence[str], discount: float) -> list[Bonus]:
    """Make bonuses from texts such as "count(weight=0.02)"; ``discount`` is the student's.

    Raises:
        InputError: no bonus has a given name, a bonus does not take an option, or a bonus is given twice.
        MissingExtra: a bonus needs torch, which is not installed.
    """
    found = []
    for text in texts:
        component = Component.parse(text)
        reward, optimum = _make_bonus(component.name, discount, component.params)
        if any(reward.name == other.reward.name for other in found):
            raise InputError(f"the bonus {component.name!r} is given twice; give it once.")
        found.append(Bonus(text, reward, optimum))
    return found


def _make_bonus(name: str, discount: float, options: Mapping[str, Any]) -> tuple[StepReward, str]:
    kind = BONUSES[name]
    if not isinstance(kind, type):
        return BONUSES.make(name, discount, **options)
    if "discount" in options:
        raise InputError(f"the bonus {name!r} takes the discount of the student; set --discount.")
    own = {"discount": discount} if "discount" in declared_options(kind) else {}
    reward = BONUSES.make(name, **options, **own)
    return reward, reward.optimum


def describe_bonus(bonus: Bonus) -> str:
    """Return a sentence on the effect of a bonus on the optimal policies."""
    return f"The bonus {bonus.name} {bonus.optimum}."
