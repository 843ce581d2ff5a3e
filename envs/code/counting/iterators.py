"""The module itertools, with the costs of its functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .meter import Meter, charge_each, iterator, size, walk
from .operators import add
from .values import Builtin, as_python_function, builtins_by_name, call_function

_NONE = object()


def _accumulate(meter: Meter, iterable: Any, func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    first = [] if initial is None else [initial]
    total = _NONE
    for item in itertools.chain(first, iterator(iterable)):
        meter.charge(1)
        if total is _NONE:
            total = item
        else:
            total = add(meter, total, item) if func is None else call_function(meter, func, total, item)
        yield total


def _rows(make: Callable[..., Iterator[tuple[Any, ...]]]) -> Callable[..., Iterator[Any]]:
    """Wrap a function that yields tuples of items of one sequence: each tuple costs one step plus its length."""

    def run(meter: Meter, iterable: Any, r: Any = None) -> Iterator[Any]:
        pool = list(walk(meter, iterable))
        if isinstance(r, int):
            meter.charge(max(r, 0))
        return _charge_rows(meter, make(pool, *(() if r is None and make is itertools.permutations else (r,))))

    return run


def _charge_rows(meter: Meter, rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        meter.charge(1 + size(row))
        yield row


def _product(meter: Meter, /, *sources: Any, repeat: int = 1) -> Iterator[Any]:
    pools = [list(walk(meter, source)) for source in sources]
    meter.charge(len(pools) * max(repeat, 0))
    return _charge_rows(meter, itertools.product(*pools, repeat=repeat))


def chain_all(meter: Meter, sources: Any, /) -> Iterator[Any]:
    for source in iterator(sources):
        yield from charge_each(meter, iterator(source))


def _groupby(meter: Meter, iterable: Any, key: Any = None) -> Iterator[Any]:
    by = as_python_function(meter, key)
    return ((one, iter([*group])) for one, group in itertools.groupby(walk(meter, iterator(iterable)), by))


def _zip_longest(meter: Meter, /, *sources: Any, fillvalue: Any = None) -> Iterator[Any]:
    return _charge_rows(meter, itertools.zip_longest(*map(iterator, sources), fillvalue=fillvalue))


def _endless(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda meter, /, *given, **options: charge_each(meter, make(*given, **options))


def _while(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda meter, test, values, /: make(as_python_function(meter, test), walk(meter, iterator(values)))


def _starmap(meter: Meter, function: Any, rows: Any, /) -> Iterator[Any]:
    for row in iterator(rows):
        yield call_function(meter, function, *walk(meter, row))


ITERTOOLS = {
    **builtins_by_name(
        accumulate=_accumulate,
        combinations=_rows(itertools.combinations),
        combinations_with_replacement=_rows(itertools.combinations_with_replacement),
        compress=lambda meter, data, selectors: itertools.compress(walk(meter, iterator(data)), iterator(selectors)),
        count=_endless(itertools.count),
        cycle=lambda meter, values, /: charge_each(meter, itertools.cycle(list(walk(meter, values)))),
        dropwhile=_while(itertools.dropwhile),
        groupby=_groupby,
        islice=lambda meter, values, /, *bounds: itertools.islice(walk(meter, iterator(values)), *bounds),
        pairwise=lambda meter, values, /: _charge_rows(meter, itertools.pairwise(iterator(values))),
        permutations=_rows(itertools.permutations),
        product=_product,
        repeat=_endless(itertools.repeat),
        starmap=_starmap,
        takewhile=_while(itertools.takewhile),
        zip_longest=_zip_longest,
    ),
    "chain": Builtin("chain", lambda meter, /, *sources: chain_all(meter, iter(sources)), itertools.chain),
}
