"""The three kinds of parameter axis: whole numbers, real numbers, and ordered choices.

An axis maps [0, 1] onto its values (`from_unit`) and back (`to_unit`), from low to high or from the first choice to the
last. ``harder`` says which end is the difficult one. All are frozen, picklable and cheap: environments call them at
each reset.

A numeric axis may be *open*: its ``limits`` are wider than its range. What is drawn, and the unit interval, stay within
the range; what somebody asks for by name (`ask`, `restrict`, a difficulty above 1) may lie anywhere within the limits.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, Literal, cast

import gymnasium as gym
import numpy as np

from ..errors import InputError

Direction = Literal["up", "down"]


def _check_direction(name: str, harder: str) -> None:
    if harder not in ("up", "down"):
        raise InputError(f"axis {name!r}: harder must be 'up' or 'down', not {harder!r}.")


def _checked_limits(axis: IntAxis | FloatAxis) -> tuple[Any, Any]:
    lowest, highest = axis.limits or (axis.low, axis.high)
    if not lowest <= axis.low or not axis.high <= highest or (axis.log and lowest <= 0):
        raise InputError(f"axis {axis.name!r}: limits {axis.limits} must enclose {axis.low} to {axis.high}.")
    return lowest, highest


def _span(axis: IntAxis | FloatAxis) -> str:
    """The values that may be asked for, in words."""
    lowest, highest = axis.limits
    shipped = "" if (lowest, highest) == (axis.low, axis.high) else f" (drawn from {axis.low} to {axis.high})"
    return f"from {lowest} to {highest}{shipped}"


@dataclass(frozen=True)
class IntAxis:
    """Whole numbers from ``low`` to ``high``, both included.

    Args:
        name: the parameter's name.
        low, high: the range.
        harder: "up" when larger is harder.
        log: spread the unit interval over the logarithm of the value; needs low >= 1.
        limits: the widest range that can be asked for; the range itself unless given.
    """

    name: str
    low: int
    high: int
    harder: Direction = "up"
    log: bool = False
    limits: tuple[int, int] = ()  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        if self.low > self.high or (self.log and self.low < 1):
            raise InputError(f"axis {self.name!r}: bad range {self.low} to {self.high} (log={self.log}).")
        object.__setattr__(self, "limits", _checked_limits(self))

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

    def at(self, hardness: float) -> int:
        """The value at a hardness from 0, the easy end of the range, over 1, its hard end, up to the limit."""
        u = hardness if self.harder == "up" else 1.0 - hardness
        if 0.0 <= u <= 1.0 or self.is_constant:
            return self.from_unit(u)
        value = round(_extrapolated(self, u))
        return min(max(value, self.limits[0]), self.limits[1])

    def validate(self, value: Any) -> int:
        """``value`` as an int within the range. Raises InputError naming axis and range."""
        return self._checked(value, self.low, self.high, f"from {self.low} to {self.high}")

    def ask(self, value: Any) -> int:
        """``value`` as an int within the limits. Raises InputError naming axis and limits."""
        return self._checked(value, *self.limits, _span(self))

    def _checked(self, value: Any, lowest: int, highest: int, span: str) -> int:
        whole = isinstance(value, (int, np.integer)) or (
            isinstance(value, (float, np.floating)) and float(value).is_integer()
        )
        if isinstance(value, (bool, np.bool_)) or not whole or not lowest <= value <= highest:
            raise InputError(f"{self.name} must be a whole number {span}, not {value!r}.")
        return int(value)

    def restrict(self, values: Any) -> IntAxis:
        """This axis over ``values``, a pair [low, high] or one value, which may reach to the limits; closed there."""
        low, high = map(self.ask, _pair(self.name, values))
        return replace(self, low=low, high=high, limits=(low, high))

    def extend(self, end: Any) -> IntAxis:
        """This axis with its hard end at ``end``, or over a pair [low, high]; it stays open up to the limits."""
        low, high = map(self.ask, _pair(self.name, end))
        if not isinstance(end, (list, tuple, np.ndarray)):
            low, high = (self.low, high) if self.harder == "up" else (low, self.high)
        return replace(self, low=low, high=high)


@dataclass(frozen=True)
class FloatAxis:
    """Real numbers from ``low`` to ``high``, both included. Arguments as for `IntAxis`; ``log`` needs low > 0."""

    name: str
    low: float
    high: float
    harder: Direction = "up"
    log: bool = False
    limits: tuple[float, float] = ()  # type: ignore[assignment]  # filled in below

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        ordered = math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high
        if not ordered or (self.log and self.low <= 0):
            raise InputError(f"axis {self.name!r}: bad range {self.low} to {self.high} (log={self.log}).")
        object.__setattr__(self, "limits", _checked_limits(self))

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

    def at(self, hardness: float) -> float:
        """The value at a hardness; as for `IntAxis`."""
        u = hardness if self.harder == "up" else 1.0 - hardness
        if 0.0 <= u <= 1.0 or self.is_constant:
            return self.from_unit(u)
        return float(min(max(_extrapolated(self, u), self.limits[0]), self.limits[1]))

    def validate(self, value: Any) -> float:
        """``value`` as a float within the range. Raises InputError naming axis and range."""
        return self._checked(value, self.low, self.high, f"from {self.low} to {self.high}")

    def ask(self, value: Any) -> float:
        """``value`` as a float within the limits. Raises InputError naming axis and limits."""
        return self._checked(value, *self.limits, _span(self))

    def _checked(self, value: Any, lowest: float, highest: float, span: str) -> float:
        number = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))
        if not number or not lowest <= value <= highest:
            raise InputError(f"{self.name} must be a number {span}, not {value!r}.")
        return float(value)

    def restrict(self, values: Any) -> FloatAxis:
        """This axis over ``values``, a pair [low, high] or one value, which may reach to the limits; closed there."""
        low, high = map(self.ask, _pair(self.name, values))
        return replace(self, low=low, high=high, limits=(low, high))

    def extend(self, end: Any) -> FloatAxis:
        """This axis with its hard end at ``end``, or over a pair [low, high]; it stays open up to the limits."""
        low, high = map(self.ask, _pair(self.name, end))
        if not isinstance(end, (list, tuple, np.ndarray)):
            low, high = (self.low, high) if self.harder == "up" else (low, self.high)
        return replace(self, low=low, high=high)


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

    def at(self, hardness: float) -> Any:
        """The choice at a hardness; the hardest one beyond 1."""
        return self.from_unit(hardness if self.harder == "up" else 1.0 - hardness)

    def ask(self, value: Any) -> Any:
        """As `validate`: there are no further choices."""
        return self.validate(value)

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

    def extend(self, end: Any) -> ChoiceAxis:
        """Raises InputError, as a list of choices has no further ones."""
        raise InputError(f"{self.name} cannot be extended to {end!r}: its choices are {list(self.choices)}.")


Axis = IntAxis | FloatAxis | ChoiceAxis


def hardest(axis: Axis) -> float:
    """The hardness at which the axis reaches the hard one of its limits; 1 where it is closed there."""
    if isinstance(axis, ChoiceAxis) or axis.is_constant:
        return 1.0
    lowest, highest = cast(tuple[Any, Any], axis.limits)
    return axis.to_unit(highest) if axis.harder == "up" else 1.0 - axis.to_unit(lowest)


def _extrapolated(axis: IntAxis | FloatAxis, u: float) -> float:
    """The value at ``u`` outside [0, 1], on the line (or exponential) through both ends of the range."""
    if not axis.log:
        return axis.low + u * (axis.high - axis.low)
    # Beyond what a float holds lies beyond every limit.
    exponent = math.log(axis.low) + u * (math.log(axis.high) - math.log(axis.low))
    return math.exp(min(exponent, 700.0))


def _pair(name: str, values: Any) -> tuple[Any, Any]:
    if isinstance(values, (list, tuple, np.ndarray)):
        if len(values) != 2:
            raise InputError(f"the range of {name} must be a pair [low, high] or one value, not {values!r}.")
        return values[0], values[1]
    return values, values
