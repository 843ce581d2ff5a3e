"""palaestra/KeyCorridor-v0: a ball in a locked room, its key in a room on the other side; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import THINGS, UNLOCKED, code_of, name_thing
from .grid_families import define_family
from .grid_rules import GridRules, Option, fetch_options, open_options
from .grid_world import World
from .rooms import RoomGrid


class KeyCorridorRules(GridRules):
    """Find the key of a locked room among rooms along a corridor, and pick up the ball in the locked room.

    Description:
        Rooms lie on both sides of a corridor. One on the east side is locked and holds the ball; the key lies in one on
        the west side; all the others can be reached through closed doors. The agent starts in the corridor.

    Parameters:
        rows (1 to 3, on request up to 5): rooms on each side.
        room_size (3 to 5, on request up to 8): cells along the side of a room, its walls included.

    Termination:
        When the ball is picked up. Truncated after 30 * room_size**2 steps, MiniGrid's limit, and in
        text after a sixth as many turns.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-KeyCorridor``.
    """

    param_space = ParamSpace([IntAxis("rows", 1, 3, limits=(1, 5)), IntAxis("room_size", 3, 5, limits=(3, 8))])
    redraws = True
    room_side = "room_size"
    subgoals = ("key", "door", "ball")

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        rows = params["rows"]
        rooms = RoomGrid(rng, params["room_size"], 3, rows)
        for row in range(1, rows):
            rooms.remove_wall((1, row), 3)
        room, colour = (2, int(rng.integers(rows))), rooms.draw_colour()
        door = rooms.add_door(room, 2, colour, "locked")
        ball, key = code_of("ball", rooms.draw_colour()), code_of("key", colour)
        rooms.add_thing(room, ball)
        rooms.add_thing((0, int(rng.integers(rows))), key)
        start = (1, rows // 2)
        agent, facing = rooms.place_agent(start)
        rooms.connect_all(start)
        return rooms.world(agent, facing, task=(rooms.index(door), key, ball, params["room_size"]))

    def adopt(self, world: World, env: Any) -> World:
        door = next(index for index, code in enumerate(world.cells) if code in UNLOCKED)
        ball = next(code for code in world.cells if THINGS[code].kind == "ball")
        return world._replace(task=(door, UNLOCKED[world.cells[door]][0], ball, env.room_size))

    def mission(self, world: World) -> str:
        return f"pick up the {name_thing(world.task[2])}"

    def limit(self, world: World) -> int:
        return 30 * world.task[3] ** 2

    def turns(self, world: World) -> int:
        return self.limit(world) // 6

    def flags(self, world: World) -> tuple[bool, ...]:
        door, key, ball, _ = world.task
        return world.carried == key, world.cells[door] not in UNLOCKED, world.carried == ball

    def options(self, world: World) -> Sequence[Option]:
        door, _, ball, _ = world.task
        if world.cells[door] in UNLOCKED:
            return open_options(world, door, door - 1)
        return fetch_options(world, world.cells.index(ball), door - 1, ends=True) if ball in world.cells else []


KeyCorridor, KeyCorridorText = define_family(KeyCorridorRules)
