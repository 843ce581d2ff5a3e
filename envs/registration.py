"""Registration with Gymnasium, plus a list of the ids registered here (for tests, tables and the command line)."""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gymnasium as gym

from ..errors import InputError, find_near, unknown_name
from ..registry import installed_entry_points

TABLE = Path(__file__).with_name("registered.json")
"""Id -> "module:Class" of every environment of this package, so that none is imported before it is made."""
ADAPTERS = Path(__file__).with_name("adapters.json")
"""The same for environments that play the tasks of other projects and have no solver, which `ids` does not list."""
_ids: list[str] = []
_adapters: list[str] = []
_stated: dict[str, str] = {}
"""Id -> entry point of the environments whose modules are imported."""
_VERY_LIKE = 0.8
"""Minimum share of equal letters for suggesting one of Gymnasium's own ids for an unknown id."""


def register(
    id: str, entry_point: str | Callable[..., gym.Env[Any, Any]], *, listed: bool = True, **kwargs: Any
) -> None:
    """Register an id, so that ``gymnasium.make(id)`` works and `ids` lists it.

    Args:
        id: "namespace/Name-v0".
        entry_point: "package.module:Class", or the class itself. A class that can be imported is kept as such a string,
            so that ``spec.to_json()`` works.
        listed: False for an adapter of another project's tasks, which `ids` does not list.
        **kwargs: passed on to ``gymnasium.register`` (``max_episode_steps``, ``kwargs`` for the constructor, ...).

    Raises:
        InputError: the id is malformed.
    """
    module, name = getattr(entry_point, "__module__", None), getattr(entry_point, "__qualname__", "")
    named = isinstance(entry_point, type) and module and module != "__main__" and name.isidentifier()
    if named and getattr(sys.modules.get(str(module)), name, None) is entry_point:
        entry_point = f"{module}:{name}"
    known, own = gym.registry.get(id), _ids if listed else _adapters
    if (
        id in own
        and known is not None
        and known.entry_point == entry_point
        and known.kwargs == kwargs.get("kwargs", {})
    ):
        # Registered before by the table of ids or from the entry point of its package, and now again by its module.
        _stated[id] = str(entry_point)
        return
    try:
        gym.register(id=id, entry_point=entry_point, **kwargs)
    except gym.error.Error as error:
        raise InputError(f"the environment id {id!r} cannot be registered: {error}") from None
    _stated[id] = str(entry_point)
    if id not in own:
        own.append(id)


def register_table() -> None:
    """Register the environments of this package by their entry points in `TABLE` and `ADAPTERS`."""
    for table in (TABLE, ADAPTERS):
        for env_id, place in json.loads(table.read_text("utf-8")).items():
            register(env_id, place, listed=table is TABLE)
    _stated.clear()


def stated_by_modules(listed: bool = True) -> dict[str, str]:
    """Return id -> entry point of the environments that imported modules have registered, in alphabetical order: those
    in `ids`, or the adapters."""
    return {name: place for name, place in sorted(_stated.items()) if name in (_ids if listed else _adapters)}


def register_installed() -> None:
    """Register the environments that installed packages announce in the entry-point group ``palaestra.envs``, as
    "namespace/Name-v0" = "module:Class". A module is imported only when one of its environments is made. An invalid
    entry gives a warning."""
    for point in installed_entry_points("palaestra.envs"):
        try:
            register(point.name, point.value)
        except InputError as error:
            warnings.warn(f"{point.dist.name if point.dist else 'a package'}: {error}", stacklevel=2)


def ids() -> list[str]:
    """Return every id registered through `register`, in alphabetical order."""
    return sorted(_ids)


def unknown_environment(env_id: str) -> InputError:
    """Return the error for an unknown id; the message suggests similar registered ids, and for a file of questions the
    environment that asks them. Gymnasium's own ids, which have no namespace, are suggested only if they are very
    similar."""
    if Path(env_id).is_file():
        return InputError(
            f"{env_id!r} is a file, not an environment; its questions are asked by palaestra/Dataset-v0 with the "
            f"option source={env_id} (--env-option on the command line)."
        )
    bare = [name for name in gym.registry if "/" not in name and name not in _ids]
    others = [name for name in gym.registry if "/" in name]
    near = find_near(env_id, others) + find_near(env_id, bare, like=_VERY_LIKE)
    return unknown_name("environment", env_id, near or ids(), "envs")


def make_registered(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    """Make an environment by its id, without Gymnasium's environment checker.

    Raises:
        InputError: no environment has this id.
    """
    try:
        return gym.make(env_id, disable_env_checker=True, **kwargs)
    except gym.error.UnregisteredEnv:
        raise unknown_environment(env_id) from None


def import_families(package: str, path: Iterable[str]) -> None:
    """Import every module of a package; each module registers its families. A package calls this as
    ``import_families(__name__, __path__)``."""
    for module in pkgutil.iter_modules(path):
        importlib.import_module(f"{package}.{module.name}")
