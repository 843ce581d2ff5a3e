"""palaestra/RedBlueDoors-v0: open two doors in order; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option
from .grid_world import TOGGLE, Canvas, World

RED, BLUE = code_of("door", "red"), code_of("door", "blue")


class RedBlueDoorsRules(GridRules):
    """Open the red door, then the blue one.

    Description:
        A square room between two others; the red door is in its west wall, the blue one in its east wall, both closed.
        The agent starts in the middle room. To know that the red door is open, it has to remember or look.

    Parameters:
        size (5 to 10, on request up to 16): cells along each side of the middle room, its walls included.

    Termination:
        When the blue door is open, a failure if the red one is closed. Truncated after 20 * size**2 steps, MiniGrid's
        limit, and in text after 8 * size turns.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-RedBlueDoors``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 10, limits=(5, 16))])
    subgoals = ("red", "blue")
    advice = "The {blue} {door} open before the {red} one ends the episode."

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        canvas, left = Canvas(2 * size, size), size // 2
        canvas.frame(left, 0, size, size)
        free = canvas.free(left, 0, size, size)
        agent, facing = free[int(rng.integers(len(free)))], int(rng.integers(4))
        red, blue = rng.integers(1, size - 1, size=2).tolist()
        canvas[left, red], canvas[left + size - 1, blue] = (code_of("door", name, "closed") for name in ("red", "blue"))
        return self._start(canvas.world(agent, facing))

    def adopt(self, world: World, env: Any) -> World:
        return self._start(world)

    def _start(self, world: World) -> World:
        doors = (world.cells.index(code_of("door", name, "closed")) for name in ("red", "blue"))
        return world._replace(task=tuple(doors))

    def mission(self, world: World) -> str:
        return "open the red door then the blue door"

    def limit(self, world: World) -> int:
        return 20 * world.height**2

    def turns(self, world: World) -> int:
        return 8 * world.height

    def flags(self, world: World) -> tuple[bool, ...]:
        red = world.cells[world.task[0]] == RED
        return red, red and world.cells[world.task[1]] == BLUE

    def fails(self, before: World, action: int, after: World) -> bool:
        return after.cells[after.task[1]] == BLUE

    def options(self, world: World) -> Sequence[Option]:
        red, blue = world.task
        return [Option(TOGGLE, blue, ends=True)] if world.cells[red] == RED else [Option(TOGGLE, red)]


RedBlueDoors, RedBlueDoorsText = define_family(RedBlueDoorsRules)
