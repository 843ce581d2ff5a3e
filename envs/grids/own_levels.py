"""Levels of a user's own: ids of subclasses of MiniGrid's classes, and the families that play them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ...errors import InputError, unknown_name
from .minigrid_ids import MINIGRID_IDS
from .tiles import import_minigrid

THEIRS: dict[str, Any] = {}
"""MiniGrid's own registry entries of the ids that make our environments now."""
_HOMES = {
    "MiniGridEnv": "BlockMaze",
    "RoomGridLevel": "BabyAI",
    "DynamicObstaclesEnv": "MovingObstacles",
    "FetchEnv": "Fetch",
    "GoToDoorEnv": "GoToDoor",
    "GoToObjectEnv": "GoToObject",
    "MemoryEnv": "HallwayMemory",
    "PutNearEnv": "PutNear",
    "RedBlueDoorEnv": "RedBlueDoors",
}
"""MiniGrid class -> our family, which plays the subclasses that inherit the class's ``step``."""


def find_family(name: str) -> str:
    """Return the family that plays the levels of a registered id of a subclass of MiniGrid's classes. The class from
    which ``step`` is inherited decides; levels with the basic steps of MiniGridEnv are played by BlockMaze.

    ``gym.make(f"palaestra/{find_family(name)}-v0", minigrid=name)`` plays the levels, also as a text twin.

    Raises:
        InputError: there is no such id, it is not of a subclass of MiniGridEnv, or its class overrides steps, rewards
            or observations.
    """
    if name in MINIGRID_IDS:
        return MINIGRID_IDS[name][0]
    if not is_registered(name):
        raise unknown_name("id of MiniGrid's", str(name), MINIGRID_IDS)
    env = make_theirs(name)
    basic = import_minigrid().minigrid_env.MiniGridEnv
    if not isinstance(env, basic):
        raise InputError(f"minigrid={name!r} is no id of a subclass of MiniGrid's MiniGridEnv.")
    for method in ("_reward", "gen_obs", "gen_obs_grid", "step"):
        maker = next(each for each in type(env).__mro__ if method in each.__dict__)
        known = maker.__module__.startswith("minigrid.") and maker.__name__ in _HOMES
        if not (known if method == "step" else maker is basic):
            raise InputError(
                f"{maker.__name__} has its own {method}, which our steps would ignore; "
                f"play {name} with MiniGrid, or write a family of `GridRules`."
            )
    return _HOMES[maker.__name__]


def is_registered(name: str) -> bool:
    """Return True if MiniGrid or Gymnasium knows the id."""
    return name in MINIGRID_IDS or name in gym.registry or name in THEIRS


def make_theirs(name: str) -> Any:
    """Make MiniGrid's environment of an id, even if `register_minigrid_ids` made the id ours."""
    spec = THEIRS.get(name) or gym.spec(name)
    return spec.make(disable_env_checker=True).unwrapped
