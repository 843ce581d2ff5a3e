"""Guards: the functions that a rewritten program calls in place of Python's operations, bound to its meter."""

from __future__ import annotations

import functools
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from types import MethodType
from typing import Any

from .comparisons import COMPARISONS
from .formatting import format_value
from .functions import BUILTINS
from .items import delete_item, get_item, set_item
from .meter import MAPPINGS, SIZED, Meter, OutOfWork, Uncounted, charge_each, iterator, walk, weight
from .methods import METHODS, attribute
from .modules import MODULES
from .operators import BINARY, IN_PLACE, UNARY
from .values import Builtin, Function, call_function

# An assignment target of several parts: their number, whether one is starred, and (place, shape) of each nested target.
Shape = tuple[int, bool, tuple[tuple[int, Any], ...]]
_NO_METHODS: dict[str, Any] = {}


def make_guards(meter: Meter) -> dict[str, Any]:
    """Return the built-in names of a program: the guards, with a dot before their names, and Python's functions."""
    guards = {f".{name}": MethodType(run, meter) for name, run in _METERED.items()}
    called = {f".builtin.{name}": MethodType(one.run, meter) for name, one in BUILTINS.items() if type(one) is Builtin}
    return {**guards, **called, **_UNMETERED, **BUILTINS, ".charge": meter.charge}


def _get_item(meter: Meter, box: Any, key: Any) -> Any:
    if type(box) is list and type(key) is int:
        return box[key]
    return get_item(meter, box, key)


def _method(meter: Meter, box: Any, name: str) -> Callable[..., Any]:
    """Return the function that a call of ``box.name`` runs."""
    method = METHODS.get(type(box), _NO_METHODS).get(name)
    if method is None:
        return functools.partial(call_function, meter, attribute(meter, box, name))
    return functools.partial(method, meter, box)


def _make_set(meter: Meter, *values: Any) -> set[Any]:
    meter.charge(sum([weight(meter, value) for value in values]))
    return set(values)


def _weigh(meter: Meter, key: Any) -> Any:
    """Charge for hashing a key, and return the key."""
    meter.charge(weight(meter, key))
    return key


def _check_mapping(meter: Meter, value: Any) -> Any:
    """Charge for unpacking a mapping, and return the mapping."""
    if type(value) not in MAPPINGS:
        raise TypeError(f"{type(value).__name__!r} object is not a mapping")
    meter.charge(len(value))
    return value


def _unpack(meter: Meter, value: Any, shape: Shape) -> Iterable[Any]:
    """Return the values for a target. Python then assigns them, and raises ValueError if their number is wrong."""
    count, starred, inner = shape
    if type(value) in SIZED and not starred:
        meter.charge(count)
        values = value
    else:
        values = walk(meter, value)
    if not inner:
        return values
    # At most one value more than expected is read.
    values = list(values if starred else itertools.islice(values, count + 1))
    if len(values) == count or (starred and len(values) >= count - 1):
        for place, shape_there in inner:
            values[place] = _unpack(meter, values[place], shape_there)
    return values


def _rows(meter: Meter, values: Iterator[Any], shape: Shape) -> Iterator[Iterable[Any]]:
    for value in values:
        meter.charge(1)
        yield _unpack(meter, value, shape)


def _join_text(meter: Meter, *parts: str) -> str:
    meter.charge(sum(map(len, parts)))
    return "".join(parts)


# Chains of comparisons, which stop at the first that fails. The meter keeps the right operand for the next comparison.


def _begin_chain(holds: Callable[..., Any]) -> Callable[..., Any]:
    def run(meter: Meter, left: Any, right: Any) -> Any:
        result = holds(meter, left, right)
        if result:
            meter.kept.append(right)
        return result

    return run


def _continue_chain(compare: Callable[..., Any]) -> Callable[..., Any]:
    def run(meter: Meter, right: Any) -> Any:
        meter.charge(1)
        return compare(meter, meter.kept.pop(), right)

    return run


# Exceptions.


def _catch(kinds: Callable[[], Any]) -> Any:
    """Return the first of the types ``kinds()`` that the exception being handled is an instance of; () if none."""
    error = sys.exception()
    if not isinstance(error, Exception):
        return ()
    given = kinds()
    for kind in given if type(given) is tuple else (given,):
        if type(kind) is not Builtin or kind.kind is None or not issubclass(kind.kind, Exception):
            raise TypeError("catching classes that do not inherit from BaseException is not allowed")
        if isinstance(error, kind.kind):
            return kind.kind
    return ()


def _check_final() -> None:
    """Raise the exception again that ends the program, so that no statement of a `finally` block runs or returns."""
    error = sys.exception()
    if isinstance(error, (OutOfWork, Uncounted)):
        raise error


def _check_raised(meter: Meter, error: Any) -> Exception:
    if type(error) is Builtin and error.kind is not None:
        error = call_function(meter, error)
    if not isinstance(error, Exception):
        raise TypeError("exceptions must derive from BaseException")
    return error


_COMPARED = {kind.__name__: run for kind, run in COMPARISONS.items()}
_METERED: dict[str, Callable[..., Any]] = {
    **{kind.__name__: run for kind, run in (*BINARY.items(), *UNARY.items(), *COMPARISONS.items())},
    **{f"in place {kind.__name__}": run for kind, run in IN_PLACE.items()},
    **{f"first {name}": _begin_chain(run) for name, run in _COMPARED.items()},
    **{f"next {name}": _continue_chain(_begin_chain(run)) for name, run in _COMPARED.items()},
    **{f"last {name}": _continue_chain(run) for name, run in _COMPARED.items()},
    "attribute": attribute,
    "call": call_function,
    "charge_each": charge_each,
    "check_mapping": _check_mapping,
    "check_raised": _check_raised,
    "decorate": lambda meter, decorator: functools.partial(call_function, meter, decorator),
    "delete_item": delete_item,
    "format_value": format_value,
    "get_item": _get_item,
    "join_text": _join_text,
    "make_set": _make_set,
    "method": _method,
    "rows": _rows,
    "set_item": lambda meter, value, box, key: set_item(meter, box, key, value),
    "unpack": _unpack,
    "walk": walk,
    "weigh": _weigh,
}
_UNMETERED: dict[str, Any] = {
    ".Exception": BUILTINS["Exception"],
    ".catch": _catch,
    ".check_final": _check_final,
    ".function": Function,
    ".iterate": iterator,
    ".make_tuple": lambda *values: values,
    ".slice": slice,
    **{f".{name}": module for name, module in MODULES.items()},
    **{f".{name}.{key}": value for name, module in MODULES.items() for key, value in module.names.items()},
}
