"""The modules of the standard library that a program may import, with the names that are supported."""

from __future__ import annotations

import ast
import collections
import functools
import itertools
import operator
import string
from collections.abc import Callable
from typing import Any

from .comparisons import COMPARISONS
from .functions import BUILTINS
from .items import get_item
from .iterators import ITERTOOLS, chain_all
from .mathematics import MATH, charge_words
from .meter import MAPPINGS, Meter, walk, weight
from .methods import STATIC, add_counts
from .operators import BINARY, IN_PLACE
from .searching import BISECT, HEAPQ
from .values import Builtin, Function, Module, as_python_function, builtins_by_name, call_function

# Imports of these modules have no effect, as annotations are ignored.
IGNORED = frozenset({"__future__", "typing"})
_NONE = object()


# collections


def _counter(meter: Meter, source: Any = (), /, **options: int) -> Any:
    counts: collections.Counter[Any] = collections.Counter()
    if type(source) in MAPPINGS:
        meter.charge(len(source))
        counts.update(source, **options)
    else:
        add_counts(meter, counts, source, 1, options)
    return counts


def _defaultdict(meter: Meter, factory: Any = None, source: Any = (), /) -> Any:
    found = BUILTINS["dict"].run(meter, source)
    return collections.defaultdict(as_python_function(meter, factory), found)


def _deque(meter: Meter, values: Any = (), maxlen: int | None = None, /, **options: Any) -> Any:
    return collections.deque(walk(meter, values), options.pop("maxlen", maxlen), **options)


_COLLECTIONS = {
    "Counter": Builtin("Counter", _counter, collections.Counter),
    "OrderedDict": BUILTINS["dict"],
    "defaultdict": Builtin("defaultdict", _defaultdict, collections.defaultdict),
    "deque": Builtin("deque", _deque, collections.deque),
}


# functools


def _reduce(meter: Meter, function: Any, values: Any, initial: Any = _NONE, /) -> Any:
    items = iter(walk(meter, values))
    total = next(items, _NONE) if initial is _NONE else initial
    if total is _NONE:
        raise TypeError("reduce() of empty iterable with no initial value")
    for item in items:
        total = call_function(meter, function, total, item)
    return total


def _partial(meter: Meter, function: Any, /, *given: Any, **options: Any) -> Builtin:
    return Builtin(
        "partial", lambda _, /, *more, **others: call_function(meter, function, *given, *more, **{**options, **others})
    )


def _cache_values(meter: Meter, function: Any, most: int | None) -> Builtin:
    """Return a function that caches its ``most`` values used last; None for all values."""
    cached: dict[Any, Any] = {}

    def run(meter: Meter, /, *given: Any, **options: Any) -> Any:
        key = (given, tuple(options.items())) if options else given
        meter.charge(1 + weight(meter, key))
        value = cached.pop(key, _NONE)
        if value is _NONE:
            value = call_function(meter, function, *given, **options)
            if most is not None and len(cached) >= max(most, 1):
                cached.pop(next(iter(cached)))
        if most != 0:
            cached[key] = value
        return value

    return Builtin("cache", run)


def _lru_cache(meter: Meter, maxsize: Any = 128, typed: Any = False) -> Builtin:
    if type(maxsize) in (Function, Builtin):
        return _cache_values(meter, maxsize, 128)
    return Builtin("lru_cache", lambda meter, function, /: _cache_values(meter, function, maxsize))


def _cmp_to_key(meter: Meter, function: Any, /) -> Builtin:
    wrap = functools.cmp_to_key(as_python_function(meter, function))
    return Builtin("cmp_to_key", lambda _, value, /: wrap(value))


_FUNCTOOLS = builtins_by_name(
    reduce=_reduce,
    partial=_partial,
    lru_cache=_lru_cache,
    cache=lambda meter, function, /: _cache_values(meter, function, None),
    cmp_to_key=_cmp_to_key,
)


# operator


def _itemgetter(meter: Meter, /, *wanted: Any) -> Builtin:
    if not wanted:
        raise TypeError("itemgetter expected 1 argument, got 0")

    def run(meter: Meter, box: Any, /) -> Any:
        meter.charge(len(wanted))
        found = [get_item(meter, box, key) for key in wanted]
        return found[0] if len(found) == 1 else tuple(found)

    return Builtin("itemgetter", run)


def _of_two(run: Callable[..., Any]) -> Callable[..., Any]:
    return lambda meter, a, b, /: run(meter, a, b)


_ARITHMETIC = {
    **{"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "truediv": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod},
    **{"pow": ast.Pow, "lshift": ast.LShift, "rshift": ast.RShift, "and_": ast.BitAnd, "or_": ast.BitOr},
    "xor": ast.BitXor,
}
_COMPARED = {"eq": ast.Eq, "ne": ast.NotEq, "lt": ast.Lt, "le": ast.LtE, "gt": ast.Gt, "ge": ast.GtE}
_OPERATOR = builtins_by_name(
    **{name: _of_two(BINARY[kind]) for name, kind in _ARITHMETIC.items()},
    **{name: _of_two(COMPARISONS[kind]) for name, kind in _COMPARED.items()},
    contains=lambda meter, box, item, /: COMPARISONS[ast.In](meter, item, box),
    getitem=_of_two(get_item),
    iadd=_of_two(IN_PLACE[ast.Add]),
    itemgetter=_itemgetter,
    neg=charge_words(operator.neg),
    not_=charge_words(operator.not_),
)
STATIC[itertools.chain, "from_iterable"] = chain_all

_TEXTS = ("ascii_lowercase", "ascii_uppercase", "ascii_letters", "digits")
_NAMES: dict[str, dict[str, Any]] = {
    **{"math": MATH, "collections": _COLLECTIONS, "functools": _FUNCTOOLS, "itertools": ITERTOOLS, "bisect": BISECT},
    **{"heapq": HEAPQ, "operator": _OPERATOR, "string": {name: getattr(string, name) for name in _TEXTS}},
}
MODULES = {name: Module(name, names) for name, names in _NAMES.items()}
