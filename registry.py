"""One kind of registry for everything that is looked up by name: verifiers, rewards, teachers, agents, stages, recipes.

A name maps to an object, or to an entry-point string ``"package.module:attribute"`` that is imported on first use, so
that registering a heavy component costs nothing. A registry may know the modules that register its entries, and imports
them when it is first asked for a name it does not have, or for all names. Packages installed beside this one add to a
registry through its entry-point group (``palaestra.teachers`` and so on), which is read at the same moment.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, cast

from .errors import InputError, unknown_name

T = TypeVar("T")
F = TypeVar("F")
# Whoever asks while another thread imports waits for it; one lock for all, as modules ask several registries.
_DISCOVERING = threading.RLock()


class Registry(Generic[T]):
    """Names of one kind.

    Args:
        kind: what an entry is, in the singular ("teacher"); used in error messages.
        group: entry-point group through which other distributions contribute, or None.
        modules: full names of modules, and of packages with their direct modules, that register entries when imported.
        table: the words after ``palaestra list`` that show all names, if there is such a table.
    """

    def __init__(self, kind: str, group: str | None = None, modules: Iterable[str] = (), table: str = ""):
        self.kind = kind
        self.table = table
        self.group = group
        self._modules = list(modules)
        self._entries: dict[str, T | str] = {}
        self._announced: set[str] = set()

    def register(self, name: str) -> Callable[[F], F]:
        """Decorator: ``@TEACHERS.register("my-teacher")``. A name that something else has is refused."""

        def add(value: F) -> F:
            self.add(name, cast(T, value))
            return value

        return add

    def add(self, name: str, value: T | str) -> None:
        """Register ``value`` (or an entry-point string) under ``name``.

        An entry point of another package only announces a name: the module that it points to may register it as well.

        Raises:
            InputError: the name is taken by something else.
        """
        if name in self._entries and self._entries[name] is not value and name not in self._announced:
            raise InputError(f"the {self.kind} name {name!r} is already registered; choose another name.")
        self._entries[name] = value
        self._announced.discard(name)

    def __getitem__(self, name: str) -> T:
        """The registered object. Raises InputError with close names where there is none."""
        if name not in self._entries:
            self._discover()
        if name not in self._entries:
            raise unknown_name(self.kind, name, self._entries, self.table)
        value = self._entries[name]
        if isinstance(value, str):
            module, _, attribute = value.partition(":")
            value = cast(T, getattr(importlib.import_module(module), attribute))
            self._entries[name] = value
        return value

    def check_options(self, name: str, options: Iterable[str]) -> None:
        """Raise InputError, with close names, for an option that the callable under ``name`` does not take."""
        parameters = inspect.signature(cast("Callable[..., Any]", self[name])).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for option in options:
            if option not in parameters:
                raise unknown_name(f"option of the {self.kind} {name!r}:", option, parameters)

    def make(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call what is registered under ``name``.

        Raises:
            InputError: unknown name or option, or one that is required and missing.
        """
        self.check_options(name, options)
        factory = cast("Callable[..., Any]", self[name])
        try:
            inspect.signature(factory).bind(*arguments, **options)
        except TypeError as error:
            raise InputError(f"the {self.kind} {name!r} cannot be made: {error}.") from None
        return factory(*arguments, **options)

    def __contains__(self, name: object) -> bool:
        self._discover()
        return name in self._entries

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._discover()
        return len(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """Every name with its object, loaded, in alphabetical order."""
        return [(name, self[name]) for name in self]

    def _discover(self) -> None:
        with _DISCOVERING:
            self._import()
            self._announce()

    def _import(self) -> None:
        modules, self._modules = self._modules, []  # what is imported may look names up
        try:
            for name in modules:
                module = importlib.import_module(name)
                for child in pkgutil.iter_modules(getattr(module, "__path__", ())):
                    importlib.import_module(f"{name}.{child.name}")
        except BaseException:
            self._modules = modules
            raise

    def _announce(self) -> None:
        for point in entry_points(group=self.group) if self.group else ():
            if point.name not in self._entries:
                value: Any = point.value
                self._entries[point.name] = value
                self._announced.add(point.name)
