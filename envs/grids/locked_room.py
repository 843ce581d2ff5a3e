"""palaestra/LockedRoom-v0: six rooms along a hallway, one of them locked; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, GOAL, THINGS, UNLOCKED, code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option, open_options
from .grid_world import Canvas, World


class LockedRoomRules(GridRules):
    """Fetch the key from one room, unlock another one, and reach the goal in it.

    Description:
        A hallway with three rooms on each side, each behind a closed door of another colour. One is locked and holds
        the goal; the key lies in one of the others. The mission names the colours. The agent starts in the hallway.

    Parameters:
        size (13 to 19, on request up to 31): cells along each side, the outer wall included; MiniGrid has 19.

    Termination:
        On reaching the goal. Truncated after 10 * size steps, MiniGrid's limit.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-LockedRoom``.
    """

    param_space = ParamSpace([IntAxis("size", 13, 19, limits=(13, 31))])
    subgoals = ("key", "door", "goal")
    redraws = True

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        canvas, west, east, third = Canvas(size, size), size // 2 - 2, size // 2 + 2, size // 3
        canvas.column(west, 0, size)
        canvas.column(east, 0, size)
        for row in (third, 2 * third):
            canvas.row(0, row, west)
            canvas.row(east, row, size - east)
        rooms = []
        for number in range(6):
            top, is_east = number // 2 * third, number % 2
            bottom = top + third if number < 4 else size - 1
            left, right = (east, size - 1) if is_east else (0, west)
            rooms.append(
                (canvas.free(left + 1, top + 1, right - left - 1, bottom - top - 1), east if is_east else west)
            )
        locked, keyed = rng.choice(6, 2, replace=False).tolist()
        colours = [COLOURS[i] for i in rng.permutation(len(COLOURS)).tolist()]
        for number, (inside, wall) in enumerate(rooms):
            rows = sorted({y for _, y in inside})
            door = wall, rows[int(rng.integers(len(rows)))]
            canvas[door] = code_of("door", colours[number], "locked" if number == locked else "closed")
        goal, key = (rooms[n][0][int(rng.integers(len(rooms[n][0])))] for n in (locked, keyed))
        canvas[goal], canvas[key] = GOAL, code_of("key", colours[locked])
        hallway = canvas.free(west + 1, 1, east - west - 1, size - 2)
        agent, facing = hallway[int(rng.integers(len(hallway)))], int(rng.integers(4))
        return self._start(canvas.world(agent, facing), colours[keyed])

    def adopt(self, world: World, env: Any) -> World:
        return self._start(world, env.mission.split(" key from the ")[1].split(" ")[0])

    def _start(self, world: World, key_room: str) -> World:
        door = next(index for index, code in enumerate(world.cells) if code in UNLOCKED)
        return world._replace(task=(door, THINGS[world.cells[door]].colour, key_room))

    def mission(self, world: World) -> str:
        _, colour, room = world.task
        return f"get the {colour} key from the {room} room, unlock the {colour} door and go to the goal"

    def limit(self, world: World) -> int:
        return 10 * world.width

    def flags(self, world: World) -> tuple[bool, ...]:
        door, colour, _ = world.task
        opened = world.cells[door] not in UNLOCKED
        return world.carried == code_of("key", colour), opened, world.cells[world.agent] == GOAL

    def options(self, world: World) -> Sequence[Option]:
        door = world.task[0]
        if world.cells[door] not in UNLOCKED:
            return super().options(world)
        return open_options(world, door, door + 1 if door % world.width < world.width // 2 else door - 1)


LockedRoom, LockedRoomText = define_family(LockedRoomRules)
