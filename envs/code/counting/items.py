"""Reading, setting and deleting items and slices, with their costs."""

from __future__ import annotations

import collections
from typing import Any

from .meter import MAPPINGS, Meter, walk, weight

_DEQUE_BLOCK = 64


def get_item(meter: Meter, box: Any, key: Any) -> Any:
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
            meter.charge(count_moved(box, key))
    elif kind in MAPPINGS:
        meter.charge(weight(meter, key))
    elif kind is collections.deque:
        meter.charge(len(box))
    else:
        raise TypeError(f"{kind.__name__!r} object doesn't support item deletion")
    del box[key]


def count_moved(box: list[Any], place: int) -> int:
    """Count the items after a place of a list; they move when an item is inserted or removed there."""
    return max(len(box) - 1 - place, 0) if place >= 0 else min(-place - 1, len(box))


def _reach(box: collections.deque[Any], place: Any) -> int:
    """Count the blocks of a deque between a place and its nearer end."""
    if not isinstance(place, int):
        return 0
    place = place + len(box) if place < 0 else place
    return max(min(place, len(box) - place), 0) // _DEQUE_BLOCK
