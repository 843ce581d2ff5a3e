"""Levels of MiniGrid's ids, drawn by MiniGrid's own generator for the same seeds, played in our environments.

    env = gym.make("palaestra/DoorKey-v0", minigrid="MiniGrid-DoorKey-8x8-v0")    # or palaestra/DoorKeyText-v0
    register_minigrid_ids()                                                       # gym.make of these ids makes ours

Only the generator is MiniGrid's (it needs palaestra[grid], and palaestra[wfc] for ids with "WFC"); steps, observations,
texts and the oracle are ours.
"""

from __future__ import annotations

import contextlib
import importlib.util
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
from .own_levels import THEIRS, find_family, is_registered, make_theirs
from .tiles import import_minigrid


def register_minigrid_ids(*own: str) -> list[str]:
    """Make ``gymnasium.make`` of MiniGrid's ids return our environments, with MiniGrid's levels for its seeds.

    Args:
        own: ids of your subclasses of MiniGrid's classes, which then make our environments, too; see `find_family`.

    Returns:
        the ids of `MINIGRID_IDS`, and those in ``own``.

    Raises:
        MissingExtra: MiniGrid is not installed.
        InputError: `find_family` refuses an id in ``own``.
    """
    import_minigrid()
    homes = {name: family for name, (family, _) in MINIGRID_IDS.items()} | {name: find_family(name) for name in own}
    for name, family in homes.items():
        if name not in THEIRS:
            THEIRS[name] = gym.registry.pop(name)
            ours = gym.spec(f"palaestra/{family}-v0").entry_point
            gym.register(name, ours, kwargs={"minigrid": name, "split": "all"})
    return [*homes]


class MiniGridLevels:
    """Levels of one of MiniGrid's ids, for an environment of the family that has them.

    Args:
        name: one of `MINIGRID_IDS`, or the id of a class of yours; see `find_family`.
        family: name of the family, such as "DoorKey".

    Attributes:
        name, family: the arguments.
        axes: values of the family's axes that describe the id's levels; empty if none do.

    Raises:
        MissingExtra: MiniGrid, or a package that the id needs, is not installed.
        InputError: the id does not belong to this family.
    """

    def __init__(self, name: str, family: str):
        if not is_registered(name) or find_family(name) != family:
            of_family = [known for known, (place, _) in MINIGRID_IDS.items() if place == family]
            if not of_family:
                raise InputError(f"{family} has no levels of MiniGrid's; leave minigrid={name!r} out.")
            raise unknown_name(f"id of MiniGrid's for {family}", str(name), of_family)
        import_minigrid()
        if "-WFC-" in name:
            if any(importlib.util.find_spec(package) is None for package in ("imageio", "networkx")):
                raise MissingExtra(f"The generator of {name}", "wfc")
            if not make_theirs(name).config.pattern_path.is_file():
                raise InputError(
                    f"the generator of {name} reads a picture that this installation of MiniGrid lacks, as its "
                    "published packages do; pip install 'minigrid[wfc] @ git+https://github.com/Farama-Foundation/Minigrid'."
                )
        self.name, self.family = name, family
        self.axes: dict[str, Any] = dict(MINIGRID_IDS[name][1]) if name in MINIGRID_IDS else {}
        self._env = make_theirs(name)

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
            rules: the rules of the family.
            seed: None continues from the generator's present state.
            before: the last state of the preceding episode, for `GridRules.end_episode` if ``seed`` is None.
        """
        if seed is None and before is not None:
            rules.end_episode(before, self._env)
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
