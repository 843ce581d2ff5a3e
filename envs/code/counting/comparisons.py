"""Comparisons and membership, with their costs."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from .meter import (
    CONTAINERS,
    HOLDERS,
    ITEMS_VIEW,
    KEYS_VIEW,
    MAPPINGS,
    SMALL,
    Meter,
    extra_words,
    iterator,
    size,
    weight,
)
from .operators import Binary

_SETS = frozenset({set, frozenset, KEYS_VIEW, ITEMS_VIEW})
_HASHED = frozenset({set, frozenset, KEYS_VIEW, *MAPPINGS})


def is_equal(meter: Meter, left: Any, right: Any) -> bool:
    kind = type(left)
    if kind is str or kind in HOLDERS:
        other = type(right)
        if (other is str or other in HOLDERS) and left is not right and len(left) == len(right):
            meter.charge(min(weight(meter, left), weight(meter, right)))
    elif kind is int and not -SMALL < left < SMALL and type(right) is int:
        meter.charge(min(extra_words(left), extra_words(right)))
    return left == right


def _charge_ordering(apply: Callable[[Any, Any], Any]) -> Binary:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        if type(left) is not int or not -SMALL < left < SMALL:
            meter.charge(min(weight(meter, left), weight(meter, right)))
            if type(left) in _SETS:
                meter.charge(min(size(left), size(right)))
        return apply(left, right)

    return run


def contains_item(meter: Meter, item: Any, box: Any) -> bool:
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
        return find_position(meter, item, box) is not None
    found = False
    for other in iterator(box):
        meter.charge(1)
        if other is item or is_equal(meter, other, item):
            found = True
            break
    return found


def find_position(meter: Meter, item: Any, box: Any, *ends: int) -> int | None:
    """Return the index of an item of a list, tuple or deque, between ``ends``; None if it is missing. Each comparison
    costs a step, and the item's weight."""
    each = 1 + weight(meter, item)
    start, stop, _ = slice(*(ends if len(ends) == 2 else (*ends, None))).indices(len(box)) if ends else (0, len(box), 1)
    try:
        place = box.index(item, *ends)
    except ValueError:
        meter.charge(each * max(stop - start, 0))
        return None
    meter.charge(each * (place - start + 1))
    return place


COMPARISONS: dict[type[ast.cmpop], Binary] = {
    ast.Eq: is_equal,
    ast.NotEq: lambda meter, left, right: not is_equal(meter, left, right),
    ast.Lt: _charge_ordering(operator.lt),
    ast.LtE: _charge_ordering(operator.le),
    ast.Gt: _charge_ordering(operator.gt),
    ast.GtE: _charge_ordering(operator.ge),
    ast.In: contains_item,
    ast.NotIn: lambda meter, item, box: not contains_item(meter, item, box),
    ast.Is: lambda meter, left, right: left is right,
    ast.IsNot: lambda meter, left, right: left is not right,
}
