"""The three kinds of parameter axis: whole numbers, real numbers, and ordered choices.

An axis maps [0, 1] onto its values (`from_unit`) and back (`to_unit`), from low to high or from the first choice to the
last. ``harder`` says which end is the difficult one. All are frozen, picklable and cheap: environments call them at
each reset.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from ..errors import InputError

Direction = Literal["up", "down"]


def _check_direction(name: str, harder: str) -> None:
    if harder not in ("up", "down"):
        raise InputError(f"axis {name!r}: harder must be 'up' or 'down', not {harder!r}.")


@dataclass(frozen=True)
class IntAxis:
    """Whole numbers from ``low`` to ``high``, both included.

    Args:
        name: the parameter's name.
        low, high: the range.
        harder: "up" when larger is harder.
        log: spread the unit interval over the logarithm of the value; needs low >= 1.
    """

    name: str
    low: int
    high: int
    harder: Direction = "up"
    log: bool = False

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        if self.low > self.high or (self.log and self.low < 1):
            raise InputError(f"axis {self.name!r}: bad range {self.low} to {self.high} (log={self.log}).")

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def steps(self) -> int:
        """Number of values that share the range equally; 0 where they do not."""
        return 0 if self.log else self.high - self.low + 1

    @property
    def space(self) -> gym.spaces.Discrete:
        return gym.spaces.Discrete(self.high - self.low + 1, start=self.low)

    def from_unit(self, u: float) -> int:
        u = min(max(u, 0.0), 1.0)
        if self.log:
            value = round(math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low))))
            return min(max(value, self.low), self.high)
        # Equal bins, so that a uniform u gives uniform integers.
        return min(self.low + int(u * (self.high - self.low + 1)), self.high)

    def to_unit(self, value: int) -> float:
        if self.low == self.high:
            return 0.0
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def validate(self, value: Any) -> int:
        whole = isinstance(value, (int, np.integer)) or (
            isinstance(value, (float, np.floating)) and float(value).is_integer()
        )
        if isinstance(value, (bool, np.bool_)) or not whole or not self.low <= value <= self.high:
            raise InputError(f"{self.name} must be a whole number from {self.low} to {self.high}, not {value!r}.")
        return int(value)

    def restrict(self, values: Any) -> IntAxis:
        low, high = _pair(self.name, values)
        return replace(self, low=self.validate(low), high=self.validate(high))


@dataclass(frozen=True)
class FloatAxis:
    """Real numbers from ``low`` to ``high``, both included. Arguments as for `IntAxis`; ``log`` needs low > 0."""

    name: str
    low: float
    high: float
    harder: Direction = "up"
    log: bool = False

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        ordered = math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high
        if not ordered or (self.log and self.low <= 0):
            raise InputError(f"axis {self.name!r}: bad range {self.low} to {self.high} (log={self.log}).")

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def steps(self) -> int:
        """0: the values are not counted."""
        return 0

    @property
    def space(self) -> gym.spaces.Box:
        return gym.spaces.Box(self.low, self.high, (), np.float64)

    def from_unit(self, u: float) -> float:
        u = min(max(u, 0.0), 1.0)
        if self.log:
            value = math.exp(math.log(self.low) + u * (math.log(self.high) - math.log(self.low)))
        else:
            value = self.low + u * (self.high - self.low)
        return float(min(max(value, self.low), self.high))

    def to_unit(self, value: float) -> float:
        if self.low == self.high:
            return 0.0
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def validate(self, value: Any) -> float:
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
        if not number or not self.low <= value <= self.high:
            raise InputError(f"{self.name} must be a number from {self.low} to {self.high}, not {value!r}.")
        return float(value)

    def restrict(self, values: Any) -> FloatAxis:
        low, high = _pair(self.name, values)
        return replace(self, low=self.validate(low), high=self.validate(high))


@dataclass(frozen=True)
class ChoiceAxis:
    """One of several named values, listed from the easiest to the hardest (or back, where ``harder`` is "down").

    Args:
        name: the parameter's name.
        choices: at least one value (str, int or float); kept as a tuple.
        harder: which way along the list is harder.
    """

    name: str
    choices: tuple[Any, ...]
    harder: Direction = "up"

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        object.__setattr__(self, "choices", tuple(self.choices))
        if not self.choices or len(set(self.choices)) < len(self.choices):
            raise InputError(f"axis {self.name!r} needs choices, none of them twice, not {list(self.choices)!r}.")

    @property
    def is_constant(self) -> bool:
        return len(self.choices) == 1

    @property
    def steps(self) -> int:
        """Number of values that share the range equally."""
        return len(self.choices)

    @property
    def space(self) -> gym.spaces.Discrete:
        return gym.spaces.Discrete(len(self.choices))

    def from_unit(self, u: float) -> Any:
        return self.choices[min(int(min(max(u, 0.0), 1.0) * len(self.choices)), len(self.choices) - 1)]

    def to_unit(self, value: Any) -> float:
        return self.choices.index(value) / (len(self.choices) - 1) if len(self.choices) > 1 else 0.0

    def validate(self, value: Any) -> Any:
        for choice in self.choices:
            if type(choice) is type(value) and choice == value:
                return choice
        raise InputError(f"{self.name} must be one of {', '.join(map(repr, self.choices))}, not {value!r}.")

    def restrict(self, values: Any) -> ChoiceAxis:
        wanted = list(values) if isinstance(values, (list, tuple)) else [values]
        kept = [self.validate(value) for value in wanted]
        # The order is the axis', as it carries the direction of difficulty.
        return replace(self, choices=tuple(choice for choice in self.choices if choice in kept))


Axis = IntAxis | FloatAxis | ChoiceAxis


def _pair(name: str, values: Any) -> tuple[Any, Any]:
    if isinstance(values, (list, tuple, np.ndarray)):
        if len(values) != 2:
            raise InputError(f"the range of {name} must be a pair [low, high] or one value, not {values!r}.")
        return values[0], values[1]
    return values, values
