"""Numerical values of trees, in a worker: principal values at given points, confirmed at a second precision.

Variables stand for real numbers. A root of odd degree of a real number, and a power with a literal exponent p/q with
odd q, is the real one (the cube root of -8 is -2); everything else takes its principal value.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeAlias

from mpmath import mp
from mpmath.libmp import NoConvergence

from .tree import Apply, Num, Scalar, Sym

# Pairs of decimal precisions that must agree; the second pair is for trees that lose digits in between.
Precisions: TypeAlias = "tuple[tuple[int, int], ...]"
DIGITS: Precisions = ((30, 55), (400, 450))
# Largest size of a computed value, as a natural logarithm.
MAX_LOG = 10**6
MAX_PHASE = 10**4
UNKNOWN_BASE = "\\log"


class Undefined(ArithmeticError):
    """Error for a tree without a value at a point: a pole, or an argument outside the domain."""


class Unclear(ArithmeticError):
    """Error for a value that is too large to compute, or that depends on digits beyond the precision, such as the floor
    of a number that may be whole."""


def literal(tree: Scalar, point: Mapping[str, Fraction] | None = None) -> Fraction | None:
    """Return the exact value of a tree of numbers, sums, products and inverses; None for any other tree. Trees with
    variables are evaluated at ``point``; without a point they give None."""
    if isinstance(tree, Num):
        return tree.value
    if isinstance(tree, Sym):
        return point[tree.name] if point else None
    if tree.op not in ("+", "*", "^"):
        return None
    values = [literal(arg, point) for arg in tree.args]
    known = [value for value in values if value is not None]
    if len(known) < len(values):
        return None
    if tree.op == "+":
        return sum(known, Fraction(0))
    if tree.op == "^":
        return 1 / known[0] if known[1] == -1 and known[0] else None
    result = Fraction(1)
    for value in known:
        result *= value
    return result


def approximate(tree: Scalar, point: Mapping[str, Fraction], precisions: Precisions = DIGITS) -> tuple[Any, Any]:
    """Return the value of a tree at a point and a bound on its error, estimated from two precisions.

    Raises:
        Undefined: the tree has no value there.
        Unclear: the precisions do not agree; more digits may show a value.
    """
    number = literal(tree)
    for low, high in precisions:
        values, summands = [], [mp.mpf(0)]
        for digits in (low, high):
            with mp.workdps(digits):
                values.append(_value(tree, point, summands))
        with mp.workdps(high):
            lost = abs(values[1] - values[0])
            value, last = abs(values[1]), mp.mpf(10) ** (5 - high)
            if number is not None:
                return values[1], value * last
            # In a sum of much larger numbers both precisions may lose the same digits.
            largest = max(summands)
            doubt = max(lost, largest * mp.mpf(10) ** -low)
            # A small value has as many correct digits as a large one, unless it may be rounding error alone.
            for size in (value, max(value, 1)):
                if size and doubt <= size * mp.mpf(10) ** -8:
                    return values[1], max(1000 * lost * mp.mpf(10) ** (low - high), max(size, largest) * last)
    with mp.workdps(high):
        if abs(values[1]) > abs(values[0]) * mp.mpf(10) ** 10:
            # The value grows with the precision: a pole.
            raise Undefined
    raise Unclear


def _value(tree: Scalar, point: Mapping[str, Fraction], summands: list[Any]) -> Any:
    """Evaluate a tree in the working precision. The sizes of all summands are appended to ``summands``."""
    if isinstance(tree, Num):
        return mp.mpf(tree.value.numerator) / tree.value.denominator
    if isinstance(tree, Sym):
        value = point[tree.name]
        return mp.mpf(value.numerator) / value.denominator
    op = tree.op
    if not tree.args:
        return {"pi": mp.pi, "e": mp.e, "i": mp.mpc(0, 1)}[op] * 1
    if op in ("^", "root"):
        exponent = literal(tree.args[1])
        if op == "root" and exponent is not None:
            exponent = 1 / exponent if exponent else None
        return _power(_value(tree.args[0], point, summands), exponent, tree, point, summands)
    if op in ("floor", "ceil") and (exact := literal(tree.args[0], point)) is not None:
        return mp.mpf(ceil(exact) if op == "ceil" else floor(exact))
    args = [_value(arg, point, summands) for arg in tree.args]
    if op == "+":
        summands += map(abs, args)
        return mp.fsum(args) if all(isinstance(arg, mp.mpf) for arg in args) else sum(args[1:], args[0])
    if op == "*":
        result = args[0]
        for arg in args[1:]:
            result = result * arg
        return result
    if op == "log":
        if len(args) == 1:
            args.append(_value(Sym(UNKNOWN_BASE), point, summands))
        return _log(args[0]) / _nonzero(_log(args[1]))
    if op == "binomial":
        if max(abs(arg) for arg in args) > 10**4:
            raise Unclear
        return mp.binomial(*args)
    return _FUNCTIONS[op](args[0])


def _power(
    base: Any, exponent: Fraction | None, tree: Apply, point: Mapping[str, Fraction], summands: list[Any]
) -> Any:
    if exponent is None:
        power = _value(tree.args[1], point, summands)
        if tree.op == "root":
            power = 1 / _nonzero(power)
    else:
        power = mp.mpf(exponent.numerator) / exponent.denominator
    if base == 0:
        if mp.re(power) <= 0:
            raise Undefined
        return base
    if exponent is not None and exponent.denominator == 1 and abs(exponent) * max(abs(mp.mag(base)), 1) < MAX_LOG:
        return base ** int(exponent)
    logarithm = power * mp.log(base)
    # Size, and the turns of the phase, which take as many digits as they have.
    if abs(mp.re(logarithm)) > MAX_LOG or abs(mp.im(logarithm)) > mp.mpf(10) ** MAX_PHASE:
        raise Unclear
    if exponent is not None and exponent.denominator == 1 and abs(exponent) < MAX_LOG:
        return base ** int(exponent)
    if exponent is not None and exponent.denominator % 2 and mp.im(base) == 0 and mp.re(base) < 0:
        return (-1) ** exponent.numerator * (-mp.re(base)) ** power
    return mp.power(base, power)


def _nonzero(value: Any) -> Any:
    if abs(value) < mp.mpf(10) ** (5 - mp.dps):
        raise Undefined
    return value


def _log(value: Any) -> Any:
    if value == 0:
        raise Undefined
    return mp.log(value)


def _whole(value: Any, up: bool) -> Any:
    if abs(mp.im(value)) > mp.mpf(10) ** (10 - mp.dps):
        raise Undefined
    value = mp.re(value)
    if abs(value) > 10**12:
        raise Unclear
    if abs(value - mp.nint(value)) < mp.mpf(10) ** (-mp.dps // 2):
        raise Unclear
    return mp.ceil(value) if up else mp.floor(value)


def _factorial(value: Any) -> Any:
    if abs(value) > 10**4:
        raise Unclear
    return mp.gamma(value + 1)


def _small(value: Any) -> Any:
    if abs(value) > MAX_LOG:
        raise Unclear
    return value


_FUNCTIONS: dict[str, Any] = {
    "ln": _log,
    "sin": mp.sin,
    "cos": mp.cos,
    "tan": lambda x: mp.sin(x) / _nonzero(mp.cos(x)),
    "cot": lambda x: mp.cos(x) / _nonzero(mp.sin(x)),
    "sec": lambda x: 1 / _nonzero(mp.cos(x)),
    "csc": lambda x: 1 / _nonzero(mp.sin(x)),
    "sinh": lambda x: mp.sinh(_small(x)),
    "cosh": lambda x: mp.cosh(_small(x)),
    "tanh": lambda x: mp.tanh(_small(x)),
    "arcsin": mp.asin,
    "arccos": mp.acos,
    "arctan": mp.atan,
    "arccot": lambda x: mp.atan(1 / _nonzero(x)),
    "arcsec": lambda x: mp.acos(1 / _nonzero(x)),
    "arccsc": lambda x: mp.asin(1 / _nonzero(x)),
    "arcsinh": mp.asinh,
    "arccosh": mp.acosh,
    "arctanh": mp.atanh,
    "abs": abs,
    "floor": lambda x: _whole(x, up=False),
    "ceil": lambda x: _whole(x, up=True),
    "factorial": _factorial,
}


def value_or_none(
    tree: Scalar, point: Mapping[str, Fraction], precisions: Precisions = DIGITS
) -> tuple[Any, Any] | None:
    """Return the result of `approximate`, or None if the tree has no value. `Unclear` is raised."""
    try:
        value, error = approximate(tree, point, precisions)
    except Unclear:
        raise
    except (ArithmeticError, ValueError, NoConvergence):
        return None
    return (value, error) if mp.isfinite(value) else None


_NEAR = ((1, 1), (1, 1), (1, 1), (1, -1), (1, 0), (1, 0), (1, 0), (1, 0))
_FAR = ((10, 1), (100, -1), (300, 1), (10, -1))
_REGIONS = (*_NEAR, *_FAR)
_WHOLE = (4, -7)
"""First coordinates of the points with whole coordinates. `_REGIONS`: (scale, sign) of a point, sign 0 for mixed."""


def sample_points(names: list[str], whole: bool = False) -> list[dict[str, Fraction]]:
    """List the fixed points at which expressions in these variables are compared; they satisfy no small relations.

    Eight are near zero: three with all variables positive, one with all negative, four of mixed sign. Four are far from
    zero, two on either side, for expressions such as ``|x - 10|`` that change only there. ``whole`` adds two points
    with whole coordinates.
    """
    state, rows = 20_011, []
    for scale, sign in _REGIONS:
        point = {}
        for name in names:
            # A linear congruential generator gives the same points for the same names in every call.
            state = (1_103_515_245 * state + 12_345) % 2**31
            size = scale * (Fraction(state >> 8, 2**21) + Fraction(1, 7))
            negative = sign < 0 or (not sign and state >> 20 & 1)
            point[name] = size + 1 if name == UNKNOWN_BASE else -size if negative else size
        rows.append(point)
    if whole:
        rows += [{name: Fraction(start + 3 * k) for k, name in enumerate(names)} for start in _WHOLE]
    return rows
