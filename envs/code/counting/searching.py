"""The modules bisect and heapq, with the costs of their functions."""

from __future__ import annotations

import bisect
import collections
import heapq
from collections.abc import Callable, Iterator
from typing import Any

from .meter import Meter, ceil_log2, iterator, size, weight
from .sorting import sorted_list
from .values import Builtin, as_python_function, builtins_by_name


def _charge_bisection(function: Callable[..., int], inserts: bool) -> Callable[..., Any]:
    def run(meter: Meter, a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> Any:
        count = size(a)
        meter.charge((1 + weight(meter, x)) * max(count, 1).bit_length())
        by = as_python_function(meter, key)
        sought = by(x) if by and inserts else x
        place = function(a, sought, lo, hi, key=by)
        if not inserts:
            return place
        meter.charge(count - place)
        if type(a) not in (list, collections.deque):
            raise AttributeError(f"{type(a).__name__!r} object has no attribute 'insert'")
        return a.insert(place, x)

    return run


def _charge_heap(function: Callable[..., Any], sifts: int) -> Callable[..., Any]:
    """Wrap a function of heapq so that it charges for moving an item along a path of the heap ``sifts`` times."""

    def run(meter: Meter, heap: Any, /, *item: Any) -> Any:
        heaviest = max([weight(meter, one) for one in (*item, *(heap[:1] if type(heap) is list else ()))], default=0)
        meter.charge(sifts * (1 + heaviest) * max(size(heap), 1).bit_length())
        return function(heap, *item)

    return run


def _heapify(meter: Meter, heap: Any, /) -> None:
    meter.charge(size(heap) + (weight(meter, heap) if type(heap) is list else size(heap)))
    heapq.heapify(heap)


def _make_selection(largest: bool) -> Callable[..., list[Any]]:
    def run(meter: Meter, n: int, iterable: Any, key: Any = None) -> list[Any]:
        return sorted_list(meter, iterable, key=key, reverse=largest)[: max(n, 0)]

    return run


def _merge(meter: Meter, /, *sources: Any, key: Any = None, reverse: bool = False) -> Iterator[Any]:
    by = as_python_function(meter, key)
    for item in heapq.merge(*map(iterator, sources), key=by, reverse=reverse):
        meter.charge((1 + weight(meter, item)) * (1 + ceil_log2(len(sources))))
        yield item


BISECT = {
    **{name: Builtin(name, _charge_bisection(getattr(bisect, name), False)) for name in ("bisect", "bisect_left")},
    "bisect_right": Builtin("bisect_right", _charge_bisection(bisect.bisect_right, False)),
    "insort_left": Builtin("insort_left", _charge_bisection(bisect.bisect_left, True)),
    **{name: Builtin(name, _charge_bisection(bisect.bisect_right, True)) for name in ("insort", "insort_right")},
}
HEAPQ = builtins_by_name(
    heapify=_heapify,
    heappop=_charge_heap(heapq.heappop, 2),
    heappush=_charge_heap(heapq.heappush, 1),
    heappushpop=_charge_heap(heapq.heappushpop, 2),
    heapreplace=_charge_heap(heapq.heapreplace, 2),
    merge=_merge,
    nlargest=_make_selection(True),
    nsmallest=_make_selection(False),
)
