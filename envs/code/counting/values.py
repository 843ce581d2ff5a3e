"""Values specific to counted programs: their own functions, and stand-ins for Python's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

from .meter import Meter, Uncounted

# Maximum depth of nested calls, as in Python.
MOST_DEPTH = 990


class Builtin:
    """Stand-in for a built-in function or type of Python, which charges the meter for its work.

    Args:
        name: the function's or type's name.
        run: the implementation: ``run(meter, *arguments, **options)``.
        kind: the type itself, used by isinstance, except and methods called on the type; None for a function.
    """

    __slots__ = ("kind", "name", "run")

    def __init__(self, name: str, run: Callable[..., Any], kind: type | None = None):
        self.name, self.run, self.kind = name, run, kind

    def __repr__(self) -> str:
        return f"<class {self.name!r}>" if self.kind else f"<built-in function {self.name}>"


def builtins_by_name(**functions: Callable[..., Any]) -> dict[str, Builtin]:
    """Return a `Builtin` for each implementation, by name."""
    return {name: Builtin(name, run) for name, run in functions.items()}


@dataclass(frozen=True, eq=False)
class Module:
    """A module of Python: the names that are supported, with their values."""

    name: str
    names: Mapping[str, Any]


class Function:
    """A function of the program, which only `call_function` calls."""

    __slots__ = ("run", "yields")

    def __init__(self, run: FunctionType):
        self.run, self.yields = run, run.__code__.co_flags & inspect.CO_GENERATOR

    def __repr__(self) -> str:
        return f"<function {self.run.__name__}>"


def call_function(meter: Meter, function: Any, /, *given: Any, **options: Any) -> Any:
    kind = type(function)
    if kind is Function:
        if function.yields:
            return _drive(meter, function.run(*given, **options))
        if meter.depth >= MOST_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            return function.run(*given, **options)
        finally:
            meter.depth -= 1
    if kind is Builtin:
        return function.run(meter, *given, **options)
    raise TypeError(f"{kind.__name__!r} object is not callable")


def _drive(meter: Meter, values: Iterator[Any]) -> Iterator[Any]:
    """Iterate over the values of a generator function; each resumption counts as a nested call."""
    while True:
        if meter.depth >= MOST_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            value = next(values)
        except StopIteration as end:
            return end.value
        finally:
            meter.depth -= 1
        yield value


def as_python_function(meter: Meter, function: Any) -> Any:
    """Wrap a function of the program as one that Python's own functions can call. None stays None."""
    return None if function is None else lambda *arguments: call_function(meter, function, *arguments)


def refuse(name: str, instead: str = "") -> Callable[..., Any]:
    """Return the implementation of an unsupported function, which raises Uncounted."""

    def run(*_: Any, **__: Any) -> Any:
        raise Uncounted(f"{name} is not counted here" + (f": use {instead}" if instead else ""))

    return run
