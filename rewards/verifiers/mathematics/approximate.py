r"""Choice of the side of ≈ that counts, as in ``\frac{\pi}{4} \approx 0.785`` or ``x \approx 5``."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from .tree import Malformed, Num, Relation, Scalar, Sym, Value, ValueGroup, is_scalar

# Largest difference of the two sides of ≈, relative to the larger side.
NEAR = 0.02
_FUNCTIONS: dict[str, Callable[[float], float]] = {
    **{name: getattr(math, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "floor", "ceil")},
    **{"ln": math.log, "arcsin": math.asin, "arccos": math.acos, "arctan": math.atan, "abs": abs},
}
_CONSTANTS = {"pi": math.pi, "e": math.e}


def is_approximate(value: Value) -> bool:
    """Return True if a value contains the sign ≈."""
    if isinstance(value, ValueGroup):
        return any(map(is_approximate, value.items))
    return isinstance(value, Relation) and "≈" in value.operators


def without_approximation(value: Value, allowed: bool) -> Value:
    """Return a value without ≈: the exact side before it, or, after a name or at the start, the number after it.

    Args:
        value: any value.
        allowed: accept a number that is only stated as approximate.

    Raises:
        Malformed: a number stated as approximate that is not allowed, or two sides of ≈ that are not near each other.
    """
    if isinstance(value, ValueGroup):
        return ValueGroup(value.kind, tuple(without_approximation(item, allowed) for item in value.items))
    if not isinstance(value, Relation) or "≈" not in value.operators:
        return value
    at = value.operators.index("≈")
    for a, b in pairwise(value.sides[at:]):
        if a == b or not near(a, b):
            raise Malformed("The two sides of ≈ must be near each other and not the same.")
    if at or not isinstance(value.sides[0], Sym):
        return Relation(value.operators[:at], value.sides[: at + 1]) if at else value.sides[0]
    if not allowed:
        raise Malformed("An approximate value is no answer.")
    # "x ≈ pi/4 ≈ 0.785" becomes x = pi/4; "≈ 5" has the empty name.
    return Relation(("=",), value.sides[:2]) if value.sides[0].name else value.sides[1]


def near(a: Value, b: Value, share: float = NEAR) -> bool:
    """Return False for real numbers that differ by more than ``share`` of the larger, True for all other values."""
    first, second = roughly(a), roughly(b)
    if first is None or second is None:
        return True
    return abs(first - second) <= share * max(abs(first), abs(second))


def roughly(value: Value) -> float | None:
    """Return the value of a real number in floating point; None for any other value."""
    if not is_scalar(value):
        return None
    try:
        number = _float(value)  # type: ignore[arg-type]
    except (ArithmeticError, ValueError, RecursionError):
        return None
    return number if number is not None and math.isfinite(number) else None


def _float(value: Scalar) -> float | None:
    if isinstance(value, Num):
        return float(value.value)
    if isinstance(value, Sym):
        return None
    if not value.args:
        return _CONSTANTS.get(value.op)
    args = [_float(arg) for arg in value.args]
    known = [arg for arg in args if arg is not None]
    if len(known) < len(args):
        return None
    if value.op == "+":
        return math.fsum(known)
    if value.op == "*":
        return math.prod(known)
    if value.op in ("^", "root") and known[0] > 0:
        return known[0] ** (known[1] if value.op == "^" else 1 / known[1])
    if value.op == "^" and known[1].is_integer():
        return known[0] ** known[1]
    if value.op == "log" and len(known) == 2:
        return math.log(known[0]) / math.log(known[1])
    return _FUNCTIONS[value.op](known[0]) if value.op in _FUNCTIONS and len(known) == 1 else None
