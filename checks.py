"""Checks of arguments, one vocabulary for all packages: each returns its value, or raises one sentence with the remedy.

Constructors call them at the door; what is inside may then trust its fields.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from typing import Any, TypeVar

import numpy as np

from .errors import InputError, unknown_name

T = TypeVar("T")


def check_number(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, above: float = -math.inf
) -> float:
    """Return ``value`` as a float if it is a finite number in [low, high] and greater than ``above``.

    Raises:
        InputError: it is not.
    """
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        number = float(value) if known else math.nan
    except OverflowError:
        raise InputError(f"{name} must be a finite number, not a whole number beyond every float.") from None
    if math.isfinite(number) and low <= number <= high and number > above:
        return number
    raise InputError(f"{name} must be {_describe_range(low, high, above)}, not {value!r}.")


def _describe_range(low: float, high: float, above: float) -> str:
    if math.isfinite(above):
        return f"a finite number above {above:g}" + ("" if math.isinf(high) else f" and at most {high:g}")
    if math.isinf(low) and math.isinf(high):
        return "a finite number"
    if math.isinf(high):
        return f"a finite number of at least {low:g}"
    if math.isinf(low):
        return f"a finite number of at most {high:g}"
    return f"a number in [{low:g}, {high:g}]"


def check_share(name: str, value: Any, *, positive: bool = False) -> float:
    """Return ``value`` as a float if it lies in [0, 1], or in (0, 1] where it must be positive.

    Raises:
        InputError: it does not.
    """
    return check_number(name, value, high=1.0, above=0.0) if positive else check_number(name, value, 0.0, 1.0)


def check_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return ``values`` as floats if each is a finite number.

    Raises:
        InputError: it is no sequence of numbers, or one of them is not finite.
    """
    try:
        numbers = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a sequence of numbers, not {values!r}.") from error
    if not all(map(math.isfinite, numbers)):
        worst = next(number for number in numbers if not math.isfinite(number))
        raise InputError(f"{name} is {worst}; drop failed episodes instead of passing a number that is not finite.")
    return numbers


def check_count(name: str, value: Any, low: int = 0, unit: str = "") -> int:
    """Return ``value`` as an int if it is a whole number of at least ``low``.

    Raises:
        InputError: it is not.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and value >= low:
        return int(value)
    raise InputError(f"{name} must be a whole number of at least {low}{unit and f' ({unit})'}, not {value!r}.")


def check_choice(name: str, value: T, choices: Iterable[T]) -> T:
    """Return ``value`` if it is one of ``choices``.

    Raises:
        InputError: it is not; the message names the nearest.
    """
    known: Collection[T] = tuple(choices)
    if value in known:
        return value
    raise unknown_name(f"{name}:", str(value), map(str, known))
