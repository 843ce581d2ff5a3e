"""MiniGrid's levels on our grids: the shared ids, and the levels that MiniGrid's generator draws for its seeds.

    env = gym.make("palaestra/DoorKey-v0", minigrid="MiniGrid-DoorKey-8x8-v0")    # or palaestra/DoorKeyText-v0
    register_minigrid_ids()                                                       # gym.make of these ids makes ours

Only the generator is MiniGrid's (extra [grid]); steps, observations, texts and the oracle are ours. Moving balls use
our random numbers.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from ...errors import InputError, unknown_name
from .grid_rules import GridRules
from .grid_world import World
from .minigrid_surface import read_level
from .tiles import import_minigrid

_MAZES = {"1D": "one door", "2D": "two doors", "1Q": "quarter", "2Q": "half", "Full": "full"}


def _list_ids() -> dict[str, tuple[str, dict[str, Any]]]:
    found: dict[str, tuple[str, dict[str, Any]]] = {"FourRooms-v0": ("FourRooms", {"size": 19})}
    found |= {f"DoorKey-{n}x{n}-v0": ("DoorKey", {"size": n, "obstacles": 0}) for n in (5, 6, 8, 16)}
    found |= {f"LavaGapS{n}-v0": ("LavaGap", {"size": n, "rivers": 1, "hazard": "lava"}) for n in (5, 6, 7)}
    for size, rivers in ((9, 1), (9, 2), (9, 3), (11, 5)):
        for name, hazard in (("Lava", "lava"), ("Simple", "wall")):
            axes = {"size": size, "rivers": rivers, "hazard": hazard}
            found[f"{name}CrossingS{size}N{rivers}-v0"] = "LavaGap", axes
    found |= {f"DistShift{n}-v0": ("DistShift", {"width": 9, "row": row}) for n, row in ((1, 2), (2, 5))}
    for name, rooms, size in (("N2-S4-v0", 2, 4), ("N4-S5-v1", 4, 5)):
        found[f"MultiRoom-{name}"] = "MultiRoom", {"rooms": rooms, "room_size": size}
    for name, task in (("Unlock", "open"), ("UnlockPickup", "pickup"), ("BlockedUnlockPickup", "blocked")):
        found[f"{name}-v0"] = "Unlock", {"task": task, "room_size": 6, "distractors": 0}
    for size, rows in ((3, 1), (3, 2), (3, 3), (4, 3), (5, 3), (6, 3)):
        found[f"KeyCorridorS{size}R{rows}-v0"] = "KeyCorridor", {"rows": rows, "room_size": size}
    for name, half in (("7", 3), ("9", 4), ("11", 5), ("13", 6), ("13Random", 6), ("17Random", 8)):
        length = "random" if name.endswith("Random") else "fixed"
        found[f"MemoryS{name}-v0"] = "HallwayMemory", {"half": half, "length": length}
    for size, balls in (("5x5", 2), ("Random-5x5", 2), ("6x6", 3), ("Random-6x6", 3), ("8x8", 4), ("16x16", 8)):
        axes = {"size": int(size.split("x")[-1]), "obstacles": balls}
        found[f"Dynamic-Obstacles-{size}-v0"] = "MovingObstacles", axes
    for name in ("1Dl-v0", "1Dlh-v0", "1Dlhb-v0", "2Dl-v0", "2Dlh-v0", "2Dlhb-v1", "1Q-v1", "2Q-v1", "Full-v1"):
        kind = name.split("-")[0]
        boxed, blocked = ("h" in kind, "b" in kind) if kind[1] == "D" else (True, True)
        axes = {"maze": _MAZES[kind if kind == "Full" else kind[:2]], "keys": "boxed" if boxed else "open"}
        found[f"ObstructedMaze-{name}"] = "ObstructedMaze", {**axes, "doors": "blocked" if blocked else "clear"}
    found = {f"MiniGrid-{name}": row for name, row in found.items()}
    local = {"GoToLocal": "goto", "PutNextLocal": "putnext"}
    sizes = [(5, 2), (6, 2), (6, 3), (6, 4), (7, 4), (7, 5), *((8, n) for n in range(2, 8))]
    rows = [("GoToLocal", size, things) for size, things in sizes]
    for name, size, things in (*rows, ("PutNextLocal", 5, 3), ("PutNextLocal", 6, 4)):
        axes = {"kind": local[name], "clauses": 1, "rooms": 1, "room_size": size, "distractors": things}
        found[f"BabyAI-{name}S{size}N{things}-v0"] = "BabyAI", axes
    return found


MINIGRID_IDS = _list_ids()
"""Family and axes of each shared id."""
_theirs: dict[str, Any] = {}


def register_minigrid_ids() -> list[str]:
    """Make ``gymnasium.make`` of MiniGrid's ids return our environments, with MiniGrid's levels for its seeds.

    Returns:
        the ids of `MINIGRID_IDS`.

    Raises:
        MissingExtra: MiniGrid is not installed.
    """
    import_minigrid()
    for name, (family, _) in MINIGRID_IDS.items():
        if name not in _theirs:
            _theirs[name] = gym.registry.pop(name)
            ours = gym.spec(f"palaestra/{family}-v0").entry_point
            gym.register(name, ours, kwargs={"minigrid": name, "split": "all"})
    return [*MINIGRID_IDS]


ONE_LEVEL = ("MiniGrid-DistShift1-v0", "MiniGrid-DistShift2-v0")
"""Ids with a single level, independent of the seed."""


class MiniGridLevels:
    """Levels of one of MiniGrid's ids, for an environment of the family that has them.

    Args:
        name: one of `MINIGRID_IDS`.
        family: such as "DoorKey".

    Attributes:
        name: the id.
        axes: values of the family's axes that correspond to the id.

    Raises:
        MissingExtra: MiniGrid is not installed.
        InputError: the id does not belong to this family.
    """

    def __init__(self, name: str, family: str):
        of_family = [known for known, (home, _) in MINIGRID_IDS.items() if home == family]
        if name not in of_family:
            if not of_family:
                raise InputError(f"{family} has no levels of MiniGrid's; leave minigrid={name!r} out.")
            raise unknown_name(f"id of MiniGrid's for {family}", str(name), of_family)
        import_minigrid()
        self.name, self.axes = name, dict(MINIGRID_IDS[name][1])
        spec = _theirs.get(name) or gym.spec(name)
        self._env: Any = spec.make(disable_env_checker=True).unwrapped

    def refuse(self, names: Sequence[str]) -> InputError:
        """Return the error for arguments that the id already fixes."""
        return InputError(f"minigrid={self.name!r} fixes every axis; leave {' and '.join(names)} out.")

    def check_arguments(self, names: Iterable[str]) -> None:
        """Raise InputError for an argument of MiniGrid's constructor, which would make other levels than the id's."""
        classes = [*type(self._env).__mro__]
        generators = classes[: classes.index(import_minigrid().minigrid_env.MiniGridEnv)]
        theirs = {name for each in generators for name in inspect.signature(each.__init__).parameters}
        if taken := sorted(theirs & set(names)):
            raise InputError(
                f"{self.name} is played as MiniGrid registers it; leave {' and '.join(taken)} out, or choose the axes "
                f"of palaestra/{MINIGRID_IDS[self.name][0]}-v0 yourself, without minigrid."
            )

    def draw(self, rules: GridRules, seed: int | None) -> World:
        """Return the level that MiniGrid's ``reset(seed=seed)`` makes."""
        self._env.reset(seed=seed)
        return read_minigrid(self._env, rules)

    def get_state(self) -> dict[str, Any]:
        return self._env.np_random.bit_generator.state

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._env.np_random.bit_generator.state = state


def read_minigrid(env: Any, rules: GridRules) -> World:
    """Return the state of a MiniGrid environment just after its reset, with its mission, as a world of a family.

    Args:
        env: the environment, of a class whose missions the family has.
        rules: the rules of the family.
    """
    return rules.adopt(read_level(env), env.unwrapped)
