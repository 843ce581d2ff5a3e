"""Checks of constructor arguments: each returns its value, or raises one sentence that says what would be right."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

from .errors import InputError, unknown_name


def checked_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf) -> float:
    """``value`` as a float, if it is a finite number in [low, high].

    Raises:
        InputError: it is not.
    """
    try:
        number = float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else math.nan
    except OverflowError:
        raise InputError(f"{name} must be a finite number, not a whole number beyond every float.") from None
    if math.isfinite(number) and low <= number <= high:
        return number
    if math.isinf(low) and math.isinf(high):
        wanted = "a finite number"
    elif math.isinf(high):
        wanted = f"a finite number of at least {low:g}"
    elif math.isinf(low):
        wanted = f"a finite number of at most {high:g}"
    else:
        wanted = f"a number in [{low:g}, {high:g}]"
    raise InputError(f"{name} must be {wanted}, not {value!r}.")


def checked_count(name: str, value: Any, low: int = 0, unit: str = "") -> int:
    """``value``, if it is a whole number of at least ``low``.

    Raises:
        InputError: it is not.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise InputError(f"{name} must be a whole number of at least {low}{unit and f' ({unit})'}, not {value!r}.")


def checked_choice(name: str, value: Any, choices: Collection[str]) -> str:
    """``value``, if it is one of ``choices``.

    Raises:
        InputError: it is not; the message names the nearest.
    """
    if isinstance(value, str) and value in choices:
        return value
    raise unknown_name(f"{name}:", str(value), choices)
