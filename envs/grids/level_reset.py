"""`LevelReset`, the reset of gridworlds: it draws a level, with our generator or MiniGrid's, or takes a given one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ..param_space import ParamSpace
from ..splits import split_of
from ..task_env import MAX_TRIES, TaskEnv
from .grid_planner import draw_level
from .grid_rules import GridRules, LevelFunctions
from .grid_world import World
from .minigrid_ids import ONE_LEVEL
from .minigrid_levels import MiniGridLevels


class LevelReset(TaskEnv):
    """Mixin of native grids and text twins.

    Args:
        minigrid: the MiniGrid id whose generator draws the levels: one of `minigrid_ids.MINIGRID_IDS` of this family,
            or the id of a class of yours (see `own_levels.find_family`); None for our generator. Under split="all" a
            seed gives the same level as in MiniGrid; under other splits MiniGrid's generator continues from that level
            until one belongs to the split. Needs MiniGrid (palaestra[grid]).
        **kwargs: see `TaskEnv`. With a MiniGrid id, neither axes nor difficulty may be given: the id fixes them.

    Raises:
        MissingExtra: MiniGrid is not installed.
        InputError: the id belongs to another family, or an axis or a difficulty is given together with an id.
    """

    rules: GridRules
    rules_class: ClassVar[type[GridRules]]
    _given: World | None = None
    _level_seed: int | None = None
    _level_limit: int | None = None

    def __init__(self, *, minigrid: str | None = None, **kwargs: Any):
        self._levels = None
        if minigrid is not None:
            self._levels = MiniGridLevels(minigrid, self.rules_class.__name__.removesuffix("Rules"))
            asked = {name for name, value in kwargs.items() if name != "difficulty" or value is not None}
            if twice := sorted({"axes", "difficulty", *self.param_space.names} & asked):
                raise self._levels.refuse(twice)
            self._levels.check_arguments(asked - TaskEnv.option_names())
            kwargs |= self._levels.axes
            if not self._levels.axes:
                self.param_space = ParamSpace(())
            self.takes_difficulty = False
        super().__init__(**kwargs)

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        params = options.get("params") if isinstance(options, Mapping) else None
        world, rest = self.rules.read_level(params if isinstance(params, Mapping) else {})
        if self._levels is not None and isinstance(options, Mapping) and options.get("difficulty") is not None:
            raise self._levels.refuse(["reset's option 'difficulty'"])
        if world is None:
            self._level_seed = seed
        # A given level, or the only level of an id, is played in every split.
        split = self.split
        if world is not None or (self._levels is not None and self._levels.name in ONE_LEVEL):
            self.split = "all"
        self._given = world
        try:
            return super().begin(seed, options if world is None else {**(options or {}), "params": rest})
        finally:
            self.split, self._given = split, None

    @property
    def level_functions(self) -> LevelFunctions | None:
        """Functions with which teachers of levels generate and edit levels of this environment; None if it only draws
        levels itself."""
        return self.rules.level_functions(self.param_space)

    def get_state(self) -> dict[str, Any]:
        own = {"minigrid": self._levels.get_state()} if self._levels is not None else {}
        return {**super().get_state(), **own}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        if self._levels is not None and "minigrid" in state:
            self._levels.set_state(state["minigrid"])

    def sees_through(self) -> bool:
        """Return the default of ``see_through_walls``: True if walls hide nothing from the agent."""
        return self.rules.see_through if self._levels is None else bool(self._levels.env.see_through_walls)

    def last_world(self) -> World | None:
        """Return the present state of the world, None before the first reset."""
        raise NotImplementedError

    def draw_world(self, rng: np.random.Generator, params: dict[str, Any]) -> World:
        """Return the given level, or draw one.

        Raises:
            InputError: MiniGrid's generator makes no level of the split in `MAX_TRIES` draws.
        """
        self._level_limit = None
        if self._given is not None:
            return self._given
        if self._levels is None:
            return draw_level(self.rules, rng, params)
        seed, self._level_seed = self._level_seed, None
        before = self.last_world()
        for _ in range(MAX_TRIES):
            world, seed, before = self._levels.draw(self.rules, seed, before), None, None
            self._level_limit = int(self._levels.env.max_steps)
            if self.split in ("all", split_of(self.rules.split_key(world) or self.rules.content(world))):
                return world
        axes = " ".join(f"{name}={value}" for name, value in self._levels.axes.items()) or "the family"
        raise InputError(
            f"{self._levels.name} has no {self.split} level in {MAX_TRIES} draws of its generator; play it with "
            f"split='all', or our own levels of {axes}, without minigrid."
        )


def check_horizon(max_steps: Any) -> int | None:
    """Return ``max_steps`` if it is None or a positive whole number. Raise InputError otherwise."""
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
        raise InputError(f"max_steps must be a whole number of at least 1, or None, not {max_steps!r}.")
    return max_steps
