"""MiniGrid's levels on our grids: its ids, and the levels that its generator draws for its seeds.

    env = gym.make("palaestra/DoorKey-v0", minigrid="MiniGrid-DoorKey-8x8-v0")    # or palaestra/DoorKeyText-v0
    register_minigrid_ids()                                                       # gym.make of these ids makes ours

Only the generator is MiniGrid's (extra [grid]; [wfc] for its ids with that name); steps, observations, texts and the
oracle are ours.
"""

from __future__ import annotations

import contextlib
import inspect
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import gymnasium as gym

from ...errors import InputError, MissingExtra, unknown_name
from .grid_rules import GridRules
from .grid_world import World
from .minigrid_ids import MINIGRID_IDS
from .minigrid_surface import read_level
from .tiles import import_minigrid

_theirs: dict[str, Any] = {}


def register_minigrid_ids(*own: str) -> list[str]:
    """Make ``gymnasium.make`` of MiniGrid's ids return our environments, with MiniGrid's levels for its seeds.

    Args:
        own: ids of your own subclasses of MiniGrid's classes, which are made ours, too; see `find_family`.

    Returns:
        the ids of `MINIGRID_IDS`, and these.

    Raises:
        MissingExtra: MiniGrid is not installed.
        InputError: an id of your own that has steps of its own.
    """
    import_minigrid()
    homes = {name: family for name, (family, _) in MINIGRID_IDS.items()} | {name: find_family(name) for name in own}
    for name, family in homes.items():
        if name not in _theirs:
            _theirs[name] = gym.registry.pop(name)
            ours = gym.spec(f"palaestra/{family}-v0").entry_point
            gym.register(name, ours, kwargs={"minigrid": name, "split": "all"})
    return [*homes]


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
    if not _is_registered(name):
        raise unknown_name("id of MiniGrid's", str(name), MINIGRID_IDS)
    env = _make(name)
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


def _is_registered(name: str) -> bool:
    return name in MINIGRID_IDS or name in gym.registry or name in _theirs


def _make(name: str) -> Any:
    spec = _theirs.get(name) or gym.spec(name)
    return spec.make(disable_env_checker=True).unwrapped


class MiniGridLevels:
    """Levels of one of MiniGrid's ids, for an environment of the family that has them.

    Args:
        name: one of `MINIGRID_IDS`, or an id of your own; see `find_family`.
        family: such as "DoorKey".

    Attributes:
        name: the id.
        axes: values of the family's axes that correspond to the id; empty where none do.
        family: as above.

    Raises:
        MissingExtra: MiniGrid, or what its id needs, is not installed.
        InputError: the id does not belong to this family.
    """

    def __init__(self, name: str, family: str):
        if not _is_registered(name) or find_family(name) != family:
            of_family = [known for known, (place, _) in MINIGRID_IDS.items() if place == family]
            if not of_family:
                raise InputError(f"{family} has no levels of MiniGrid's; leave minigrid={name!r} out.")
            raise unknown_name(f"id of MiniGrid's for {family}", str(name), of_family)
        import_minigrid()
        if "-WFC-" in name:
            try:
                import imageio  # noqa: F401  # read by MiniGrid's generator at a reset
                import networkx  # noqa: F401
            except ImportError:
                raise MissingExtra(f"The generator of {name}", "wfc") from None
            if not _make(name).config.pattern_path.is_file():
                raise InputError(
                    f"the generator of {name} reads a picture that this installation of MiniGrid lacks, as its "
                    "published packages do; pip install 'minigrid[wfc] @ git+https://github.com/Farama-Foundation/Minigrid'."
                )
        self.name, self.family = name, family
        self.axes: dict[str, Any] = dict(MINIGRID_IDS[name][1]) if name in MINIGRID_IDS else {}
        self._env = _make(name)

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
                f"of palaestra/{self.family}-v0 yourself, without minigrid."
            )

    @property
    def env(self) -> Any:
        """MiniGrid's environment, which draws the levels; its steps are not used."""
        return self._env

    def draw(self, rules: GridRules, seed: int | None, before: World | None = None) -> World:
        """Return the level that MiniGrid's ``reset(seed=seed)`` makes.

        Args:
            rules: of the family.
            seed: None to go on with the generator.
            before: the last state of the episode before.
        """
        if seed is None and before is not None:
            rules.leave(before, self._env)
        with contextlib.redirect_stdout(io.StringIO()):  # BabyAI prints the levels that it rejects
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
