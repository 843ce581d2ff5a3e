"""Binary and unary operators, with their costs on sequences and large numbers."""

from __future__ import annotations

import ast
import collections
import operator
from collections.abc import Callable
from typing import Any

from .formatting import format_percent
from .meter import MAPPINGS, SMALL, Meter, extra_words, size, walk
from .values import refuse

Binary = Callable[[Meter, Any, Any], Any]
_SEQUENCES = frozenset({str, list, tuple, collections.deque})


def _charge_both(meter: Meter, left: Any, right: Any) -> None:
    """Charge for an operator whose work grows with both operands: by words for numbers, by length for other values."""
    if type(left) is int and type(right) is int:
        meter.charge(max(extra_words(left), extra_words(right)))
    else:
        meter.charge(size(left) + size(right))


def add(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        result = left + right
        if -SMALL < left < SMALL and -SMALL < result < SMALL:
            return result
    _charge_both(meter, left, right)
    return left + right


def _subtract(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        result = left - right
        if -SMALL < left < SMALL and -SMALL < result < SMALL:
            return result
    _charge_both(meter, left, right)
    return left - right


def multiply(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        if -SMALL < left < SMALL and -SMALL < right < SMALL:
            return left * right
        meter.charge((extra_words(left) + 1) * (extra_words(right) + 1))
    for items, count in ((left, right), (right, left)):
        if type(items) in _SEQUENCES and isinstance(count, int):
            meter.charge(size(items) * max(count, 0))
    return left * right


def _charge_division(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if isinstance(left, int) and not -SMALL < left < SMALL and isinstance(right, int):
            meter.charge((extra_words(left) + 1) * (extra_words(right) + 1))
        return apply(left, right)

    return run


floor_divide, _true_divide, _remainder = map(_charge_division, (operator.floordiv, operator.truediv, operator.mod))


def modulo(meter: Meter, left: Any, right: Any) -> Any:
    return format_percent(meter, left, right) if type(left) is str else _remainder(meter, left, right)


def power(meter: Meter, base: Any, exp: Any, mod: Any = None) -> Any:
    """Return ``pow(base, exp, mod)``, and charge for it."""
    if isinstance(base, int) and isinstance(exp, int):
        meter.charge(exp.bit_length())
        if isinstance(mod, int):
            size_of_one = extra_words(mod) + 1
            meter.charge(exp.bit_length() * (size_of_one * size_of_one - 1) + extra_words(base) * size_of_one)
        elif exp > 0 and not -1 <= base <= 1:
            whole = base.bit_length() * exp // 64
            meter.charge(whole * whole)
    return pow(base, exp, mod)


def _shift_left(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        meter.charge((left.bit_length() + max(right, 0)) // 64)
    return left << right


def _shift_right(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int):
        meter.charge(extra_words(left))
    return left >> right


def _charge_bits(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is not int or type(right) is not int or not (-SMALL < left < SMALL and -SMALL < right < SMALL):
            _charge_both(meter, left, right)
        return apply(left, right)

    return run


BINARY: dict[type[ast.operator], Binary] = {
    ast.Add: add,
    ast.Sub: _subtract,
    ast.Mult: multiply,
    ast.Div: _true_divide,
    ast.FloorDiv: floor_divide,
    ast.Mod: modulo,
    ast.Pow: power,
    ast.LShift: _shift_left,
    ast.RShift: _shift_right,
    ast.BitAnd: _charge_bits(operator.and_),
    ast.BitOr: _charge_bits(operator.or_),
    ast.BitXor: _charge_bits(operator.xor),
    ast.MatMult: refuse("the operator @", "loops"),
}


def _charge_unary(apply: Callable[[Any], Any]) -> Callable[[Meter, Any], Any]:
    def run(meter: Meter, value: Any) -> Any:
        if isinstance(value, int):
            meter.charge(extra_words(value))
        return apply(value)

    return run


UNARY: dict[type[ast.unaryop], Callable[[Meter, Any], Any]] = {
    ast.USub: _charge_unary(operator.neg),
    ast.UAdd: _charge_unary(operator.pos),
    ast.Invert: _charge_unary(operator.invert),
}


# In place.


def _add_in_place(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int:
        return add(meter, left, right)
    if type(left) is list or type(left) is collections.deque:
        left.extend(walk(meter, right) if right is not left else list(walk(meter, right)))
        return left
    return _charge_in_place(operator.iadd, add)(meter, left, right)


def _multiply_in_place(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is list and isinstance(right, int):
        meter.charge(len(left) * max(right - 1, 0))
        left *= right
        return left
    return multiply(meter, left, right)


def _charge_in_place(apply: Callable[[Any, Any], Any], otherwise: Binary) -> Binary:
    """Make an operator that changes sets and dicts in place, and falls back to ``otherwise``."""

    def run(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is set or type(left) in MAPPINGS:
            meter.charge(size(left) if type(left) is collections.Counter else 0)
            meter.charge(size(right))
            return apply(left, right)
        return otherwise(meter, left, right)

    return run


IN_PLACE: dict[type[ast.operator], Binary] = {
    **BINARY,
    ast.Add: _add_in_place,
    ast.Mult: _multiply_in_place,
    ast.Sub: _charge_in_place(operator.isub, _subtract),
    ast.BitAnd: _charge_in_place(operator.iand, BINARY[ast.BitAnd]),
    ast.BitOr: _charge_in_place(operator.ior, BINARY[ast.BitOr]),
    ast.BitXor: _charge_in_place(operator.ixor, BINARY[ast.BitXor]),
}
