"""palaestra/PutNear-v0: put one thing near another; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, EMPTY, PORTABLE, code_of, name_thing
from .grid_families import define_family
from .grid_rules import GridRules, Option
from .grid_world import DROP, PICK_UP, Canvas, World, apply_action


class PutNearRules(GridRules):
    """Pick up a thing, and drop it near another one, diagonally or straight.

    Description:
        A square without inner walls, with keys, balls and boxes, no two alike, and none near another. The agent sees
        through walls.

    Parameters:
        size (6 to 10, on request up to 16): cells along each side, the outer wall included.
        things (2 to 4, on request up to 8): number of things, as many as fit.

    Termination:
        On dropping the thing: a success on one of the eight cells around the place where the second thing was at the
        start, elsewhere a failure. To pick up any other thing is a failure, too. Truncated after 5 * size steps,
        MiniGrid's limit.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-PutNear``.
    """

    param_space = ParamSpace([IntAxis("size", 6, 10, limits=(6, 16)), IntAxis("things", 2, 4, limits=(2, 8))])
    subgoals = ("thing", "put")
    see_through = True
    redraws = True
    advice = "Near is beside or diagonal. Another thing picked up, or the first drop, ends the episode."

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        canvas = Canvas(params["size"], params["size"])
        free = canvas.free()
        codes = [code_of(kind, colour) for kind in PORTABLE for colour in COLOURS]
        order, kinds = rng.permutation(len(free)).tolist(), rng.permutation(len(codes)).tolist()
        agent, places = free[order[0]], []
        for x, y in (free[i] for i in order[1:]):
            if len(places) < params["things"] and all(max(abs(x - i), abs(y - j)) > 1 for i, j in places):
                places.append((x, y))
                canvas[x, y] = codes[kinds[len(places) - 1]]
        move, fixed = (places[i] for i in rng.choice(len(places), 2, replace=False).tolist())
        task = (canvas[move], canvas.index(fixed), canvas[fixed])
        return canvas.world(agent, int(rng.integers(4)), task=task, memo=None)

    def adopt(self, world: World, env: Any) -> World:
        x, y = env.target_pos
        move, fixed = code_of(env.move_type, env.moveColor), code_of(env.target_type, env.target_color)
        return world._replace(task=(move, int(y) * world.width + int(x), fixed))

    def mission(self, world: World) -> str:
        move, _, fixed = world.task
        return f"put the {name_thing(move)} near the {name_thing(fixed)}"

    def limit(self, world: World) -> int:
        return 5 * world.width

    def advance(self, world: World, action: int) -> World:
        after = apply_action(world, action)
        if action != DROP or not world.carried:
            return after
        return after._replace(memo=after is not world and world.ahead in _ring(world))

    def flags(self, world: World) -> tuple[bool, ...]:
        return world.carried == world.task[0], world.memo is True

    def fails(self, before: World, action: int, after: World) -> bool:
        if action == DROP:
            return before.carried != EMPTY
        return action == PICK_UP and after.carried not in (EMPTY, after.task[0])

    def options(self, world: World) -> Sequence[Option]:
        move = world.task[0]
        if world.carried:
            return [Option(DROP, index, ends=True) for index in _ring(world) if not world.cells[index]]
        return [Option(PICK_UP, world.cells.index(move))] if move in world.cells else []


def _ring(world: World) -> list[int]:
    """Return the target's cell and the eight cells around it."""
    return [world.task[1] + dx + dy * world.width for dy in (-1, 0, 1) for dx in (-1, 0, 1)]


PutNear, PutNearText = define_family(PutNearRules)
