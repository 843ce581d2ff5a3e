"""What only programs that are counted have: functions written in them, and what stands for Python's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from .meter import Meter, Uncounted

# A call may be this deep, as in Python.
MOST_DEPTH = 990
# Under this name, which no variable has, a frame holds the frame around it.
AROUND = ""
Frame = dict[str, Any]


class Builtin:
    """A function or a type of Python.

    Args:
        name: its name.
        run: what it does: ``run(meter, *arguments, **options)``.
        kind: the type that it is, for isinstance, except and its methods; None where it is no type.
    """

    __slots__ = ("kind", "name", "run")

    def __init__(self, name: str, run: Callable[..., Any], kind: type | None = None):
        self.name, self.run, self.kind = name, run, kind

    def __repr__(self) -> str:
        return f"<class {self.name!r}>" if self.kind else f"<built-in function {self.name}>"


def named(**functions: Callable[..., Any]) -> dict[str, Builtin]:
    """Functions of Python by their names."""
    return {name: Builtin(name, run) for name, run in functions.items()}


class Module(NamedTuple):
    """A module, of which only some names are known."""

    name: str
    names: Mapping[str, Any]


class Parameters(NamedTuple):
    """Of a function: names of those by position (the first ``only`` by position alone), of the one that takes the rest
    of these, of those by keyword alone, and of the one that takes the rest of these."""

    only: int
    names: tuple[str, ...]
    rest: str
    named: tuple[str, ...]
    options: str


class Code(NamedTuple):
    """A function as it is written. ``body`` runs in a frame and gives what is returned in a tuple of one, or None;
    where the function has yield, it gives an iterator of what is yielded."""

    name: str
    parameters: Parameters
    body: Callable[[Frame], Any]
    yields: bool


class Function:
    """A function of the program: its code, the frame around it, and the values of defaults."""

    __slots__ = ("around", "code", "defaults", "meter", "named_defaults", "simple")

    def __init__(self, meter: Meter, code: Code, around: Frame, defaults: Sequence[Any], named: Mapping[str, Any]):
        self.meter, self.code, self.around = meter, code, around
        self.defaults, self.named_defaults = defaults, named
        parameters = code.parameters
        plain = not (parameters.rest or parameters.named or parameters.options)
        # The number of arguments with which there is nothing to work out.
        self.simple = len(parameters.names) if plain else -1

    def __repr__(self) -> str:
        return f"<function {self.code.name}>"

    def call(self, arguments: list[Any], options: Mapping[str, Any] | None = None) -> Any:
        code, meter = self.code, self.meter
        if not options and len(arguments) == self.simple:
            frame: Frame = dict(zip(code.parameters.names, arguments))
        else:
            frame = self._bound(arguments, dict(options or {}))
        frame[AROUND] = self.around
        if code.yields:
            return _driven(meter, code.body(frame))
        if meter.depth >= MOST_DEPTH:
            raise RecursionError("maximum recursion depth exceeded")
        meter.depth += 1
        try:
            returned = code.body(frame)
        finally:
            meter.depth -= 1
        return None if returned is None else returned[0]

    def _bound(self, arguments: list[Any], options: dict[str, Any]) -> Frame:
        """The frame in which each parameter has its value."""
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


def _driven(meter: Meter, values: Any) -> Any:
    """What a function with yield yields; while it is at work, that is a call."""
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


def call(meter: Meter, function: Any, arguments: list[Any], options: Mapping[str, Any] | None = None) -> Any:
    if type(function) is Function:
        return function.call(arguments, options)
    if type(function) is Builtin:
        return function.run(meter, *arguments, **(options or {}))
    raise TypeError(f"{type(function).__name__!r} object is not callable")


def native(meter: Meter, function: Any) -> Callable[..., Any]:
    """A function to be called by Python's own functions."""
    return lambda *arguments: call(meter, function, [*arguments])


def uncounted(name: str, instead: str = "") -> Callable[..., Any]:
    """What a function does that is not counted."""

    def run(*_: Any, **__: Any) -> Any:
        raise Uncounted(f"{name} is not counted here" + (f": use {instead}" if instead else ""))

    return run
