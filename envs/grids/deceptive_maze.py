"""palaestra/DeceptiveMaze-v0: dead-end pockets between the agent and the goal; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import GOAL
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import Canvas, World

HEIGHT, MIDDLE = 9, 4


class DeceptiveMazeRules(GridRules):
    """Reach a goal straight ahead, behind dead-end pockets that force detours.

    Description:
        The goal is in the east, the agent in the west. Between them are pockets, one behind another, open to the west:
        an agent that heads for the goal ends up in a pocket, and has to leave it away from the goal. One of the two
        ways around each pocket is closed.

    Parameters:
        pockets (1 to 3, on request up to 5): pockets one behind another.
        depth (3 to 7, on request up to 10): length of a pocket, in cells.

    Termination:
        On reaching the goal. Truncated after 10 * width steps, about five times as many as the shortest way takes.

    Source:
        The deceptive mazes of novelty search (Lehman and Stanley, Evolutionary Computation 19, 2011), on a grid.
    """

    param_space = ParamSpace([IntAxis("pockets", 1, 3, limits=(1, 5)), IntAxis("depth", 3, 7, limits=(3, 10))])

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        depth, pockets = params["depth"], params["pockets"]
        canvas = Canvas(4 + pockets * (depth + 2), HEIGHT)
        for pocket in range(pockets):
            x = 2 + pocket * (depth + 2)
            canvas.row(x, MIDDLE - 2, depth + 1)
            canvas.row(x, MIDDLE + 2, depth + 1)
            canvas.column(x + depth, MIDDLE - 2, 5)
            closed = int(rng.integers(2))
            canvas[x + depth - int(rng.integers(depth)), (1, HEIGHT - 2)[closed]] = 1
        canvas[canvas.width - 2, int(rng.integers(1, HEIGHT - 1))] = GOAL
        agent = int(rng.integers(1, depth + 1)), MIDDLE + int(rng.integers(-1, 2))
        return canvas.world(agent, int(rng.integers(4)))

    def mission(self, world: World) -> str:
        return "reach the goal"

    def limit(self, world: World) -> int:
        return 10 * world.width


DeceptiveMaze, DeceptiveMazeText = define_family(DeceptiveMazeRules)
