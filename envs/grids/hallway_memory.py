"""palaestra/HallwayMemory-v0: remember a thing along a hallway, and go to its like at the end; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from .cells import code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option
from .grid_world import FORWARD, PICK_UP, TOGGLE, Canvas, World, apply_action, put

KEY, BALL = code_of("key", "green"), code_of("ball", "green")


class HallwayMemoryRules(GridRules):
    """See a thing in a small room, and go to the matching one of two things at the end of a hallway.

    Description:
        A key or a ball lies in a room at the west end of a hallway; at the east end, the hallway forks to a key and a
        ball. The agent starts in the room or the hallway, facing east, and cannot carry anything.

    Parameters:
        half (3 to 6, on request up to 10): half of the grid's side of 2 * half + 1 cells, MiniGrid's 7 to 13.
        length (random, fixed): a hallway that ends at random, or near the far wall.

    Termination:
        On the cell before the matching thing; the cell before the other thing is a failure. Truncated after 5 * side**2
        steps, MiniGrid's limit. In text after 4 * side turns. A random walk that reaches the end is right half of the
        time, which does not fall with difficulty.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Memory``.
    """

    param_space = ParamSpace([IntAxis("half", 3, 6, limits=(3, 10)), ChoiceAxis("length", ("random", "fixed"))])
    subgoals = ("match",)
    hidden = True

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = 2 * params["half"] + 1
        middle, end = size // 2, size - 3
        if params["length"] == "random":
            end = int(rng.integers(4, size - 2))
        canvas = Canvas(size, size)
        for side in (-1, 1):
            canvas.row(1, middle + 2 * side, 4)
            canvas.row(4, middle + side, max(end - 4, 1))
        for y in range(size):
            if y != middle:
                canvas.column(end, y, 1)
        canvas.column(end + 2, 0, size)
        shown, upper = (KEY if flag else BALL for flag in rng.integers(2, size=2).tolist())
        canvas[1, middle - 1] = shown
        canvas[end + 1, middle - 2], canvas[end + 1, middle + 2] = upper, KEY + BALL - upper
        places = canvas.index((end + 1, middle - 1)), canvas.index((end + 1, middle + 1))
        task = places if shown == upper else places[::-1]
        return canvas.world((int(rng.integers(1, end + 1)), middle), 0, task=task)

    def adopt(self, world: World, env: Any) -> World:
        places = (y * env.width + x for x, y in (env.success_pos, env.failure_pos))
        return world._replace(task=tuple(int(place) for place in places))

    def mission(self, world: World) -> str:
        return "go to the matching object at the end of the hallway"

    def limit(self, world: World) -> int:
        return 5 * world.width**2

    def turns(self, world: World) -> int:
        return 4 * world.width

    def advance(self, world: World, action: int) -> World:
        return apply_action(world, TOGGLE if action == PICK_UP else action)

    def flags(self, world: World) -> tuple[bool, ...]:
        return (world.agent == world.task[0],)

    def fails(self, before: World, action: int, after: World) -> bool:
        return after.agent == after.task[1]

    def options(self, world: World) -> Sequence[Option]:
        return [Option(FORWARD, world.task[0], ends=True)]

    def entry(self, world: World) -> bytes:
        return put(super().entry(world), world.task[1], 0)

    def content(self, world: World) -> str:
        return self.draw_map(world)


HallwayMemory, HallwayMemoryText = define_family(HallwayMemoryRules)
