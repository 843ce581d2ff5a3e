"""Checks of arguments, shared by all packages. A check returns the checked value, or raises InputError.

A class derived from `Declared` declares each option once. Its constructor, the checks, the documentation and, for
teachers, the saved settings are made from the declarations::

    @register("tests-passed")
    class TestsPassed(Reward):
        partial: float = option(default=1.0, low=0, high=1, says="factor of the share of passed tests")

Functions that users call check their arguments at the beginning; the code that they call relies on checked values.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from types import NoneType, SimpleNamespace, UnionType
from typing import Any, Literal, TypeVar, Union, cast, dataclass_transform, get_args, get_origin, get_type_hints

import numpy as np

from .errors import InputError, unknown_name

T = TypeVar("T")
C = TypeVar("C", bound=type)


def check_number(
    name: str, value: Any, low: float = -math.inf, high: float = math.inf, *, above: float = -math.inf
) -> float:
    """Return ``value`` as a float if it is a finite number in [low, high] and greater than ``above``.

    Raises:
        InputError: ``value`` is anything else.
    """
    known = isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)
    try:
        number = float(value) if known else math.nan
    except OverflowError:
        raise InputError(f"{name} must be a finite number, not a whole number beyond every float.") from None
    if math.isfinite(number) and low <= number <= high and number > above:
        return number
    span = describe_range(low, high, above)
    kind = "a number" if span.startswith("in") else "a finite number"
    raise InputError(f"{name} must be {f'{kind} {span}'.strip()}, not {value!r}.")


def describe_range(low: float, high: float, above: float = -math.inf) -> str:
    """Return a text for the range of a number, to follow a noun: "above 0", "of at least 1"; "" without bounds."""
    if math.isfinite(above):
        return f"above {above:g}" + ("" if math.isinf(high) else f" and at most {high:g}")
    if math.isinf(high):
        return "" if math.isinf(low) else f"of at least {low:g}"
    return f"of at most {high:g}" if math.isinf(low) else f"in [{low:g}, {high:g}]"


def check_share(name: str, value: Any, *, positive: bool = False) -> float:
    """Return ``value`` as a float if it is a number in [0, 1], or in (0, 1] if ``positive`` is True.

    Raises:
        InputError: ``value`` is anything else.
    """
    return check_number(name, value, high=1.0, above=0.0) if positive else check_number(name, value, 0.0, 1.0)


def check_numbers(name: str, values: Any) -> tuple[float, ...]:
    """Return ``values`` as floats if each is a finite number.

    Raises:
        InputError: ``values`` is no sequence of numbers, or a number is not finite.
    """
    try:
        numbers = tuple(map(float, values))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"{name} must be a sequence of numbers, not {values!r}.") from error
    if not all(map(math.isfinite, numbers)):
        worst = next(number for number in numbers if not math.isfinite(number))
        raise InputError(f"{name} is {worst}; drop failed episodes instead of passing a number that is not finite.")
    return numbers


def check_texts(name: str, values: Any, least: int = 1) -> list[str]:
    """Return ``values`` as a list if they are different texts that are not empty, and at least ``least``.

    Raises:
        InputError: ``values`` is anything else.
    """
    texts = list(values) if isinstance(values, list | tuple) else []
    if len(texts) < least or len({*map(str, texts)}) < len(texts) or not all(isinstance(t, str) and t for t in texts):
        raise InputError(f"{name} must be a list of {least} or more different texts, not {values!r}.")
    return texts


def check_count(name: str, value: Any, low: int = 0, unit: str = "", *, high: float = math.inf) -> int:
    """Return ``value`` as an int if it is a whole number in [low, high]. ``unit`` is for the error message.

    Raises:
        InputError: ``value`` is anything else.
    """
    if isinstance(value, int | np.integer) and not isinstance(value, bool) and low <= value <= high:
        return int(value)
    span = f"of at least {low}" if math.isinf(high) else f"from {low} to {high:g}"
    raise InputError(f"{name} must be a whole number {span}{unit and f' ({unit})'}, not {value!r}.")


def check_choice(name: str, value: T, choices: Iterable[T]) -> T:
    """Return ``value`` if it is one of ``choices``.

    Raises:
        InputError: ``value`` is no choice; the message names similar choices.
    """
    known: Collection[T] = tuple(choices)
    if value in known:
        return value
    raise unknown_name(f"{name}:", str(value), map(str, known))


@dataclasses.dataclass(frozen=True)
class DeclaredOption:
    """Declaration of one option; for the attributes see `option`."""

    low: float | None
    high: float
    above: float
    choices: Iterable[Any] | Callable[[], Iterable[Any]]
    check: Callable[[str, Any], Any] | None
    unit: str
    saved: bool
    group: str
    says: str

    def take(self, name: str, value: Any, kind: Any) -> Any:
        """Check a value of the option, and return the value to store, converted to the type of the option.

        Args:
            kind: annotated type of the option.

        Raises:
            InputError: the value is out of range, or none of the choices.
        """
        parts = get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)
        if value is None and NoneType in parts:
            return None
        if self.check is not None:
            return self.check(name, value)
        if self.choices:
            return check_choice(name, value, self.choices() if callable(self.choices) else self.choices)
        kinds = [part for part in parts if part is not NoneType]
        if len(kinds) != 1:
            return value
        if get_origin(kinds[0]) is Literal:
            return check_choice(name, value, get_args(kinds[0]))
        if kinds[0] is bool:
            return bool(value)
        if kinds[0] is int:
            return check_count(name, value, 0 if self.low is None else int(self.low), self.unit, high=self.high)
        if kinds[0] is float:
            return check_number(name, value, -math.inf if self.low is None else self.low, self.high, above=self.above)
        return value


def option(
    *,
    default: Any = dataclasses.MISSING,
    default_factory: Any = dataclasses.MISSING,
    low: float | None = None,
    high: float = math.inf,
    above: float = -math.inf,
    choices: Iterable[Any] | Callable[[], Iterable[Any]] = (),
    check: Callable[[str, Any], Any] | None = None,
    unit: str = "",
    saved: bool = True,
    init: bool = True,
    kw_only: bool | Any = dataclasses.MISSING,
    group: str = "",
    says: str = "",
) -> Any:
    """Declare an option of a class (see `declared`).

    The annotated type decides the check: an int or float is compared with the bounds, a ``Literal`` with its values,
    and a bool is converted by ``bool``. None is accepted if the annotation allows it, or if None is the default (for a
    class whose `Declared.setup` replaces it).

    Args:
        default: value if none is given.
        default_factory: function that makes the default. Without it and ``default`` the option is required.
        low, high: least and greatest value of a number; without ``low``, the least int is 0.
        above: number that a float must be greater than.
        choices: the allowed values, or a function that returns them, called at each check.
        check: ``check(name, value)`` returns the value to store, or raises InputError. With ``check``, the bounds, the
            choices and the type are not checked.
        unit: unit of an int, for the error message.
        saved: False for an option that is not among a teacher's saved settings.
        init: False if the option is no argument of the constructor, because a subclass fixes it to the default.
        kw_only: as for `dataclasses.field`; by default as the class decorator says.
        group: heading under which the command line shows the option.
        says: description, for the documentation of the class and the help of the command line.
    """
    declared = DeclaredOption(low, high, above, choices, check, unit, saved, group, says)
    metadata = {"option": declared}
    if default_factory is not dataclasses.MISSING:
        return dataclasses.field(default_factory=default_factory, init=init, kw_only=kw_only, metadata=metadata)
    return dataclasses.field(default=default, init=init, kw_only=kw_only, metadata=metadata)


@dataclass_transform(frozen_default=True, field_specifiers=(option, dataclasses.field))
def record(cls: C) -> C:
    """Class decorator that makes a frozen dataclass whose fields are options, to be checked by `check_record`.

    An annotated plain value, ``epochs: int = 2``, changes the default of an option that a base class declares.
    """
    _take_defaults(cls, declared_options(cls))
    dataclasses.dataclass(frozen=True)(cls)
    cls.__doc__ = _document(inspect.cleandoc(cls.__doc__ or ""), declared_options(cls))
    return cls


def check_record(values: Any, prefix: str = "") -> None:
    """Check all options of a `record` and store the checked values. ``prefix`` is put before names in error messages.

    Raises:
        InputError: an option is out of range.
    """
    kinds = _option_types(type(values))
    for name, declared in declared_options(type(values)).items():
        object.__setattr__(values, name, declared.take(prefix + name, getattr(values, name), kinds[name]))


class Declared:
    """Base of classes with declared options (see `declared`)."""

    def __init__(self) -> None:  # of a class without options
        self.setup()

    def __post_init__(self) -> None:
        self.take_options({name: getattr(self, name) for name in declared_options(type(self))})
        self.setup()

    def take_options(self, values: Mapping[str, Any], owner: type | None = None) -> None:
        """Check the options declared by ``owner`` (default: the object's class) and store them as attributes. An option
        missing in ``values`` gets its default.

        Raises:
            InputError: a name is unknown, or a value is out of range.
        """
        owner = owner or type(self)
        options, kinds = declared_options(owner), _option_types(owner)
        for name in values:
            check_choice(f"option of {owner.__name__}", name, options)
        for name, declared in options.items():
            value = values.get(name, getattr(owner, name, None))
            stands_for_default = value is None and getattr(owner, name, dataclasses.MISSING) is None
            setattr(self, name, None if stands_for_default else declared.take(name, value, kinds[name]))

    def setup(self) -> None:
        """Check how options relate to each other, and prepare the object's state. Called after each option is checked;
        does nothing by default."""


@dataclass_transform(eq_default=False, field_specifiers=(option,))
def declared(cls: C) -> C:
    """Class decorator that writes the constructor of a `Declared` class from its options.

    The constructor checks and stores every option, then calls `Declared.setup`. The docstring gets a section "Args"
    from ``says`` of the options, and a section "Raises" if it has none. An annotated value, ``floor: float = 0.1``,
    changes the default of a base's option. A class that defines ``__init__``, or has no options, is returned unchanged.

    Raises:
        TypeError: an annotated attribute is neither an option nor a ClassVar.
    """
    return _declare(cls, kw_only=False)


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(option,))
def keyword_declared(cls: C) -> C:
    """Class decorator like `declared`, but options are keyword-only unless declared with ``kw_only=False``."""
    return _declare(cls, kw_only=True)


def _declare(cls: C, kw_only: bool) -> C:
    if "__init__" in vars(cls):
        return cls
    inherited = declared_options(cls) if makes_by_options(cls) else {}
    _take_defaults(cls, inherited)
    own = any(isinstance(value, dataclasses.Field) for value in vars(cls).values())
    if not own and not inherited:
        return cls
    text = inspect.cleandoc(cls.__doc__ or "")  # before dataclasses write one
    if own:
        dataclasses.dataclass(eq=False, repr=False, match_args=False, kw_only=kw_only)(cls)
    undeclared = [field.name for field in dataclasses.fields(cast(Any, cls)) if "option" not in field.metadata]
    if undeclared:
        raise TypeError(f"{cls.__name__}.{undeclared[0]} must be declared by option(...), or as a ClassVar.")
    cls.__doc__ = _document(text, _sort_options(cls))
    return cls


def _take_defaults(cls: type, inherited: Mapping[str, DeclaredOption]) -> None:
    """Turn the annotated plain values of a class into new defaults of the inherited options of the same names."""
    for name in inherited.keys() & inspect.get_annotations(cls).keys() & vars(cls).keys():
        if not isinstance(default := vars(cls)[name], dataclasses.Field):
            setattr(cls, name, dataclasses.field(default=default, metadata={"option": inherited[name]}))


def makes_by_options(cls: type) -> bool:
    """Return True if the constructor of a class, which may be inherited, was written from declared options."""
    return "__dataclass_fields__" in vars(next(base for base in cls.__mro__ if "__init__" in vars(base)))


def declared_options(cls: type) -> dict[str, DeclaredOption]:
    """Return the options that a `Declared` class declares or inherits, by name; {} for a class without any."""
    fields = dataclasses.fields(cls) if dataclasses.is_dataclass(cls) else ()
    return {field.name: field.metadata["option"] for field in fields if "option" in field.metadata}


@functools.cache
def _option_types(cls: type) -> dict[str, Any]:
    kinds: dict[str, Any] = {}
    options = declared_options(cls)
    for base in reversed(cls.__mro__):
        # Other annotations may name types that are imported for type checkers only.
        own = {name: kind for name, kind in inspect.get_annotations(base).items() if name in options}
        kinds |= get_type_hints(SimpleNamespace(__annotations__=own), vars(sys.modules[base.__module__]))
    return kinds


def _sort_options(cls: type) -> dict[str, DeclaredOption]:
    """Return the options of a class sorted for the documentation: required options first, then options of the class,
    then options of its bases."""
    bases = [inspect.get_annotations(base) for base in cls.__mro__]
    depth = {name: next(i for i, own in enumerate(bases) if name in own) for name in declared_options(cls)}
    return dict(sorted(declared_options(cls).items(), key=lambda one: (hasattr(cls, one[0]), depth[one[0]])))


def _document(text: str, options: dict[str, DeclaredOption]) -> str:
    """Return a docstring with sections "Args", from ``says`` of the options, and "Raises", unless it has them."""
    lines = [
        textwrap.fill(f"{name}: {option.says}", 116, initial_indent=" " * 4, subsequent_indent=" " * 8)
        for name, option in options.items()
        if option.says
    ]
    if not lines or re.search(r"^Args:$", text, re.MULTILINE):
        return text
    section = re.search(r"^(Attributes|Raises|Note):$", text, re.MULTILINE)
    end = section.start() if section else len(text)
    raises = "" if re.search(r"^Raises:$", text, re.MULTILINE) else "Raises:\n    InputError: an option out of range."
    parts = (text[:end].rstrip(), "Args:\n" + "\n".join(lines), text[end:], raises)
    return "\n\n".join(part for part in parts if part)


class WatchedMapping(dict[Any, Any]):
    """A dictionary that notes in ``read`` which of its keys were looked up."""

    def __init__(self, values: Mapping[Any, Any]):
        super().__init__(values)
        self.read: set[Any] = set()

    def __getitem__(self, key: Any) -> Any:
        self.read.add(key)
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        self.read.add(key)
        return super().get(key, default)

    def pop(self, key: Any, *default: Any) -> Any:
        self.read.add(key)
        return super().pop(key, *default)

    def __iter__(self) -> Iterator[Any]:  # without it, dict(self) and {**self} would not call __getitem__
        return super().__iter__()

    def items(self) -> Any:
        self.read |= self.keys()
        return super().items()

    def values(self) -> Any:
        self.read |= self.keys()
        return super().values()

    def copy(self) -> dict[Any, Any]:
        return dict(self)

    def __or__(self, other: Any) -> Any:
        return dict(self) | other
