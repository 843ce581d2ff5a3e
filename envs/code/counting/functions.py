"""Python's built-in functions, types and exceptions, with their costs."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

from .formatting import format_value, write_repr, write_str
from .mathematics import charge_words
from .meter import MAPPINGS, SIZED, Meter, charge_each, extra_words, iterator, size, walk, walk_keys, weight
from .methods import key_value_pairs
from .operators import add, floor_divide, modulo, power
from .sorting import largest_of, smallest_of, sorted_list
from .values import Builtin, Function, call_function, refuse

_NONE = object()
_REVERSIBLE = frozenset({str, list, tuple, range, collections.deque, *MAPPINGS})
# Digits per word of a number that is read from text.
_DIGITS = 16


# Numbers.


def _int(meter: Meter, value: Any = 0, /, *base: Any, **named: Any) -> int:
    if isinstance(value, str):
        meter.charge(len(value) + (len(value) // _DIGITS) ** 2)
    elif isinstance(value, int):
        meter.charge(extra_words(value))
    return int(value, *base, **named)


def _round(meter: Meter, number: Any, ndigits: Any = None) -> Any:
    meter.charge(extra_words(number) ** 2 if isinstance(number, int) else 0)
    return round(number, ndigits)


def _digits(write: Callable[[Any], str]) -> Callable[..., str]:
    def run(meter: Meter, number: Any, /) -> str:
        text = write(number)
        meter.charge(len(text))
        return text

    return run


# Over sequences.


def _sum(meter: Meter, values: Any, /, start: Any = 0) -> Any:
    if isinstance(start, str):
        raise TypeError("sum() can't sum strings [use ''.join(seq) instead]")
    items = walk(meter, values)
    if isinstance(start, (int, float)) and type(values) in SIZED:
        total = sum(items, start)
        if isinstance(total, int) and extra_words(total):
            meter.charge(len(values) * extra_words(total))
        return total
    for item in items:
        start = add(meter, start, item)
    return start


def _len(_: Meter, value: Any, /) -> int:
    if type(value) not in SIZED:
        raise TypeError(f"object of type {type(value).__name__!r} has no len()")
    return len(value)


def _reversed(_: Meter, values: Any, /) -> Iterator[Any]:
    if type(values) not in _REVERSIBLE:
        raise TypeError(f"{type(values).__name__!r} object is not reversible")
    return reversed(values)


def _next(meter: Meter, values: Any, /, *default: Any) -> Any:
    if not hasattr(values, "__next__"):
        raise TypeError(f"{type(values).__name__!r} object is not an iterator")
    meter.charge(1)
    return next(values, *default)


def _zip(meter: Meter, /, *sources: Any, strict: Any = False) -> Iterator[tuple[Any, ...]]:
    return charge_each(meter, zip(*map(iterator, sources), strict=bool(strict)), len(sources))


def _map(meter: Meter, function: Any, source: Any, /, *sources: Any) -> Iterator[Any]:
    rows = charge_each(meter, zip(*map(iterator, (source, *sources))), 1 + len(sources))
    return (call_function(meter, function, *row) for row in rows)


def _filter(meter: Meter, function: Any, source: Any, /) -> Iterator[Any]:
    values = charge_each(meter, iterator(source))
    return (value for value in values if (value if function is None else call_function(meter, function, value)))


def _dict(meter: Meter, source: Any = (), /, **options: Any) -> dict[str, Any]:
    meter.charge(len(options))
    return dict(key_value_pairs(meter, source), **options)


def _is_of(value: Any, kinds: Any) -> bool:
    if type(kinds) is tuple:
        return any([_is_of(value, kind) for kind in kinds])
    if type(kinds) is not Builtin or kinds.kind is None:
        raise TypeError("isinstance() arg 2 must be a type or a tuple of types")
    return isinstance(value, kinds.kind)


def _print(meter: Meter, /, *values: Any, sep: Any = " ", end: Any = "\n") -> None:
    for value in values:
        write_str(meter, value)


def _exception(kind: type[Exception]) -> Builtin:
    def run(meter: Meter, /, *given: Any) -> Exception:
        meter.charge(weight(meter, given))
        return kind(*given)

    return Builtin(kind.__name__, run, kind)


_NAMED: dict[str, Callable[..., Any]] = {
    "abs": charge_words(abs),
    "all": lambda meter, values, /: all(charge_each(meter, iterator(values))),
    "any": lambda meter, values, /: any(charge_each(meter, iterator(values))),
    "chr": lambda _, value, /: chr(value),
    "callable": lambda _, value, /: type(value) in (Function, Builtin),
    "divmod": lambda meter, left, right, /: (floor_divide(meter, left, right), modulo(meter, left, right)),
    "enumerate": lambda meter, iterable, start=0: charge_each(meter, enumerate(iterator(iterable), start)),
    "filter": _filter,
    "format": lambda meter, value, form="", /: format_value(meter, value, form),
    "isinstance": lambda _, value, kinds, /: _is_of(value, kinds),
    "iter": lambda _, values, /, *sentinel: (
        refuse("iter with two arguments", "a loop")() if sentinel else iterator(values)
    ),
    **{"len": _len, "map": _map, "max": largest_of, "min": smallest_of, "next": _next, "pow": power},
    "ord": lambda _, value, /: ord(value),
    **{"print": _print, "repr": lambda meter, value, /: write_repr(meter, value), "reversed": _reversed},
    **{"round": _round, "sorted": sorted_list, "sum": _sum, "zip": _zip},
    **{f.__name__: _digits(f) for f in (bin, hex, oct)},
}
_TYPES: dict[type, Callable[..., Any]] = {
    bool: lambda _, value=False, /: bool(value),
    dict: _dict,
    float: lambda meter, value=0.0, /: meter.charge(size(value)) and float(value),
    frozenset: lambda meter, values=(), /: values if type(values) is frozenset else frozenset(walk_keys(meter, values)),
    int: _int,
    list: lambda meter, values=(), /: list(walk(meter, values)),
    range: lambda _, /, *bounds: range(*bounds),
    set: lambda meter, values=(), /: set(walk_keys(meter, values)),
    str: lambda meter, value="", /: write_str(meter, value),
    tuple: lambda meter, values=(), /: values if type(values) is tuple else tuple(walk(meter, values)),
}
_EXCEPTIONS = (
    *(ArithmeticError, AssertionError, AttributeError, EOFError, Exception, IndexError, KeyError, LookupError),
    *(MemoryError, NameError, NotImplementedError, OverflowError, RecursionError, RuntimeError, StopIteration),
    *(TypeError, UnboundLocalError, ValueError, ZeroDivisionError),
)
_INSTEAD = {"input": "the arguments", "type": "isinstance", "open": "the arguments", "sys": "the arguments"}
_UNCOUNTED = (
    *("__import__", "aiter", "anext", "ascii", "breakpoint", "bytearray", "bytes", "classmethod", "compile", "complex"),
    *("delattr", "dir", "eval", "exec", "exit", "getattr", "globals", "hasattr", "hash", "help", "id", "input"),
    *("issubclass", "locals", "memoryview", "object", "open", "property", "quit", "setattr", "slice", "staticmethod"),
    *("super", "type", "vars"),
)
BUILTINS: dict[str, Any] = {
    **{name: Builtin(name, refuse(name, _INSTEAD.get(name, ""))) for name in _UNCOUNTED},
    **{name: Builtin(name, run) for name, run in _NAMED.items()},
    **{kind.__name__: Builtin(kind.__name__, run, kind) for kind, run in _TYPES.items()},
    **{kind.__name__: _exception(kind) for kind in _EXCEPTIONS},
    # Handlers can catch no more than Exception.
    "BaseException": _exception(Exception),
    "__name__": "answer",
}
