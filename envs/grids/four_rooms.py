"""palaestra/FourRooms-v0: from one of four rooms to a goal in any of them; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import EMPTY, GOAL
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import Canvas, World


class FourRoomsRules(GridRules):
    """Reach the goal in one of four rooms that have openings in their walls.

    Description:
        Two walls cross in the middle of a square; each of the four arms has one opening. Agent and goal lie anywhere.

    Parameters:
        size (7 to 19, on request up to 25): cells along each side, the outer wall included; MiniGrid has 19.

    Termination:
        On reaching the goal. Truncated after 100 steps, or 5 * size where that is more, and in text
        after 5 * size turns.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-FourRooms``; Sutton, Precup and Singh, 1999.
    """

    param_space = ParamSpace([IntAxis("size", 7, 19, limits=(7, 25))])

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        canvas, half = Canvas(size, size), size // 2
        canvas.column(half, 0, size)
        canvas.row(0, half, size)
        for low, high in ((1, half), (half + 1, size - 1)):
            canvas[half, int(rng.integers(low, high))] = EMPTY
            canvas[int(rng.integers(low, high)), half] = EMPTY
        free = canvas.free()
        agent, goal = (free[place] for place in rng.choice(len(free), 2, replace=False).tolist())
        canvas[goal] = GOAL
        return canvas.world(agent, int(rng.integers(4)))

    def mission(self, world: World) -> str:
        return "reach the goal"

    def limit(self, world: World) -> int:
        return max(100, 5 * world.width)

    def turns(self, world: World) -> int:
        return 5 * world.width


FourRooms, FourRoomsText = define_family(
    FourRoomsRules,
    grid={
        "note": "Going forward all the time meets the goal by chance in a few levels.",
    },
    text={
        "note": "Going forward all the time meets the goal by chance in a few levels.",
    },
)
