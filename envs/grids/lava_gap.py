"""palaestra/LavaGap-v0: past rivers of lava, or walls, to the goal in the far corner; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from .cells import EMPTY, GOAL, LAVA, WALL
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import Canvas, World


class LavaGapRules(GridRules):
    """Cross rivers of lava by their gaps to the goal in the far corner.

    Description:
        A square without inner walls; the agent starts in the upper left corner, facing east. One river from north to
        south has one gap; several rivers run in both directions and cross, with gaps along one way to the goal.

    Parameters:
        size (7 to 11, on request 5 to 19): cells along each side, the outer wall included.
        rivers (1 to 4, on request up to 8): rivers, as many as fit at every second place.
        hazard (wall, lava): what the rivers are; stepping into lava ends the episode.

    Termination:
        On reaching the goal, and on stepping into lava, a failure. Truncated after 4 * size**2 steps, MiniGrid's
        limit, and in text after 6 * size turns.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-LavaGap``, ``LavaCrossing`` and
        ``SimpleCrossing``.
    """

    param_space = ParamSpace(
        [
            IntAxis("size", 7, 11, limits=(5, 19)),
            IntAxis("rivers", 1, 4, limits=(1, 8)),
            ChoiceAxis("hazard", ("wall", "lava")),
        ]
    )

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size, hazard = params["size"], LAVA if params["hazard"] == "lava" else WALL
        canvas = Canvas(size, size)
        canvas[size - 2, size - 2] = GOAL
        if params["rivers"] == 1:
            x = int(rng.integers(2, size - 2))
            canvas.column(x, 1, size - 2, hazard)
            canvas[x, int(rng.integers(1, size - 1))] = EMPTY
            return canvas.world((1, 1), 0)
        places = [(down, at) for down in (True, False) for at in range(2, size - 2, 2)]
        chosen = [places[i] for i in rng.permutation(len(places))[: params["rivers"]].tolist()]
        columns, rows = (sorted(at for down, at in chosen if down is which) for which in (True, False))
        for x in columns:
            canvas.column(x, 1, size - 2, hazard)
        for y in rows:
            canvas.row(1, y, size - 2, hazard)
        # One way from room to room, which crosses each river once.
        right, below = [0, *columns, size - 1], [0, *rows, size - 1]
        i = j = 0
        for east in rng.permutation([True] * len(columns) + [False] * len(rows)).tolist():
            if east:
                canvas[right[i + 1], int(rng.integers(below[j] + 1, below[j + 1]))] = EMPTY
                i += 1
            else:
                canvas[int(rng.integers(right[i] + 1, right[i + 1])), below[j + 1]] = EMPTY
                j += 1
        return canvas.world((1, 1), 0)

    def mission(self, world: World) -> str:
        if LAVA in world.cells:
            return "avoid the lava and get to the green goal square"
        return "find the opening and get to the green goal square"

    def limit(self, world: World) -> int:
        return 4 * world.width**2

    def turns(self, world: World) -> int:
        return 6 * world.width


LavaGap, LavaGapText = define_family(LavaGapRules)
