"""Modules of the standard library that may be imported, and what of them is counted."""

from __future__ import annotations

import ast
import bisect
import collections
import functools
import heapq
import itertools
import math
import operator
import string
from collections.abc import Callable, Iterator
from typing import Any

from .functions import BUILTINS
from .meter import MAPPINGS, Meter, iterator, rounds, size, walk, weight, words
from .methods import STATIC, counted
from .operators import BINARY, COMPARISONS, IN_PLACE, add, item_of, multiply
from .sorting import sorted_list
from .values import Builtin, Function, Module, call, native

# Without effect, as annotations are not looked at.
IGNORED = frozenset({"__future__", "typing"})
_NONE = object()


def _names(**functions: Callable[..., Any]) -> dict[str, Builtin]:
    return {name.rstrip("_"): Builtin(name.rstrip("_"), run) for name, run in functions.items()}


def _of_type(kind: type, run: Callable[..., Any]) -> dict[str, Builtin]:
    return {kind.__name__: Builtin(kind.__name__, run, kind)}


# math


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    def run(meter: Meter, /, *given: Any, **options: Any) -> Any:
        meter.charge(sum([words(one) for one in given if isinstance(one, int)]))
        return function(*given, **options)

    return run


def _by_digits(function: Callable[..., int]) -> Callable[..., int]:
    """gcd and lcm: Euclid's algorithm takes about a step for each binary digit of the smaller one."""

    def run(meter: Meter, /, *given: int) -> int:
        total = given[0] if given else 0
        for other in given[1:]:
            if isinstance(total, int) and isinstance(other, int):
                least = min(total.bit_length(), other.bit_length())
                meter.charge(least * (1 + max(words(total), words(other))))
            total = function(total, other)
        return function(*given) if len(given) < 2 else total

    return run


def _isqrt(meter: Meter, number: int, /) -> int:
    meter.charge(words(number) ** 2 if isinstance(number, int) else 0)
    return math.isqrt(number)


def _factorial(meter: Meter, number: int, /) -> int:
    if isinstance(number, int) and number > 0:
        whole = number * number.bit_length() // 64
        meter.charge(number + whole * whole)
    return math.factorial(number)


