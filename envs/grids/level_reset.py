"""`LevelReset`, the reset of gridworlds: a level is drawn, or taken from the request where a family can be given one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..task_env import TaskEnv
from .grid_planner import draw_level
from .grid_rules import GridRules
from .grid_world import World


class LevelReset(TaskEnv):
    """Mixin of native grids and text twins."""

    rules: GridRules
    _given: World | None = None

    def begin(self, seed: int | None, options: dict[str, Any] | None) -> Any:
        params = options.get("params") if isinstance(options, Mapping) else None
        world, rest = self.rules.given(params if isinstance(params, Mapping) else {})
        if world is None:
            return super().begin(seed, options)
        # A level that is given is played whatever its split.
        split, self.split, self._given = self.split, "all", world
        try:
            return super().begin(seed, {**(options or {}), "params": rest})
        finally:
            self.split, self._given = split, None

    def draw_world(self, rng: np.random.Generator, params: dict[str, Any]) -> World:
        """Return the level that is given, or draw one."""
        return draw_level(self.rules, rng, params) if self._given is None else self._given
