"""Symbolic work of a worker process: equality of two trees, refuted by numbers or proved by sympy.

Trees come as JSON made by the grammar; they are built with sympy's constructors, and no text is parsed. Sampled numbers
can only refute. An equality that sympy cannot prove remains undecided, however many digits agree.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import sympy
from mpmath import mp
from sympy.core.cache import clear_cache

from .evaluate import DIGITS, UNKNOWN_BASE, Unclear, literal, sample_points, value_or_none
from .proofs import vanishes
from .tree import Num, Scalar, Sym, count_operation, difference, from_json, symbols
from .vocabulary import HYPERBOLIC_AND_CIRCULAR

MAX_BITS = 1 << 17


class TooLarge(Exception):
    """Error for a number that is too large to build."""


def answer_problems(problems: list[list[Any]]) -> list[Any]:
    """Answer each problem, in order. ``["equal", a, b]``, ``["ratio", a, b, positive]`` and ``["sign", a, b]`` give
    True, False or None; ``["value", a]`` gives ``[real, imaginary, error]`` as decimal strings, or None. a and b are
    trees as of `tree.to_json`."""
    replies = []
    for kind, *data in problems:
        try:
            replies.append(_KINDS[kind](*data))
        except (Unclear, TooLarge):
            replies.append(None)
    # Sympy's cache must not make a reply depend on earlier calls.
    clear_cache()
    return replies


def decide_equal(a: list[Any], b: list[Any]) -> bool | None:
    """Decide whether two trees are equal at every real point where both are defined and at least one is a real number.

    If i occurs in the trees, or there are no variables, complex values count as well. None if undecided.
    """
    left, right = from_json(a), from_json(b)
    everything = bool(count_operation(left, "i") or count_operation(right, "i") or not symbols(left) | symbols(right))
    agreed = lonely = 0
    counted: list[dict[str, Any]] = []
    ignored = alike = False
    for point in _points(left, right):
        try:
            first, second = _both(left, right, point)
        except Unclear:
            continue
        if first is None or second is None:
            lonely += first is not second
            continue
        (x, x_error), (y, y_error) = first, second
        with mp.workdps(55):
            differ = abs(x - y) > x_error + y_error
            if not everything and abs(mp.im(x)) > x_error and abs(mp.im(y)) > y_error:
                ignored, alike = ignored or differ, alike or not differ
                continue
            if differ:
                return False
        agreed += 1
        counted.append(point)
    if not agreed and (lonely or ignored or not alike):
        # At each point only one tree has a value, or both are never real and differ.
        return False if lonely or ignored else None
    if ignored:
        return _equal_where_real(left, right, counted)
    if not symbols(left) | symbols(right) and _apart(left, right):
        return False
    return True if vanishes(build_expression(difference(left, right))) else None


def _equal_where_real(left: Scalar, right: Scalar, counted: list[dict[str, Any]]) -> bool | None:
    """Decide equality of trees that are real only for one sign of a variable. The trees must be equal for the sign of
    the variable at the points ``counted``, and provably not real for the other sign."""
    signs = {name: {point[name] > 0 for point in counted} for name in counted[0] if name != UNKNOWN_BASE}
    for name, found in signs.items():
        if len(found) > 1:
            continue
        size = sympy.Symbol(name, positive=True)
        within, beyond = (size, -size) if found.pop() else (-size, size)
        if all(build_expression(tree, {name: beyond}).is_extended_real is False for tree in (left, right)):
            return True if vanishes(build_expression(difference(left, right), {name: within})) else None
    return None


def _apart(left: Scalar, right: Scalar) -> bool:
    """Return True if two numbers that agree in their first digits differ in later ones."""
    point = _points(left, right)[0]
    first, second = (value_or_none(tree, point, DIGITS[1:]) for tree in (left, right))
    if first is None or second is None:
        return False
    with mp.workdps(DIGITS[1][1]):
        return bool(abs(first[0] - second[0]) > first[1] + second[1])


def decide_sign(a: list[Any], b: list[Any]) -> bool | None:
    """Decide whether the first tree is a positive multiple of the second; it must be known to be a real multiple."""
    return decide_ratio(a, b, True, proportional=True)


def decide_ratio(a: list[Any], b: list[Any], positive: bool, proportional: bool = False) -> bool | None:
    """Decide whether the first tree is a nonzero constant multiple of the second, and a positive one if ``positive``.
    ``proportional`` states that the first is a real multiple, so that only the sign is decided. None if undecided."""
    left, right = from_json(a), from_json(b)
    found: tuple[Any, Any] | None = None
    for point in _points(left, right):
        try:
            first, second = _both(left, right, point)
        except Unclear:
            continue
        if first is None or second is None:
            continue
        (x, x_error), (y, y_error) = first, second
        with mp.workdps(55):
            if abs(y) <= y_error or abs(x) <= x_error:
                if abs(y) > y_error or abs(x) > x_error:
                    return False
                continue
            quotient = x / y
            error = 2 * abs(quotient) * (x_error / abs(x) + y_error / abs(y))
            if positive and (mp.re(quotient) < -error or abs(mp.im(quotient)) > error):
                return False
            if found is not None and abs(found[0] - quotient) > found[1] + error:
                return False
            found = quotient, error
    if found is None:
        return None
    if proportional:
        return True if mp.re(found[0]) > found[1] else None
    quotient = sympy.cancel(sympy.expand(build_expression(left)) / sympy.expand(build_expression(right)))
    if quotient.free_symbols:
        quotient = sympy.simplify(quotient)
    return True if not quotient.free_symbols and quotient.is_finite and not quotient.is_zero else None


def evaluate_number(a: list[Any]) -> list[str] | None:
    """Return the real part, the imaginary part and an error bound of a tree without variables, as decimal strings.
    Return None if the tree has no value, or one outside 1e-4000 to 1e4000."""
    found = value_or_none(from_json(a), {UNKNOWN_BASE: next(iter(sample_points([UNKNOWN_BASE])))[UNKNOWN_BASE]})
    if found is None or (found[0] and not -4000 < mp.log10(abs(found[0])) < 4000):
        return None
    number, error = found
    with mp.workdps(60):
        return [str(mp.nstr(part, 58, strip_zeros=False)) for part in (mp.re(number), mp.im(number), error)]


_KINDS: dict[str, Callable[..., Any]] = {
    "equal": decide_equal,
    "ratio": decide_ratio,
    "sign": decide_sign,
    "value": evaluate_number,
}


def _points(left: Scalar, right: Scalar) -> list[dict[str, Any]]:
    names = sorted(symbols(left) | symbols(right) | ({UNKNOWN_BASE} if _open_log(left) or _open_log(right) else set()))
    everywhere = sample_points(
        names, whole=any(count_operation(tree, op) for tree in (left, right) for op in ("floor", "ceil"))
    )
    return everywhere if names else everywhere[:1]


def _open_log(tree: Scalar) -> bool:
    if isinstance(tree, (Num, Sym)):
        return False
    return (tree.op == "log" and len(tree.args) == 1) or any(map(_open_log, tree.args))


def _both(left: Scalar, right: Scalar, point: dict[str, Any]) -> tuple[Any, Any]:
    return value_or_none(left, point), value_or_none(right, point)


def build_expression(tree: Scalar, symbols: Mapping[str, Any] = MappingProxyType({})) -> Any:
    """Build the sympy expression of a tree; ``symbols`` maps names to symbols, other variables are real."""
    if isinstance(tree, Num):
        return sympy.Rational(tree.value.numerator, tree.value.denominator)
    if isinstance(tree, Sym):
        return symbols.get(tree.name) or sympy.Symbol(tree.name, real=True)
    if not tree.args:
        return {"pi": sympy.pi, "e": sympy.E, "i": sympy.I}[tree.op]
    args = [build_expression(arg, symbols) for arg in tree.args]
    if tree.op == "+":
        return sympy.Add(*args)
    if tree.op == "*":
        return sympy.Mul(*args)
    if tree.op in ("^", "root"):
        exponent = literal(tree.args[1])
        if tree.op == "root":
            return _power(args[0], 1 / args[1], 1 / exponent if exponent else None)
        return _power(args[0], args[1], exponent)
    if tree.op == "log":
        base = args[1] if len(args) == 2 else sympy.Symbol(UNKNOWN_BASE, positive=True)
        return sympy.log(args[0]) / sympy.log(base)
    return _FUNCTIONS[tree.op](*args)


def _power(base: Any, exponent: Any, written: Any) -> Any:
    if base.is_Rational and exponent.is_Integer:
        bits = max(int(base.p).bit_length(), int(base.q).bit_length())
        if bits * abs(int(exponent)) > MAX_BITS:
            raise TooLarge
    if written is not None and written.denominator % 2 and written.denominator > 1 and base.is_extended_real:
        if base.is_nonnegative:
            return sympy.Pow(base, exponent)
        size = sympy.Pow(sympy.Abs(base), exponent)
        return size if written.numerator % 2 == 0 else sympy.sign(base) * size
    return sympy.Pow(base, exponent)


def _factorial(n: Any) -> Any:
    if n.is_Integer and n > 2000:
        raise TooLarge
    return sympy.factorial(n)


def _binomial(n: Any, k: Any) -> Any:
    if any(arg.is_number and abs(arg) > 2000 for arg in (n, k)):
        raise TooLarge
    return sympy.binomial(n, k)


_FUNCTIONS: dict[str, Any] = {
    **{name: getattr(sympy, name) for name in HYPERBOLIC_AND_CIRCULAR},
    **{
        f"arc{name}": getattr(sympy, f"a{name}")
        for name in ["sin", "cos", "tan", "cot", "sec", "csc", "sinh", "cosh", "tanh"]
    },
    "ln": sympy.log,
    "abs": sympy.Abs,
    "floor": sympy.floor,
    "ceil": sympy.ceiling,
    "factorial": _factorial,
    "binomial": _binomial,
}
