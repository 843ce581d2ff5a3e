"""Levels of a user's own: ids of subclasses of MiniGrid's classes, and the families that play them."""

from __future__ import annotations

from typing import Any

import gymnasium as gym

from ...errors import InputError, unknown_name
from .minigrid_ids import MINIGRID_IDS
from .tiles import import_minigrid

THEIRS: dict[str, Any] = {}
"""MiniGrid's entries of the ids that make our environments now."""
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
"""Family of each class of MiniGrid's whose steps subclasses may share."""


def find_family(name: str) -> str:
    """Return the family that plays a registered id of a subclass of one of MiniGrid's classes: that of the class whose
    ``step`` it has. Levels with MiniGrid's basic steps, for a goal that is to be reached, are BlockMaze's.

    ``gym.make(f"palaestra/{find_family(name)}-v0", minigrid=name)`` plays its levels, also as a text twin.

    Raises:
        InputError: no such id, none of MiniGrid's classes, or a class with steps, rewards or observations of its own.
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
    """Check that MiniGrid or Gymnasium knows an id."""
    return name in MINIGRID_IDS or name in gym.registry or name in THEIRS


def make_theirs(name: str) -> Any:
    """Make MiniGrid's environment of an id, also of one that makes ours now."""
    spec = THEIRS.get(name) or gym.spec(name)
    return spec.make(disable_env_checker=True).unwrapped
