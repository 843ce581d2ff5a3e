"""A plugin of pytest with which MiniGrid's own tests run on this package's gridworlds: each of MiniGrid's ids makes the
environment of this package that plays its levels.

In a checkout of MiniGrid, of the installed version:

    python -m pytest -p palaestra.benchmarks.grids.minigrid_tests tests/test_envs.py tests/test_wrappers.py
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from typing import Any

import gymnasium as gym

from ...envs.grids.minigrid_ids import MINIGRID_IDS
from ...errors import InputError, MissingExtra


def make_ours(name: str, **kwargs: Any) -> gym.Env[Any, Any]:
    """Make the environment that plays the levels of one of MiniGrid's ids, ``name``."""
    family, _ = MINIGRID_IDS[name]
    return gym.make(f"palaestra/{family}-v0", disable_env_checker=True, minigrid=name, split="all", **kwargs).unwrapped


def pytest_configure() -> None:
    """Let MiniGrid's tests make our environments, by specification and by id; those whose levels this installation of
    MiniGrid cannot draw are left out. This package itself still gets MiniGrid's, whose levels it reads."""
    importlib.import_module("minigrid")  # registers its ids
    utilities: Any = importlib.import_module("tests.utils")
    theirs = gym.make
    for names in (utilities.all_testing_env_specs, utilities.minigrid_testing_env_specs):
        names[:] = [
            dataclasses.replace(spec, entry_point=f"{__name__}:make_ours", kwargs={"name": spec.id})
            for spec in names
            if is_played(spec.id)
        ]

    def make(name: Any, *arguments: Any, **kwargs: Any) -> Any:
        is_own = sys._getframe(1).f_globals["__name__"].startswith("palaestra.")
        if is_own or name not in MINIGRID_IDS:
            return theirs(name, *arguments, **kwargs)
        spec = dataclasses.replace(gym.spec(name), entry_point=f"{__name__}:make_ours", kwargs={"name": name})
        return theirs(spec, *arguments, **kwargs)

    gym.make = make


def is_played(name: str) -> bool:
    """Return True if an id is MiniGrid's, and its levels can be drawn here."""
    if name not in MINIGRID_IDS:
        return False
    try:
        make_ours(name).close()
    except (MissingExtra, InputError):
        return False
    return True
