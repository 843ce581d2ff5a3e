"""palaestra/GoToDoor-v0 and palaestra/GoToObject-v0: stop beside the door, or the thing, asked for; and their text
twins."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, PORTABLE, THINGS, code_of
from .grid_families import define_family
from .grid_rules import DOORS, FREE_STEPS, GridRules, Option
from .grid_world import DONE, FORWARD, TOGGLE, Canvas, World, apply_action, beside


class Errand(NamedTuple):
    """A target.

    Args:
        target: index of its cell at the start.
        code: the door or thing in it.
    """

    target: int
    code: int


class StopBeside(GridRules):
    """Common part of the two families: "done" beside the target accomplishes the mission, elsewhere it is a failure,
    as is "toggle" anywhere. The world's memo is True once the mission is accomplished."""

    see_through = True
    redraws = True
    advice = "Stop beside it with {wait}; {wait} elsewhere, or {toggle} anywhere, ends the episode."

    def adopt(self, world: World, env: Any) -> World:
        x, y = env.target_pos
        target = int(y) * world.width + int(x)
        return world._replace(task=Errand(target, world.cells[target]), memo=False)

    def mission(self, world: World) -> str:
        thing = THINGS[world.task.code]
        return f"go to the {thing.colour} {thing.kind}"

    def turns(self, world: World) -> int:
        return 5 * world.width

    def advance(self, world: World, action: int) -> World:
        if action == DONE and world.agent in beside(world.width, world.task.target):
            return world._replace(memo=True)
        return apply_action(world, action)

    def flags(self, world: World) -> tuple[bool, ...]:
        return (world.memo,)

    def fails(self, before: World, action: int, after: World) -> bool:
        return action in (DONE, TOGGLE)

    def entry(self, world: World) -> bytes:
        return world.cells.translate(_ENTRY)

    def options(self, world: World) -> Sequence[Option]:
        entry = self.entry(world)
        places = [index for index in beside(world.width, world.task.target) if 0 <= index < len(entry) and entry[index]]
        return [Option(FORWARD, index, ends=True, more=1) for index in places]


_ENTRY = bytes(free and not door for free, door in zip(FREE_STEPS, DOORS)).ljust(256, b"\0")


class GoToDoorRules(StopBeside):
    """Stop beside the door of the colour asked for.

    Description:
        A room with a closed door of another colour in each of its four walls. The room's width and height are drawn.
        The agent sees through walls.

    Parameters:
        size (5 to 12, on request up to 16): largest number of cells along a side of the room, its walls included.

    Termination:
        On the action "done" ("wait" in text): a success beside the door, facing anywhere, elsewhere a failure. To
        toggle anything is a failure, too. Truncated after 4 * size**2 steps, MiniGrid's limit, and in text after 5 *
        size turns. A player who stops by chance is at the right door in a few small rooms.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-GoToDoor``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 12, limits=(5, 16))])
    subgoals = ("door",)

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        width, height = (int(side) for side in rng.integers(5, size + 1, size=2))
        canvas = Canvas(size, size, walled=False)
        canvas.frame(0, 0, width, height)
        x, y = rng.integers(2, width - 2, size=2).tolist(), rng.integers(2, height - 2, size=2).tolist()
        places = [(x[0], 0), (x[1], height - 1), (0, y[0]), (width - 1, y[1])]
        for place, colour in zip(places, rng.permutation(len(COLOURS)).tolist()):
            canvas[place] = code_of("door", COLOURS[colour], "closed")
        free = canvas.free(1, 1, width - 2, height - 2)
        agent, facing = free[int(rng.integers(len(free)))], int(rng.integers(4))
        target = places[int(rng.integers(4))]
        return canvas.world(agent, facing, task=Errand(canvas.index(target), canvas[target]), memo=False)

    def limit(self, world: World) -> int:
        return 4 * world.width**2


class GoToObjectRules(StopBeside):
    """Stop beside the thing asked for.

    Description:
        A square without inner walls, with keys, balls and boxes, no two alike. The agent sees through walls.

    Parameters:
        size (5 to 8, on request up to 16): cells along each side, the outer wall included.
        things (2 to 5, on request up to 12): number of things, at most half as many as cells inside.

    Termination:
        On the action "done" ("wait" in text): a success beside the place of the thing at the start, facing anywhere,
        elsewhere a failure. To toggle anything is a failure, too. Truncated after 5 * size**2 steps, MiniGrid's limit,
        and in text after 5 * size turns. A player who stops by chance is beside the right thing in a few small rooms.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-GoToObject``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 8, limits=(5, 16)), IntAxis("things", 2, 5, limits=(2, 12))])
    subgoals = ("thing",)

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        canvas = Canvas(params["size"], params["size"])
        free = canvas.free()
        agent, *places = [free[i] for i in rng.permutation(len(free))[: 1 + min(params["things"], len(free) // 2)]]
        kinds = [code_of(kind, colour) for kind in PORTABLE for colour in COLOURS]
        for place, number in zip(places, rng.permutation(len(kinds)).tolist()):
            canvas[place] = kinds[number]
        target = places[int(rng.integers(len(places)))]
        errand = Errand(canvas.index(target), canvas[target])
        return canvas.world(agent, int(rng.integers(4)), task=errand, memo=False)

    def limit(self, world: World) -> int:
        return 5 * world.width**2


GoToDoor, GoToDoorText = define_family(GoToDoorRules)
GoToObject, GoToObjectText = define_family(GoToObjectRules)
