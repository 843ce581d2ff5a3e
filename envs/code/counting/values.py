"""Values specific to counted programs: their own functions, and stand-ins for Python's functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .meter import Meter, Uncounted

# Maximum depth of nested calls, as in Python.
MOST_DEPTH = 990
# The key of the enclosing frame in a frame; no variable has this name.
AROUND = ""
Frame = dict[str, Any]


class Builtin:
    """A function or a type of Python.

    Args:
        name: its name.
        run: its implementation: ``run(meter, *arguments, **options)``.
        kind: for a type the type itself, for isinstance, except and its methods; else None.
    """

    __slots__ = ("kind", "name", "run")

    def __init__(self, name: str, run: Callable[..., Any], kind: type | None = None):
        self.name, self.run, self.kind = name, run, kind

    def __repr__(self) -> str:
        return f"<class {self.name!r}>" if self.kind else f"<built-in function {self.name}>"


def builtins_by_name(**functions: Callable[..., Any]) -> dict[str, Builtin]:
    """Make functions of Python, by their names."""
    return {name: Builtin(name, run) for name, run in functions.items()}


class Module(NamedTuple):
    """A module, with the names that are supported."""

    name: str
    names: Mapping[str, Any]


class Parameters(NamedTuple):
    """The parameters of a function: ``names`` of the positional ones (the first ``only`` positional-only), ``rest`` for
    *args, ``named`` for keyword-only ones, and ``options`` for **kwargs ("" where there is none)."""

    only: int
    names: tuple[str, ...]
    rest: str
    named: tuple[str, ...]
    options: str


class Code(NamedTuple):
    """The code of a function. ``body(frame)`` returns a tuple of one with the returned value, or None; for a generator
    function it returns an iterator of the yielded values."""

    name: str
    parameters: Parameters
    body: Callable[[Frame], Any]
    yields: bool


class Function:
    """A function of the program: its code, the frame around it, and the values of its defaults."""

    __slots__ = ("around", "code", "defaults", "meter", "named_defaults", "simple")

    def __init__(self, meter: Meter, code: Code, around: Frame, defaults: Sequence[Any], named: Mapping[str, Any]):
        self.meter, self.code, self.around = meter, code, around
        self.defaults, self.named_defaults = defaults, named
        parameters = code.parameters
        plain = not (parameters.rest or parameters.named or parameters.options)
        # Number of arguments for the fast path that binds parameters in order; -1 if there is no such path.
        self.simple = len(parameters.names) if plain else -1

    def __repr__(self) -> str:
        return f"<function {self.code.name}>"

    def call(self, arguments: list[Any], options: Mapping[str, Any] | None = None) -> Any:
        code, meter = self.code, self.meter
        if not options and len(arguments) == self.simple:
            frame: Frame = dict(zip(code.parameters.names, arguments))
        else:
            frame = self._bind(arguments, dict(options or {}))
        frame[AROUND] = self.around
        if code.yields:
            return _drive(meter, code.body(frame))
        if meter.depth >= MOST_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            returned = code.body(frame)
        finally:
            meter.depth -= 1
        return None if returned is None else returned[0]

    def _bind(self, arguments: list[Any], options: dict[str, Any]) -> Frame:
        """Make the frame in which each parameter has its value."""
        name, (only, names, rest, named, others) = self.code.name, self.code.parameters
        frame: Frame = dict(zip(names, arguments))
        if len(arguments) > len(names) and not rest:
            raise TypeError(f"{name}() takes {len(names)} positional arguments but {len(arguments)} were given")
        if rest:
            frame[rest] = tuple(arguments[len(names) :])
        for key in [*options]:
            if key in names[only:] or key in named:
                if key in frame:
                    raise TypeError(f"{name}() got multiple values for argument {key!r}")
                frame[key] = options.pop(key)
        if others:
            frame[others] = options
        elif options:
            raise TypeError(f"{name}() got an unexpected keyword argument {next(iter(options))!r}")
        first_default = len(names) - len(self.defaults)
        for place, key in enumerate(names):
            if key not in frame:
                if place < first_default:
                    raise TypeError(f"{name}() missing a required argument: {key!r}")
                frame[key] = self.defaults[place - first_default]
        for key in named:
            if key not in frame:
                if key not in self.named_defaults:
                    raise TypeError(f"{name}() missing a required keyword-only argument: {key!r}")
                frame[key] = self.named_defaults[key]
        return frame


def _drive(meter: Meter, values: Any) -> Any:
    """Iterate over the values of a generator function; each resumption counts as a nested call."""
    while True:
        if meter.depth >= MOST_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            value = next(values)
        except StopIteration as end:
            return end.value[0] if end.value is not None else None
        finally:
            meter.depth -= 1
        yield value


def call_function(meter: Meter, function: Any, arguments: list[Any], options: Mapping[str, Any] | None = None) -> Any:
    if type(function) is Function:
        return function.call(arguments, options)
    if type(function) is Builtin:
        return function.run(meter, *arguments, **(options or {}))
    raise TypeError(f"{type(function).__name__!r} object is not callable")


def as_python_function(meter: Meter, function: Any) -> Callable[..., Any]:
    """Wrap a function of the program as one that Python's own functions can call."""
    return lambda *arguments: call_function(meter, function, [*arguments])


def refuse(name: str, instead: str = "") -> Callable[..., Any]:
    """Make the implementation of a function that is not supported: it raises Uncounted."""

    def run(*_: Any, **__: Any) -> Any:
        raise Uncounted(f"{name} is not counted here" + (f": use {instead}" if instead else ""))

    return run
