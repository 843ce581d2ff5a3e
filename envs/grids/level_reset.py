"""`LevelReset`, the reset of gridworlds: a level is drawn, by us or by MiniGrid, or taken from the request."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from ...errors import InputError
from ..task_env import TaskEnv
from .grid_planner import draw_level
from .grid_rules import GridRules, LevelFunctions
from .grid_world import World
from .minigrid_levels import MiniGridLevels


class LevelReset(TaskEnv):
    """Mixin of native grids and text twins.

    Args:
        minigrid: the id of MiniGrid's whose generator draws the levels, under the same seeds, whatever the split: one
            of `minigrid_levels.MINIGRID_IDS` of this family; None draws our own. Needs the extra [grid].
        **kwargs: see `TaskEnv`. Axes are those of the id where one is given.

    Raises:
        MissingExtra: MiniGrid is not installed.
        InputError: an id of another family, or an axis beside an id.
    """

    rules: GridRules
    rules_class: ClassVar[type[GridRules]]
    _given: World | None = None

    def __init__(self, *, minigrid: str | None = None, **kwargs: Any):
        self._levels = None
        if minigrid is not None:
            self._levels = MiniGridLevels(minigrid, self.rules_class.__name__.removesuffix("Rules"))
            twice = sorted({"axes", *self.param_space.names} & set(kwargs))
            if twice:
                raise InputError(f"minigrid={minigrid!r} fixes every axis; leave {' and '.join(twice)} out.")
            kwargs |= self._levels.axes
        super().__init__(**kwargs)

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        params = options.get("params") if isinstance(options, Mapping) else None
        world, rest = self.rules.given(params if isinstance(params, Mapping) else {})
        if world is None and self._levels is not None:
            world = self._levels.draw(self.rules, seed)
        if world is None:
            return super().begin(seed, options)
        # A level that is given is played whatever its split.
        split, self.split, self._given = self.split, "all", world
        try:
            return super().begin(seed, {**(options or {}), "params": rest})
        finally:
            self.split, self._given = split, None

    @property
    def level_functions(self) -> LevelFunctions | None:
        """How teachers of levels generate and edit levels of this environment; None where it draws them itself."""
        return self.rules.level_functions(self.param_space)

    def get_state(self) -> dict[str, Any]:
        own = {"minigrid": self._levels.get_state()} if self._levels is not None else {}
        return {**super().get_state(), **own}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        if self._levels is not None and "minigrid" in state:
            self._levels.set_state(state["minigrid"])

    def draw_world(self, rng: np.random.Generator, params: dict[str, Any]) -> World:
        """Return the level that is given, or draw one."""
        return draw_level(self.rules, rng, params) if self._given is None else self._given


def check_horizon(max_steps: Any) -> int | None:
    """Return ``max_steps`` if it is None or a positive whole number. Raise InputError otherwise."""
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
        raise InputError(f"max_steps must be a whole number of at least 1, or None, not {max_steps!r}.")
    return max_steps
