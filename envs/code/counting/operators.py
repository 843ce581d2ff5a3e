"""Operators, with what they cost where they go over sequences or large numbers."""

from __future__ import annotations

import ast
import collections
import operator
from collections.abc import Callable
from typing import Any

from .formatting import percent
from .meter import (
    CONTAINERS,
    HOLDERS,
    ITEMS_VIEW,
    KEYS_VIEW,
    MAPPINGS,
    SMALL,
    Meter,
    Uncounted,
    iterator,
    size,
    walk,
    weight,
    words,
)

Binary = Callable[[Meter, Any, Any], Any]
_SEQUENCES = frozenset({str, list, tuple, collections.deque})
_SETS = frozenset({set, frozenset, KEYS_VIEW, ITEMS_VIEW})
_HASHED = frozenset({set, frozenset, KEYS_VIEW, *MAPPINGS})
_DEQUE_BLOCK = 64


def _both(meter: Meter, left: Any, right: Any) -> None:
    """Charge for an operator whose work grows with both sides: numbers by their words, all else by its length."""
    if type(left) is int and type(right) is int:
        meter.charge(max(words(left), words(right)))
    else:
        meter.charge(size(left) + size(right))


def add(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        result = left + right
        if -SMALL < left < SMALL and -SMALL < result < SMALL:
            return result
    _both(meter, left, right)
    return left + right


def _subtract(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        result = left - right
        if -SMALL < left < SMALL and -SMALL < result < SMALL:
            return result
    _both(meter, left, right)
    return left - right


def multiply(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int and type(right) is int:
        if -SMALL < left < SMALL and -SMALL < right < SMALL:
            return left * right
        meter.charge((words(left) + 1) * (words(right) + 1))
    for items, count in ((left, right), (right, left)):
        if type(items) in _SEQUENCES and isinstance(count, int):
            meter.charge(size(items) * max(count, 0))
    return left * right


def _divided(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if isinstance(left, int) and not -SMALL < left < SMALL and isinstance(right, int):
            meter.charge((words(left) + 1) * (words(right) + 1))
        return apply(left, right)

    return run


floor_divide, _true_divide, _remainder = map(_divided, (operator.floordiv, operator.truediv, operator.mod))


def modulo(meter: Meter, left: Any, right: Any) -> Any:
    return percent(meter, left, right) if type(left) is str else _remainder(meter, left, right)


def power(meter: Meter, base: Any, exponent: Any, modulus: Any = None) -> Any:
    """Also the built-in function pow."""
    if isinstance(base, int) and isinstance(exponent, int):
        meter.charge(exponent.bit_length())
        if isinstance(modulus, int):
            size_of_one = words(modulus) + 1
            meter.charge(exponent.bit_length() * (size_of_one * size_of_one - 1) + words(base) * size_of_one)
        elif exponent > 0 and not -1 <= base <= 1:
            whole = base.bit_length() * exponent // 64
            meter.charge(whole * whole)
    return pow(base, exponent, modulus)


def _shift_left(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        meter.charge((left.bit_length() + max(right, 0)) // 64)
    return left << right


def _shift_right(meter: Meter, left: Any, right: Any) -> Any:
    if isinstance(left, int):
        meter.charge(words(left))
    return left >> right


def _bits(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is not int or type(right) is not int or not (-SMALL < left < SMALL and -SMALL < right < SMALL):
            _both(meter, left, right)
        return apply(left, right)

    return run


def _no_matrices(meter: Meter, left: Any, right: Any) -> Any:
    raise Uncounted("the operator @ is not counted here: use loops")


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
    ast.BitAnd: _bits(operator.and_),
    ast.BitOr: _bits(operator.or_),
    ast.BitXor: _bits(operator.xor),
    ast.MatMult: _no_matrices,
}


# In place.


def _add_in_place(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is int:
        return add(meter, left, right)
    if type(left) is list or type(left) is collections.deque:
        left.extend(walk(meter, right) if right is not left else list(walk(meter, right)))
        return left
    return _changed(operator.iadd, add)(meter, left, right)


def _multiply_in_place(meter: Meter, left: Any, right: Any) -> Any:
    if type(left) is list and isinstance(right, int):
        meter.charge(len(left) * max(right - 1, 0))
        left *= right
        return left
    return multiply(meter, left, right)


def _changed(apply: Callable[[Any, Any], Any], otherwise: Binary) -> Binary:
    """An operator that changes sets and dicts in place."""

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
    ast.Sub: _changed(operator.isub, _subtract),
    ast.BitAnd: _changed(operator.iand, BINARY[ast.BitAnd]),
    ast.BitOr: _changed(operator.ior, BINARY[ast.BitOr]),
    ast.BitXor: _changed(operator.ixor, BINARY[ast.BitXor]),
}


# Comparisons.


def equal(meter: Meter, left: Any, right: Any) -> bool:
    kind = type(left)
    if kind is str or kind in HOLDERS:
        other = type(right)
        if (other is str or other in HOLDERS) and left is not right and len(left) == len(right):
            meter.charge(min(weight(meter, left), weight(meter, right)))
    elif kind is int and not -SMALL < left < SMALL and type(right) is int:
        meter.charge(min(words(left), words(right)))
    return left == right


def _unequal(meter: Meter, left: Any, right: Any) -> bool:
    return not equal(meter, left, right)


def _ordered(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is not int or not -SMALL < left < SMALL:
            meter.charge(min(weight(meter, left), weight(meter, right)))
            if type(left) in _SETS:
                meter.charge(min(size(left), size(right)))
        return apply(left, right)

    return run


def contains(meter: Meter, item: Any, box: Any) -> bool:
    kind = type(box)
    if kind in _HASHED or kind is ITEMS_VIEW:
        meter.charge(weight(meter, item))
        return item in box
    if kind is str:
        meter.charge(len(box))
        return item in box
    if kind is range:
        meter.charge(0 if isinstance(item, int) else len(box))
        return item in box
    if kind in (list, tuple) and type(item) not in CONTAINERS:
        return position(meter, item, box) is not None
    found = False
    for other in iterator(box):
        meter.charge(1)
        if other is item or equal(meter, other, item):
            found = True
            break
    return found


def position(meter: Meter, item: Any, box: Any, *ends: int) -> int | None:
    """Where an item is in a list, tuple or deque, between ``ends``; each comparison costs a step, and what the item
    weighs."""
    each = 1 + weight(meter, item)
    start, stop, _ = slice(*(ends if len(ends) == 2 else (*ends, None))).indices(len(box)) if ends else (0, len(box), 1)
    try:
        place = box.index(item, *ends)
    except ValueError:
        meter.charge(each * max(stop - start, 0))
        return None
    meter.charge(each * (place - start + 1))
    return place


def _lacks(meter: Meter, item: Any, box: Any) -> bool:
    return not contains(meter, item, box)


COMPARISONS: dict[type[ast.cmpop], Binary] = {
    ast.Eq: equal,
    ast.NotEq: _unequal,
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.In: contains,
    ast.NotIn: _lacks,
    ast.Is: lambda meter, left, right: left is right,
    ast.IsNot: lambda meter, left, right: left is not right,
}


# Items and slices.


def item_of(meter: Meter, box: Any, key: Any) -> Any:
    kind = type(box)
    if kind is list or kind is tuple or kind is str:
        if type(key) is slice:
            result = box[key]
            meter.charge(len(result))
            return result
    elif kind in MAPPINGS:
        meter.charge(weight(meter, key))
    elif kind is collections.deque:
        meter.charge(_reach(box, key))
    elif kind is not range:
        raise TypeError(f"{kind.__name__!r} object is not subscriptable")
    return box[key]


def set_item(meter: Meter, box: Any, key: Any, value: Any) -> None:
    kind = type(box)
    if kind is list:
        if type(key) is slice:
            value = list(walk(meter, value))
            start, stop, step = key.indices(len(box))
            if step != 1 or len(value) != max(stop - start, 0):
                meter.charge(max(len(box) - start, 0))
    elif kind in MAPPINGS:
        meter.charge(weight(meter, key))
    elif kind is collections.deque:
        meter.charge(_reach(box, key))
    else:
        raise TypeError(f"{kind.__name__!r} object does not support item assignment")
    box[key] = value


def delete_item(meter: Meter, box: Any, key: Any) -> None:
    kind = type(box)
    if kind is list:
        if type(key) is slice:
            start, stop, _ = key.indices(len(box))
            meter.charge(len(box) - min(start, stop))
        elif isinstance(key, int):
            meter.charge(moved(box, key))
    elif kind in MAPPINGS:
        meter.charge(weight(meter, key))
    elif kind is collections.deque:
        meter.charge(len(box))
    else:
        raise TypeError(f"{kind.__name__!r} object doesn't support item deletion")
    del box[key]


def moved(box: list[Any], place: int) -> int:
    """Items of a list behind a place, which move when one is put in or taken away there."""
    return max(len(box) - 1 - place, 0) if place >= 0 else min(-place - 1, len(box))


def _reach(box: collections.deque[Any], place: Any) -> int:
    if not isinstance(place, int):
        return 0
    place = place + len(box) if place < 0 else place
    return max(min(place, len(box) - place), 0) // _DEQUE_BLOCK


def unary(meter: Meter, kind: type[ast.unaryop], value: Any) -> Any:
    if isinstance(value, int):
        meter.charge(words(value))
    return _UNARY[kind](value)


_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
