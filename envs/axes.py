"""The three kinds of parameter axis: whole numbers, real numbers, and ordered choices.

An axis maps [0, 1] onto its values (`from_unit`) and back (`to_unit`), from low to high or from the first choice to the
last. ``harder`` names the end at which tasks are harder. Axes are frozen, picklable and cheap, since environments use
them at every reset.

A numeric axis may be *open*: its ``limits`` are wider than its range. Random values, and the unit interval, stay within
the range. Values requested explicitly (`ask`, `restrict`, a difficulty above 1) may lie anywhere within the limits.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, Self

import gymnasium as gym
import numpy as np

from ..errors import InputError

Direction = Literal["up", "down"]


def _check_direction(name: str, harder: str) -> None:
    if harder not in ("up", "down"):
        raise InputError(f"axis {name!r}: harder must be 'up' or 'down', not {harder!r}.")


@dataclass(frozen=True)
class NumericAxis:
    """Base of `IntAxis` and `FloatAxis`; see `IntAxis` for the arguments."""

    name: str
    low: Any
    high: Any
    harder: Direction = "up"
    log: bool = False
    limits: tuple[Any, Any] = ()  # type: ignore[assignment]  # filled in below

    # What a value must be, for error messages.
    _kind: ClassVar[str]

    def __post_init__(self) -> None:
        _check_direction(self.name, self.harder)
        ordered = math.isfinite(self.low) and math.isfinite(self.high) and self.low <= self.high
        if not ordered or (self.log and self.low <= 0):
            raise InputError(f"axis {self.name!r}: bad range {self.low} to {self.high} (log={self.log}).")
        lowest, highest = self.limits or (self.low, self.high)
        if not lowest <= self.low or not self.high <= highest or (self.log and lowest <= 0):
            raise InputError(f"axis {self.name!r}: limits {self.limits} must enclose {self.low} to {self.high}.")
        object.__setattr__(self, "limits", (lowest, highest))

    @property
    def is_constant(self) -> bool:
        return self.low == self.high

    @property
    def hardest(self) -> float:
        """Difficulty at which the axis reaches its hard limit: 1, or more if the axis is open at the hard end."""
        if self.is_constant:
            return 1.0
        lowest, highest = self.limits
        return self.to_unit(highest) if self.harder == "up" else 1.0 - self.to_unit(lowest)

    def from_unit(self, u: float) -> Any:
        raise NotImplementedError

    def to_unit(self, value: float) -> float:
        if self.low == self.high:
            return 0.0
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def at(self, hardness: float) -> Any:
        """Return the value at a difficulty: 0 gives the easy end of the range, 1 the hard end. Above 1 the values
        continue beyond the hard end up to the limit."""
        u = hardness if self.harder == "up" else 1.0 - hardness
        if 0.0 <= u <= 1.0 or self.is_constant:
            return self.from_unit(u)
        # Extrapolate linearly (exponentially on a log axis); cap the exponent at 700 to stay within floats.
        value = self.low + u * (self.high - self.low)
        if self.log:
            value = math.exp(min(math.log(self.low) + u * math.log(self.high / self.low), 700.0))
        return min(max(self._round(value), self.limits[0]), self.limits[1])

    def validate(self, value: Any) -> Any:
        """Return ``value`` as a plain number within the range. Raise InputError, naming axis and range, otherwise."""
        return self._check_between(value, self.low, self.high, f"from {self.low} to {self.high}")

    def ask(self, value: Any) -> Any:
        """Return ``value`` as a plain number within the limits. Raise InputError, naming axis and limits, otherwise."""
        lowest, highest = self.limits
        shipped = "" if (lowest, highest) == (self.low, self.high) else f" (drawn from {self.low} to {self.high})"
        return self._check_between(value, lowest, highest, f"from {lowest} to {highest}{shipped}")

    def restrict(self, values: Any) -> Self:
        """Return a copy whose range and limits are ``values``: a pair [low, high], or one value to fix the axis. Raise
        InputError if a value is beyond the present limits."""
        low, high = map(self.ask, _as_pair(self.name, values))
        return replace(self, low=low, high=high, limits=(low, high))

    def extend(self, end: Any) -> Self:
        """Return a copy with a new range and the same limits: ``end`` is the new hard end, or a pair [low, high]."""
        low, high = map(self.ask, _as_pair(self.name, end))
        if not isinstance(end, (list, tuple, np.ndarray)):
            low, high = (self.low, high) if self.harder == "up" else (low, self.high)
        return replace(self, low=low, high=high)

    def _check_between(self, value: Any, lowest: float, highest: float, span: str) -> Any:
        if isinstance(value, (bool, np.bool_)) or not self._is_number(value) or not lowest <= value <= highest:
            if lowest == highest:
                raise InputError(f"{self.name} is fixed to {lowest} here, so that it cannot be {value!r}.")
            raise InputError(f"{self.name} must be {self._kind} {span}, not {value!r}.")
        return self._to_number(value)

    def _is_number(self, value: Any) -> bool:
        """Return True if ``value`` is a number of this kind."""
        return isinstance(value, (int, float, np.integer, np.floating))

    def _to_number(self, value: Any) -> Any:
        """Convert to a plain int or float."""
        raise NotImplementedError

    def _round(self, value: float) -> Any:
        """Return the nearest number of this kind."""
        raise NotImplementedError


@dataclass(frozen=True)
class IntAxis(NumericAxis):
    """Whole numbers from ``low`` to ``high``, both included.

    Args:
        name: the parameter's name.
        low, high: the range.
        harder: "up" when larger is harder.
        log: spread the unit interval over the logarithm of the value; needs low >= 1.
        limits: the widest range that may be requested; defaults to the range itself.
    """

    low: int
    high: int
    limits: tuple[int, int] = ()  # type: ignore[assignment]  # filled in by the base
    _kind = "a whole number"

    @property
    def steps(self) -> int:
        """Number of values that share the unit interval equally; 0 on a log axis, where they do not."""
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

    def _is_number(self, value: Any) -> bool:
        return isinstance(value, (int, np.integer)) or (
            isinstance(value, (float, np.floating)) and float(value).is_integer()
        )

    def _to_number(self, value: Any) -> int:
        return int(value)

    def _round(self, value: float) -> int:
        return round(value)


@dataclass(frozen=True)
class FloatAxis(NumericAxis):
    """Real numbers from ``low`` to ``high``, both included. Arguments as for `IntAxis`; ``log`` needs low > 0."""

    low: float
    high: float
    limits: tuple[float, float] = ()  # type: ignore[assignment]  # filled in by the base
    _kind = "a number"

    @property
    def steps(self) -> int:
        """Number of values that share the unit interval equally: always 0, as real numbers cannot be counted."""
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

    def _to_number(self, value: Any) -> float:
        return float(value)

    def _round(self, value: float) -> float:
        return float(value)


@dataclass(frozen=True)
class ChoiceAxis:
    """One of several named values, listed from the easiest to the hardest (or the reverse if ``harder`` is "down").

    Args:
        name: the parameter's name.
        choices: at least one value (str, int or float); kept as a tuple.
        harder: the direction along the list in which tasks get harder. None: no choice is harder than another, and a
            difficulty does not set the axis; the choice is drawn.
        chances: choice -> probability that a guess is right under that choice, where known; for teachers.
    """

    name: str
    choices: tuple[Any, ...]
    harder: Direction | None = "up"
    chances: Mapping[Any, float] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        if self.harder is not None:
            _check_direction(self.name, self.harder)
        object.__setattr__(self, "choices", tuple(self.choices))
        if not self.choices or len(set(self.choices)) < len(self.choices):
            raise InputError(f"axis {self.name!r} needs choices, none of them twice, not {list(self.choices)!r}.")

    @property
    def is_constant(self) -> bool:
        return len(self.choices) == 1

    @property
    def steps(self) -> int:
        """Number of choices."""
        return len(self.choices)

    @property
    def space(self) -> gym.spaces.Discrete:
        return gym.spaces.Discrete(len(self.choices))

    def from_unit(self, u: float) -> Any:
        return self.choices[min(int(min(max(u, 0.0), 1.0) * len(self.choices)), len(self.choices) - 1)]

    def to_unit(self, value: Any) -> float:
        return self.choices.index(value) / (len(self.choices) - 1) if len(self.choices) > 1 else 0.0

    @property
    def hardest(self) -> float:
        """Difficulty of the hardest choice: always 1, as there are no choices beyond the list."""
        return 1.0

    def at(self, hardness: float) -> Any:
        """Return the choice at a difficulty; above 1, the hardest choice."""
        return self.from_unit(hardness if self.harder == "up" else 1.0 - hardness)

    def ask(self, value: Any) -> Any:
        """Return ``value`` if it is one of the choices, as `validate` does: there are no choices beyond the list."""
        return self.validate(value)

    def validate(self, value: Any) -> Any:
        for choice in self.choices:
            if type(choice) is type(value) and choice == value:
                return choice
        if len(self.choices) == 1:
            raise InputError(f"{self.name} is fixed to {self.choices[0]!r} here, so that it cannot be {value!r}.")
        raise InputError(f"{self.name} must be one of {', '.join(map(repr, self.choices))}, not {value!r}.")

    def restrict(self, values: Any) -> ChoiceAxis:
        wanted = list(values) if isinstance(values, (list, tuple)) else [values]
        kept = [self.validate(value) for value in wanted]
        # Keep the order of the axis, which carries the direction of difficulty.
        return replace(self, choices=tuple(choice for choice in self.choices if choice in kept))

    def extend(self, end: Any) -> ChoiceAxis:
        """Raise InputError: a list of choices cannot be extended."""
        raise InputError(f"{self.name} cannot be extended to {end!r}: its choices are {list(self.choices)}.")


Axis = IntAxis | FloatAxis | ChoiceAxis


def _as_pair(name: str, values: Any) -> tuple[Any, Any]:
    if isinstance(values, (list, tuple, np.ndarray)):
        if len(values) != 2:
            raise InputError(f"the range of {name} must be a pair [low, high] or one value, not {values!r}.")
        return values[0], values[1]
    return values, values
