"""`LevelReset`, the reset of gridworlds: a level is drawn, or taken from the request where a family allows it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError
from ..task_env import TaskEnv
from .grid_planner import draw_level
from .grid_rules import GridRules, LevelFunctions
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

    @property
    def level_functions(self) -> LevelFunctions | None:
        """How teachers of levels generate and edit levels of this environment; None where it draws them itself."""
        return self.rules.level_functions(self.param_space)

    def draw_world(self, rng: np.random.Generator, params: dict[str, Any]) -> World:
        """Return the level that is given, or draw one."""
        return draw_level(self.rules, rng, params) if self._given is None else self._given


def check_horizon(max_steps: Any) -> int | None:
    """Return ``max_steps`` if it is None or a positive whole number. Raise InputError otherwise."""
    if max_steps is not None and (isinstance(max_steps, bool) or not isinstance(max_steps, int) or max_steps < 1):
        raise InputError(f"max_steps must be a whole number of at least 1, or None, not {max_steps!r}.")
    return max_steps
