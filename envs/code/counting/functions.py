"""Python's built-in functions, types and exceptions, with their costs."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from typing import Any

from .formatting import format_value, write_repr, write_str
from .meter import MAPPINGS, SIZED, Meter, extra_words, iterator, size, walk, walk_keys, weight
from .methods import key_value_pairs
from .operators import add, floor_divide, modulo, power
from .sorting import greatest, least, sorted_list
from .values import Builtin, Function, call_function, refuse

_NONE = object()
_REVERSIBLE = frozenset({str, list, tuple, range, collections.deque, *MAPPINGS})
# Digits per word of a number that is read from text.
_DIGITS = 16


# Numbers.


def _abs(meter: Meter, number: Any, /) -> Any:
    meter.charge(extra_words(number) if isinstance(number, int) else 0)
    return abs(number)


def _int(meter: Meter, value: Any = 0, /, *base: Any, **named: Any) -> int:
    if isinstance(value, str):
        meter.charge(len(value) + (len(value) // _DIGITS) ** 2)
    elif isinstance(value, int):
        meter.charge(extra_words(value))
    return int(value, *base, **named)


def _float(meter: Meter, value: Any = 0.0, /) -> float:
    meter.charge(size(value))
    return float(value)


def _divmod(meter: Meter, left: Any, right: Any, /) -> tuple[Any, Any]:
    return floor_divide(meter, left, right), modulo(meter, left, right)


def _pow(meter: Meter, base: Any, exp: Any, mod: Any = None) -> Any:
    return power(meter, base, exp, mod)


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


def _all(meter: Meter, values: Any, /) -> bool:
    for value in iterator(values):
        meter.charge(1)
        if not value:
            return False
    return True


def _any(meter: Meter, values: Any, /) -> bool:
    for value in iterator(values):
        meter.charge(1)
        if value:
            return True
    return False


def _len(_: Meter, value: Any, /) -> int:
    if type(value) not in SIZED:
        raise TypeError(f"object of type {type(value).__name__!r} has no len()")
    return len(value)


def _reversed(_: Meter, values: Any, /) -> Iterator[Any]:
    if type(values) not in _REVERSIBLE:
        raise TypeError(f"{type(values).__name__!r} object is not reversible")
    return reversed(values)


def _iter(_: Meter, values: Any, /, *sentinel: Any) -> Iterator[Any]:
    return refuse("iter with two arguments", "a loop")() if sentinel else iterator(values)


def _next(meter: Meter, values: Any, /, *default: Any) -> Any:
    if not hasattr(values, "__next__"):
        raise TypeError(f"{type(values).__name__!r} object is not an iterator")
    meter.charge(1)
    return next(values, *default)


def _enumerate(meter: Meter, iterable: Any, start: int = 0) -> Iterator[tuple[int, Any]]:
    return _charge_each(meter, enumerate(iterator(iterable), start), 1)


def _zip(meter: Meter, /, *sources: Any, strict: Any = False) -> Iterator[tuple[Any, ...]]:
    return _charge_each(meter, zip(*map(iterator, sources), strict=bool(strict)), len(sources))


def _charge_each(meter: Meter, values: Iterator[Any], each: int) -> Iterator[Any]:
    for value in values:
        meter.charge(each)
        yield value


def _map(meter: Meter, function: Any, source: Any, /, *sources: Any) -> Iterator[Any]:
    return _map_rows(meter, function, zip(*map(iterator, (source, *sources))))


def _map_rows(meter: Meter, function: Any, rows: Iterator[tuple[Any, ...]]) -> Iterator[Any]:
    for row in rows:
        meter.charge(len(row))
        yield call_function(meter, function, *row)


def _filter(meter: Meter, function: Any, source: Any, /) -> Iterator[Any]:
    return _filter_values(meter, function, iterator(source))


def _filter_values(meter: Meter, function: Any, values: Iterator[Any]) -> Iterator[Any]:
    for value in values:
        meter.charge(1)
        if value if function is None else call_function(meter, function, value):
            yield value


# Types.


def _list(meter: Meter, values: Any = (), /) -> list[Any]:
    return list(walk(meter, values))


def _tuple(meter: Meter, values: Any = (), /) -> tuple[Any, ...]:
    return values if type(values) is tuple else tuple(walk(meter, values))


def _set(meter: Meter, values: Any = (), /) -> set[Any]:
    return set(walk_keys(meter, values))


def _frozenset(meter: Meter, values: Any = (), /) -> frozenset[Any]:
    return values if type(values) is frozenset else frozenset(walk_keys(meter, values))


def _dict(meter: Meter, source: Any = (), /, **options: Any) -> dict[str, Any]:
    meter.charge(len(options))
    return dict(key_value_pairs(meter, source), **options)


def _str(meter: Meter, value: Any = "", /) -> str:
    return write_str(meter, value)


def _format(meter: Meter, value: Any, form: str = "", /) -> str:
    return format_value(meter, value, form)


def _is_of(value: Any, kinds: Any) -> bool:
    if type(kinds) is tuple:
        return any([_is_of(value, kind) for kind in kinds])
    if type(kinds) is not Builtin or kinds.kind is None:
        raise TypeError("isinstance() arg 2 must be a type or a tuple of types")
    return isinstance(value, kinds.kind)


def _isinstance(_: Meter, value: Any, kinds: Any, /) -> bool:
    return _is_of(value, kinds)


def _callable(_: Meter, value: Any, /) -> bool:
    return type(value) in (Function, Builtin)


def _print(meter: Meter, /, *values: Any, sep: Any = " ", end: Any = "\n") -> None:
    for value in values:
        write_str(meter, value)


def _exception(kind: type[Exception]) -> Builtin:
    def run(meter: Meter, /, *given: Any) -> Exception:
        meter.charge(weight(meter, given))
        return kind(*given)

    return Builtin(kind.__name__, run, kind)


_NAMED: dict[str, Callable[..., Any]] = {
    **{"abs": _abs, "divmod": _divmod, "pow": _pow, "round": _round},
    **{f.__name__: _digits(f) for f in (bin, hex, oct)},
    **{f.__name__: (lambda meter, value, /, f=f: f(value)) for f in (chr, ord)},
    **{"sum": _sum, "all": _all, "any": _any, "len": _len, "min": least, "max": greatest, "sorted": sorted_list},
    **{"reversed": _reversed, "iter": _iter, "next": _next, "map": _map, "filter": _filter, "zip": _zip},
    **{"repr": lambda meter, value, /: write_repr(meter, value), "format": _format, "enumerate": _enumerate},
    **{"isinstance": _isinstance, "callable": _callable, "print": _print},
}
_TYPES: dict[type, Callable[..., Any]] = {
    **{int: _int, float: _float, str: _str, list: _list, tuple: _tuple, set: _set, frozenset: _frozenset},
    **{dict: _dict, bool: lambda _, value=False, /: bool(value), range: lambda _, /, *bounds: range(*bounds)},
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
