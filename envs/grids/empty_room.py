"""palaestra/EmptyRoom-v0: a room without anything but the goal; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import GOAL
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import Canvas, World


class EmptyRoomRules(GridRules):
    """Reach the goal in the far corner of an empty room.

    Description:
        A square without inner walls. The goal is in the lower right corner; the agent starts anywhere else, and sees
        through walls. MiniGrid's levels, except for the "Random" ones, start in the upper left corner, facing east.

    Parameters:
        size (5 to 16, on request up to 25): cells along each side, the outer wall included.

    Termination:
        On reaching the goal. Truncated after 4 * size**2 steps, MiniGrid's limit, and in text after 4 * size turns.
        Going forward all the time, and a random walk, meet the goal by chance in the smaller rooms.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Empty``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 16, limits=(5, 25))])
    see_through = True

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        canvas = Canvas(size, size)
        canvas[size - 2, size - 2] = GOAL
        free = canvas.free()
        return canvas.world(free[int(rng.integers(len(free)))], int(rng.integers(4)))

    def mission(self, world: World) -> str:
        return "get to the green goal square"

    def limit(self, world: World) -> int:
        return 4 * world.width**2

    def turns(self, world: World) -> int:
        return 4 * world.width


EmptyRoom, EmptyRoomText = define_family(EmptyRoomRules)
