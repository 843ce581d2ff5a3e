"""The module itertools, with the costs of its functions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from .meter import Meter, iterator, size, walk
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
    """Wrap a function that picks rows from one sequence: each row costs its length."""

    def run(meter: Meter, iterable: Any, r: Any = None) -> Iterator[Any]:
        pool = list(walk(meter, iterable))
        if isinstance(r, int):
            meter.charge(max(r, 0))
        return _each(meter, make(pool, *(() if r is None and make is itertools.permutations else (r,))))

    return run


def _each(meter: Meter, rows: Iterator[Any]) -> Iterator[Any]:
    for row in rows:
        meter.charge(1 + size(row))
        yield row


def _product(meter: Meter, /, *sources: Any, repeat: int = 1) -> Iterator[Any]:
    pools = [list(walk(meter, source)) for source in sources]
    meter.charge(len(pools) * max(repeat, 0))
    return _each(meter, itertools.product(*pools, repeat=repeat))


def _endless(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda meter, /, *given, **options: _singly(meter, make(*given, **options))


def _singly(meter: Meter, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        meter.charge(1)
        yield value


def _chain(meter: Meter, /, *sources: Any) -> Iterator[Any]:
    return chain_all(meter, iter(sources))


def chain_all(meter: Meter, sources: Any, /) -> Iterator[Any]:
    for source in iterator(sources):
        for item in iterator(source):
            meter.charge(1)
            yield item


def _islice(meter: Meter, values: Any, /, *bounds: Any) -> Iterator[Any]:
    return itertools.islice(walk(meter, iterator(values)), *bounds)


def _groupby(meter: Meter, iterable: Any, key: Any = None) -> Iterator[Any]:
    by = None if key is None else as_python_function(meter, key)
    return ((one, iter([*group])) for one, group in itertools.groupby(walk(meter, iterator(iterable)), by))


def _pairwise(meter: Meter, values: Any, /) -> Iterator[Any]:
    return _each(meter, itertools.pairwise(iterator(values)))


def _zip_longest(meter: Meter, /, *sources: Any, fillvalue: Any = None) -> Iterator[Any]:
    return _each(meter, itertools.zip_longest(*map(iterator, sources), fillvalue=fillvalue))


def _while(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda meter, test, values, /: make(as_python_function(meter, test), walk(meter, iterator(values)))


def _starmap(meter: Meter, function: Any, rows: Any, /) -> Iterator[Any]:
    for row in iterator(rows):
        yield call_function(meter, function, *walk(meter, row))


def _compress(meter: Meter, data: Any, selectors: Any) -> Iterator[Any]:
    return itertools.compress(walk(meter, iterator(data)), iterator(selectors))


ITERTOOLS = {
    **builtins_by_name(accumulate=_accumulate, product=_product, islice=_islice, groupby=_groupby, pairwise=_pairwise),
    **builtins_by_name(zip_longest=_zip_longest, starmap=_starmap, compress=_compress),
    **builtins_by_name(combinations=_rows(itertools.combinations), permutations=_rows(itertools.permutations)),
    **builtins_by_name(combinations_with_replacement=_rows(itertools.combinations_with_replacement)),
    **builtins_by_name(takewhile=_while(itertools.takewhile), dropwhile=_while(itertools.dropwhile)),
    **builtins_by_name(count=_endless(itertools.count), repeat=_endless(itertools.repeat)),
    **builtins_by_name(cycle=lambda meter, values, /: _singly(meter, itertools.cycle(list(walk(meter, values))))),
    "chain": Builtin("chain", _chain, itertools.chain),
}