def _chosen(function: Callable[..., int]) -> Callable[..., int]:
    def run(meter: Meter, number: int, count: int | None = None, /) -> int:
        if isinstance(number, int):
            taken = number if not isinstance(count, int) else max(count, 0)
            taken = min(taken, max(number - taken, 0)) if function is math.comb else min(taken, max(number, 0))
            meter.charge(taken * (1 + taken * number.bit_length() // 64))
        return function(number, *(() if count is None and function is math.perm else (count,)))

    return run


def _prod(meter: Meter, values: Any, /, *, start: Any = 1) -> Any:
    for value in walk(meter, values):
        start = multiply(meter, start, value)
    return start


def _fsum(meter: Meter, values: Any, /) -> float:
    return math.fsum(walk(meter, values))


_MATH = {
    **{
        name: Builtin(name, _plain(getattr(math, name)))
        for name in (
            *("ceil", "floor", "trunc", "sqrt", "log", "log2", "log10", "exp", "sin", "cos", "tan", "atan", "atan2"),
            *(
                "fabs",
                "fmod",
                "hypot",
                "isclose",
                "isfinite",
                "isinf",
                "isnan",
                "pow",
                "degrees",
                "radians",
                "copysign",
            ),
        )
    },
    **{name: getattr(math, name) for name in ("pi", "e", "inf", "nan", "tau")},
    **_names(gcd=_by_digits(math.gcd), lcm=_by_digits(math.lcm), isqrt=_isqrt, factorial=_factorial),
    **_names(comb=_chosen(math.comb), perm=_chosen(math.perm), prod=_prod, fsum=_fsum),
}


# collections


def _deque(meter: Meter, values: Any = (), maxlen: int | None = None, /, **options: Any) -> Any:
    return collections.deque(walk(meter, values), options.pop("maxlen", maxlen), **options)


def _counter(meter: Meter, source: Any = (), /, **options: int) -> Any:
    counts: collections.Counter[Any] = collections.Counter()
    if type(source) in MAPPINGS:
        meter.charge(len(source))
        counts.update(source, **options)
    else:
        counted(meter, counts, source, 1, options)
    return counts


def _defaultdict(meter: Meter, factory: Any = None, source: Any = (), /) -> Any:
    found = BUILTINS["dict"].run(meter, source)
    return collections.defaultdict(None if factory is None else native(meter, factory), found)


_COLLECTIONS = {
    **_of_type(collections.deque, _deque),
    **_of_type(collections.Counter, _counter),
    **_of_type(collections.defaultdict, _defaultdict),
    "OrderedDict": BUILTINS["dict"],
}


# functools


def _reduce(meter: Meter, function: Any, values: Any, initial: Any = _NONE, /) -> Any:
    items = iter(walk(meter, values))
    total = next(items, _NONE) if initial is _NONE else initial
    if total is _NONE:
        raise TypeError("reduce() of empty iterable with no initial value")
    for item in items:
        total = call(meter, function, [total, item])
    return total


def _partial(meter: Meter, function: Any, /, *given: Any, **options: Any) -> Builtin:
    return Builtin(
        "partial", lambda _, /, *more, **others: call(meter, function, [*given, *more], {**options, **others})
    )


def _remembered(meter: Meter, function: Any, most: int | None) -> Builtin:
    """A function whose values are kept, the ``most`` that were used last."""
    kept: dict[Any, Any] = {}

    def run(meter: Meter, /, *given: Any, **options: Any) -> Any:
        key = (given, tuple(options.items())) if options else given
        meter.charge(1 + weight(meter, key))
        value = kept.pop(key, _NONE)
        if value is _NONE:
            value = call(meter, function, [*given], options)
            if most is not None and len(kept) >= max(most, 1):
                kept.pop(next(iter(kept)))
        if most != 0:
            kept[key] = value
        return value

    return Builtin("cache", run)


def _lru_cache(meter: Meter, maxsize: Any = 128, typed: Any = False) -> Builtin:
    if type(maxsize) in (Function, Builtin):
        return _remembered(meter, maxsize, 128)
    return Builtin("lru_cache", lambda meter, function, /: _remembered(meter, function, maxsize))


def _cmp_to_key(meter: Meter, function: Any, /) -> Builtin:
    wrap = functools.cmp_to_key(native(meter, function))
    return Builtin("cmp_to_key", lambda _, value, /: wrap(value))


_FUNCTOOLS = _names(
    reduce=_reduce,
    partial=_partial,
    lru_cache=_lru_cache,
    cache=lambda meter, function, /: _remembered(meter, function, None),
    cmp_to_key=_cmp_to_key,
)


# itertools


def _accumulate(meter: Meter, iterable: Any, func: Any = None, *, initial: Any = None) -> Iterator[Any]:
    first = [] if initial is None else [initial]
    total = _NONE
    for item in itertools.chain(first, iterator(iterable)):
        meter.charge(1)
        if total is _NONE:
            total = item
        else:
            total = add(meter, total, item) if func is None else call(meter, func, [total, item])
        yield total


def _rows(make: Callable[..., Iterator[tuple[Any, ...]]]) -> Callable[..., Iterator[Any]]:
    """What picks from one sequence: each row costs its length."""

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
    return _chained(meter, iter(sources))


def _chained(meter: Meter, sources: Any, /) -> Iterator[Any]:
    for source in iterator(sources):
        for item in iterator(source):
            meter.charge(1)
            yield item


def _islice(meter: Meter, values: Any, /, *bounds: Any) -> Iterator[Any]:
    return itertools.islice(walk(meter, iterator(values)), *bounds)


def _groupby(meter: Meter, iterable: Any, key: Any = None) -> Iterator[Any]:
    by = None if key is None else native(meter, key)
    return ((one, iter([*group])) for one, group in itertools.groupby(walk(meter, iterator(iterable)), by))


def _pairwise(meter: Meter, values: Any, /) -> Iterator[Any]:
    return _each(meter, itertools.pairwise(iterator(values)))


def _zip_longest(meter: Meter, /, *sources: Any, fillvalue: Any = None) -> Iterator[Any]:
    return _each(meter, itertools.zip_longest(*map(iterator, sources), fillvalue=fillvalue))


def _while(make: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
    return lambda meter, test, values, /: make(native(meter, test), walk(meter, iterator(values)))


def _starmap(meter: Meter, function: Any, rows: Any, /) -> Iterator[Any]:
    for row in iterator(rows):
        yield call(meter, function, list(walk(meter, row)))


def _compress(meter: Meter, data: Any, selectors: Any) -> Iterator[Any]:
    return itertools.compress(walk(meter, iterator(data)), iterator(selectors))


STATIC[itertools.chain, "from_iterable"] = _chained
_ITERTOOLS = {
    **_names(accumulate=_accumulate, product=_product, islice=_islice, groupby=_groupby, pairwise=_pairwise),
    **_names(zip_longest=_zip_longest, starmap=_starmap, compress=_compress),
    **_names(combinations=_rows(itertools.combinations), permutations=_rows(itertools.permutations)),
    **_names(combinations_with_replacement=_rows(itertools.combinations_with_replacement)),
    **_names(takewhile=_while(itertools.takewhile), dropwhile=_while(itertools.dropwhile)),
    **_names(count=_endless(itertools.count), repeat=_endless(itertools.repeat)),
    **_names(cycle=lambda meter, values, /: _singly(meter, itertools.cycle(list(walk(meter, values))))),
    "chain": Builtin("chain", _chain, itertools.chain),
}


# bisect, heapq


def _bisected(function: Callable[..., int], inserts: bool) -> Callable[..., Any]:
    def run(meter: Meter, a: Any, x: Any, lo: int = 0, hi: int | None = None, *, key: Any = None) -> Any:
        count = size(a)
        meter.charge((1 + weight(meter, x)) * max(count, 1).bit_length())
        by = None if key is None else native(meter, key)
        sought = by(x) if by and inserts else x
        place = function(a, sought, lo, hi, key=by)
        if not inserts:
            return place
        meter.charge(count - place)
        if type(a) not in (list, collections.deque):
            raise AttributeError(f"{type(a).__name__!r} object has no attribute 'insert'")
        return a.insert(place, x)

    return run


def _heap(function: Callable[..., Any], sifts: int) -> Callable[..., Any]:
    """A function on heaps that moves an item along one path, ``sifts`` times."""

    def run(meter: Meter, heap: Any, /, *item: Any) -> Any:
        heaviest = max([weight(meter, one) for one in (*item, *(heap[:1] if type(heap) is list else ()))], default=0)
        meter.charge(sifts * (1 + heaviest) * max(size(heap), 1).bit_length())
        return function(heap, *item)

    return run


def _heapify(meter: Meter, heap: Any, /) -> None:
    meter.charge(2 * size(heap) + (weight(meter, heap) - size(heap) if type(heap) is list else 0))
    heapq.heapify(heap)


def _of_sorted(largest: bool) -> Callable[..., list[Any]]:
    def run(meter: Meter, n: int, iterable: Any, key: Any = None) -> list[Any]:
        return sorted_list(meter, iterable, key=key, reverse=largest)[: max(n, 0)]

    return run


def _merge(meter: Meter, /, *sources: Any, key: Any = None, reverse: bool = False) -> Iterator[Any]:
    by = None if key is None else native(meter, key)
    for item in heapq.merge(*map(iterator, sources), key=by, reverse=reverse):
        meter.charge((1 + weight(meter, item)) * (1 + rounds(len(sources))))
        yield item


_BISECT = {
    **{name: Builtin(name, _bisected(getattr(bisect, name), False)) for name in ("bisect", "bisect_left")},
    "bisect_right": Builtin("bisect_right", _bisected(bisect.bisect_right, False)),
    "insort_left": Builtin("insort_left", _bisected(bisect.bisect_left, True)),
    **{name: Builtin(name, _bisected(bisect.bisect_right, True)) for name in ("insort", "insort_right")},
}
_HEAPQ = {
    **_names(heappush=_heap(heapq.heappush, 1), heappop=_heap(heapq.heappop, 2), heapify=_heapify, merge=_merge),
    **_names(heapreplace=_heap(heapq.heapreplace, 2), heappushpop=_heap(heapq.heappushpop, 2)),
    **_names(nlargest=_of_sorted(True), nsmallest=_of_sorted(False)),
}


# operator

_OPERATORS: dict[str, type[ast.operator]] = {
    **{"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "floordiv": ast.FloorDiv, "mod": ast.Mod, "pow": ast.Pow},
    **{"truediv": ast.Div, "and_": ast.BitAnd, "or_": ast.BitOr, "xor": ast.BitXor, "lshift": ast.LShift},
    "rshift": ast.RShift,
}
_COMPARED: dict[str, type[ast.cmpop]] = {
    **{"eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE},
}


def _itemgetter(meter: Meter, /, *wanted: Any) -> Builtin:
    if not wanted:
        raise TypeError("itemgetter expected 1 argument, got 0")

    def run(meter: Meter, box: Any, /) -> Any:
        meter.charge(len(wanted))
        found = [item_of(meter, box, key) for key in wanted]
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("itemgetter", run)


_OPERATOR = {
    **{
        name: Builtin(name, (lambda meter, a, b, /, f=BINARY[kind]: f(meter, a, b)))
        for name, kind in _OPERATORS.items()
    },
    **{
        name: Builtin(name, (lambda meter, a, b, /, f=COMPARISONS[kind]: f(meter, a, b)))
        for name, kind in _COMPARED.items()
    },
    **_names(neg=_plain(operator.neg), not_=_plain(operator.not_), itemgetter=_itemgetter),
    "contains": Builtin("contains", lambda meter, box, item, /: COMPARISONS[ast.In](meter, item, box)),
    "getitem": Builtin("getitem", lambda meter, box, key, /: item_of(meter, box, key)),
    "iadd": Builtin("iadd", lambda meter, a, b, /: IN_PLACE[ast.Add](meter, a, b)),
}

MODULES: dict[str, Module] = {
    "math": Module("math", _MATH),
    "collections": Module("collections", _COLLECTIONS),
    "functools": Module("functools", _FUNCTOOLS),
    "itertools": Module("itertools", _ITERTOOLS),
    "bisect": Module("bisect", _BISECT),
    "heapq": Module("heapq", _HEAPQ),
    "operator": Module("operator", _OPERATOR),
    "string": Module(
        "string", {n: getattr(string, n) for n in ("ascii_lowercase", "ascii_uppercase", "ascii_letters", "digits")}
    ),
}
