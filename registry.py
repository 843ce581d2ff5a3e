"""Registry of objects by name: verifiers, rewards, teachers, agents, stages, recipes.

A name maps to an object, or to an entry-point string ``"package.module:attribute"`` that is imported on first use. A
registry can have a list of modules that register its entries; they are imported when an unknown name or all names are
first requested. At the same time, entries of other installed packages are read from the registry's entry-point group
(``palaestra.teachers`` and so on). In registries that allow it, an object in any module can be named with its module,
``"my_module:my-name"`` or ``"my_module:MyClass"``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import os
import pkgutil
import re
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import EntryPoints, entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, TypeVar, cast

from .errors import InputError, unknown_name

T = TypeVar("T")
F = TypeVar("F")
# Lookups wait while another thread imports. All registries share the lock, as imported modules use several registries.
_DISCOVERING = threading.RLock()
_ROOT = __name__.partition(".")[0]
_IN_MODULE = re.compile(r"([A-Za-z_]\w*(?:\.\w+)*|[^:()]*\.py):([A-Za-z_][\w.-]*)")
"""Matches ``module:name`` or ``file.py:name``, where name is a registered name or an attribute."""


def import_module(name: str) -> ModuleType:
    """Import a module by its name, or by the path of its file, ``mine.py`` or ``folder/mine.py``.

    The folder of the file is added to ``sys.path``.

    Raises:
        ImportError: there is no such module or file, its import fails, or another module of the same name is loaded.
    """
    if not name.endswith(".py"):
        return importlib.import_module(name)
    path = Path(name).expanduser().absolute()
    if not path.is_file():
        raise ImportError(f"there is no file {name}")
    loaded = sys.modules.get(path.stem)
    if loaded is not None and Path(str(getattr(loaded, "__file__", ""))).absolute() != path:
        raise ImportError(f"another module called {path.stem!r} is loaded; give the file another name")
    if str(path.parent) not in sys.path:
        sys.path.insert(0, str(path.parent))
    return importlib.import_module(path.stem)


def installed_entry_points(group: str) -> EntryPoints:
    """Return the entry points of a group. The files of all installed packages are read once, and again after a change
    of ``sys.path`` or in one of its folders; to read them for every lookup would take milliseconds each time."""

    def modified_at(folder: str) -> int:
        try:
            return os.stat(folder or os.curdir).st_mtime_ns
        except OSError:
            return 0

    return _read_entry_points(tuple((folder, modified_at(folder)) for folder in sys.path)).select(group=group)


@functools.lru_cache(maxsize=1)
def _read_entry_points(folders: tuple[tuple[str, int], ...]) -> Any:
    return entry_points()


def take_callable(value: Any) -> Any:
    """Return ``value`` if it is callable. Raises InputError for anything else."""
    if callable(value):
        return value
    raise InputError("is no class or function")


class Registry(Generic[T]):
    """Mapping from names to objects of one kind.

    Args:
        kind: noun for an entry, in the singular ("teacher"), for error messages.
        group: entry-point group by which other packages add entries, or None.
        modules: full names of modules that register entries when imported; for a package, its direct modules as well.
        table: arguments of ``palaestra list`` that show all names; "" if no table does.
        take: ``take(object)`` makes the entry for a name ``module:attribute`` from that attribute, or raises InputError
            with the end of a sentence ("is no class"). None: names with a module are not allowed.
    """

    def __init__(
        self,
        kind: str,
        group: str | None = None,
        modules: Iterable[str] = (),
        table: str = "",
        take: Callable[[Any], T] | None = None,
    ):
        self.kind = kind
        self._take = take
        self._found_in_modules: dict[str, T] = {}
        self.table = table
        self.group = group
        self._modules = list(modules)
        self._entries: dict[str, T | str] = {}
        self._announced: set[str] = set()
        self._own: set[str] = set()  # names that this package's modules have registered

    def register(self, name: str) -> Callable[[F], F]:
        """Return a decorator that registers an object by `add`: ``@TEACHERS.register("my-teacher")``."""

        def add(value: F) -> F:
            self.add(name, cast(T, value))
            return value

        return add

    def add(self, name: str, value: T | str) -> None:
        """Register ``value`` (or an entry-point string) under ``name``; this replaces another package's entry point.

        Raises:
            InputError: another object has the name.
        """
        if name in self._entries and self._entries[name] is not value and name not in self._announced:
            raise InputError(f"the {self.kind} name {name!r} is already registered; choose another name.")
        self._entries[name] = value
        self._announced.discard(name)

    def __getitem__(self, name: str) -> T:
        """Return the object of a name. For ``module:name``, it is the module's attribute of that name, or the object
        that the module registers under that name. Raises InputError with similar names if there is no object."""
        if name not in self._entries:
            self._discover()
        if name not in self._entries and (place := self._split(name)):
            return self._find_in_module(name, *place)
        if name not in self._entries:
            error = unknown_name(self.kind, name, self._entries, self.table)
            if self._take is None or ":" in name or "did you mean" in str(error):
                raise error
            raise InputError(f"{str(error)[:-1]}; one of your own is named with its module, such as mine:{name}.")
        value = self._entries[name]
        if isinstance(value, str):
            module, _, attribute = value.partition(":")
            value = cast(T, getattr(importlib.import_module(module), attribute))
            self._entries[name] = value
        return value

    def check_options(self, name: str, options: Iterable[str]) -> None:
        """Raise InputError, with similar names, for an option that the callable of ``name`` does not accept."""
        parameters = inspect.signature(cast("Callable[..., Any]", self[name])).parameters
        if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters.values()):
            return
        for option in options:
            if option not in parameters:
                raise unknown_name(f"option of the {self.kind} {name!r}:", option, parameters)

    def make(self, name: str, *arguments: Any, **options: Any) -> Any:
        """Call the object of ``name`` with the arguments and options, and return the result.

        Raises:
            InputError: the name or an option is unknown, or a required option is missing.
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
        if name in self._entries:
            return True
        if not isinstance(name, str) or not self._split(name):
            return False
        try:
            self[name]
        except InputError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        self._discover()
        return iter(sorted(self._entries))

    def __len__(self) -> int:
        self._discover()
        return len(self._entries)

    def items(self) -> list[tuple[str, T]]:
        """Return all names with their objects, in alphabetical order. Objects given as entry points are imported."""
        return [(name, self[name]) for name in self]

    def _split(self, name: str) -> tuple[str, str] | None:
        """Return the module and the name in it, for a name ``module:name``; None for others, or if not allowed."""
        found = _IN_MODULE.fullmatch(name) if self._take is not None else None
        return None if found is None else (found[1], found[2])

    def _find_in_module(self, name: str, module: str, inside: str) -> T:
        if name in self._found_in_modules:
            return self._found_in_modules[name]
        try:
            value: Any = import_module(module)
            module = value.__name__
        except ImportError as error:
            raise InputError(
                f"the module {module!r} of {self.kind} {name!r} cannot be imported: {error}; start in the folder of "
                "its file, or name this folder in PYTHONPATH."
            ) from error
        assert self._take is not None
        registered = self.registers(module, inside)
        for part in inside.split("."):
            if not hasattr(value, part):
                if registered:
                    return self[inside]
                own = [key for key, entry in self._entries.items() if getattr(entry, "__module__", None) == module]
                known = [*own, *(key for key in vars(value) if key[0] != "_")]
                raise unknown_name(f"{self.kind} of {module}", part, known)
            value = getattr(value, part)
        try:
            entry = self._take(value)
        except InputError as error:
            if registered:
                return self[inside]
            raise InputError(f"the {self.kind} {name!r} {error}; give module:name of one.") from None
        return self._found_in_modules.setdefault(name, entry)

    def registers(self, module: str, name: str) -> bool:
        """Return True if ``name`` is registered and ``module`` may have done so. A module of another package cannot
        have registered an entry of this package."""
        self._discover()
        if name not in self._entries or module.partition(".")[0] == _ROOT:
            return name in self._entries
        entry = self._entries[name]
        home = entry if isinstance(entry, str) else getattr(entry, "__module__", "")
        from_here = re.split(r"[.:]", home)[0] == _ROOT and (isinstance(entry, str) or callable(entry))
        return not from_here and name not in self._own

    def _discover(self) -> None:
        with _DISCOVERING:
            self._import()
            self._announce()

    def _import(self) -> None:
        # Emptied first, because a module may look up a name during its import, which calls this method again.
        modules, self._modules = self._modules, []
        before = set(self._entries)
        try:
            for name in modules:
                module = importlib.import_module(name)
                for child in pkgutil.iter_modules(getattr(module, "__path__", ())):
                    importlib.import_module(f"{name}.{child.name}")
        except BaseException:
            self._modules = modules
            raise
        self._own |= self._entries.keys() - before

    def _announce(self) -> None:
        for point in installed_entry_points(self.group) if self.group else ():
            if point.name not in self._entries:
                value: Any = point.value
                self._entries[point.name] = value
                self._announced.add(point.name)
