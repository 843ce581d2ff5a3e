"""Sorting, minimum and maximum, with the costs of computing keys and of comparing them."""

from __future__ import annotations

from typing import Any

from .meter import Meter, ceil_log2, walk, weight
from .values import call_function

_NONE = object()


def sort_in_place(meter: Meter, items: list[Any], key: Any = None, reverse: Any = False) -> None:
    """Sort a list, and charge (number of items + sum of their weights) * ceil(log2(number of items))."""
    by = _keys(meter, items, key)
    meter.charge((len(by) + sum([weight(meter, one) for one in by])) * ceil_log2(len(by)))
    if key is None:
        items.sort(reverse=reverse)
    else:
        order = sorted(range(len(by)), key=by.__getitem__, reverse=reverse)
        items[:] = [items[place] for place in order]


def sorted_list(meter: Meter, values: Any, /, *, key: Any = None, reverse: Any = False) -> list[Any]:
    items = list(walk(meter, values))
    sort_in_place(meter, items, key, reverse)
    return items


def smallest_of(meter: Meter, /, *values: Any, key: Any = None, default: Any = _NONE) -> Any:
    return _extreme(meter, min, values, key, default)


def largest_of(meter: Meter, /, *values: Any, key: Any = None, default: Any = _NONE) -> Any:
    return _extreme(meter, max, values, key, default)


def _extreme(meter: Meter, choose: Any, values: tuple[Any, ...], key: Any, default: Any) -> Any:
    name = choose.__name__
    if not values:
        raise TypeError(f"{name} expected at least 1 argument, got 0")
    if len(values) == 2 and key is None and default is _NONE and type(values[0]) is type(values[1]) is int:
        meter.charge(2 + weight(meter, values[0]))
        return choose(values)
    if len(values) > 1 and default is not _NONE:
        raise TypeError(f"Cannot specify a default for {name}() with multiple positional arguments")
    items = list(walk(meter, values[0] if len(values) == 1 else values))
    if not items:
        if default is _NONE:
            raise ValueError(f"{name}() arg is an empty sequence")
        return default
    by = _keys(meter, items, key)
    meter.charge(sum([weight(meter, one) for one in by]))
    return items[choose(range(len(by)), key=by.__getitem__)]


def _keys(meter: Meter, items: list[Any], key: Any) -> list[Any]:
    return items if key is None else [call_function(meter, key, item) for item in items]
