"""palaestra/Playground-v0: nine rooms with things, to be seen one after another; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, PORTABLE, code_of
from .grid_families import define_family
from .grid_rules import DOORS, FREE_STEPS, GridRules, Option
from .grid_world import FORWARD, World, apply_action
from .rooms import RoomGrid

ROUND = ((0, 0), (1, 0), (2, 0), (2, 1), (1, 1), (0, 1), (0, 2), (1, 2), (2, 2))
"""Rooms in the order in which the solver enters them, so that each is next to the one before."""


class PlaygroundRules(GridRules):
    """Enter each of nine rooms.

    Description:
        Three rows of three rooms; a closed door leads from each room to each of its neighbours, and keys, balls and
        boxes lie about. MiniGrid's level of this name has no mission: its rewards are 0, and it lasts 100 steps.

    Parameters:
        room_size (5 to 8, on request up to 10): cells along the side of a room, its walls included.
        things (0 to 12, on request up to 24): things that lie about, as many as leave every room accessible.

    Termination:
        When every room has been entered. Truncated after 30 * room_size steps, MiniGrid's level after 100.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Playground``, with a mission of our own.
    """

    param_space = ParamSpace([IntAxis("room_size", 5, 8, limits=(5, 10)), IntAxis("things", 0, 12, limits=(0, 24))])
    subgoals = ("three", "six", "all")
    redraws = True
    room_side = "room_size"

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        rooms = RoomGrid(rng, params["room_size"], 3, 3)
        for room in ROUND:
            for side in (0, 1):
                if side in rooms.sides(room):
                    rooms.add_door(room, side, rooms.draw_colour())
        for _ in range(params["things"]):
            room, kind = rooms.draw_room(), PORTABLE[int(rng.integers(3))]
            if len(rooms.inside(room)) > 2:
                rooms.add_thing(room, code_of(kind, COLOURS[int(rng.integers(len(COLOURS)))]))
        agent, facing = rooms.place_agent(rooms.draw_room())
        world = rooms.world(agent, facing, task=params["room_size"])
        return world._replace(memo=1 << self._room_of(world))

    def adopt(self, world: World, env: Any) -> World:
        return world._replace(task=0, memo=0)

    def _room_of(self, world: World) -> int:
        """Return the number of the agent's room in `ROUND`; -1 at a door."""
        (x, y), inner = world.place, world.task - 1
        return ROUND.index((x // inner, y // inner)) if x % inner and y % inner else -1

    def mission(self, world: World) -> str:
        return "enter each of the nine rooms" if world.task else ""

    def limit(self, world: World) -> int:
        return 30 * world.task or 100

    def advance(self, world: World, action: int) -> World:
        after = apply_action(world, action)
        if not world.task or (room := self._room_of(after)) < 0 or after.memo >> room & 1:
            return after
        return after._replace(memo=after.memo | 1 << room)

    def flags(self, world: World) -> tuple[bool, ...]:
        entered = world.memo.bit_count()
        return entered >= 3, entered >= 6, entered == 9

    def options(self, world: World) -> Sequence[Option]:
        left = [room for number, room in enumerate(ROUND) if not world.memo >> number & 1]
        if not left or not world.task:
            return []
        (i, j), inner, width = left[0], world.task - 1, world.width
        corner = j * inner * width + i * inner
        walls = [(corner + k, width) for k in range(1, inner)]
        walls += [(corner + inner * width + k, -width) for k in range(1, inner)]
        walls += [(corner + k * width, 1) for k in range(1, inner)]
        walls += [(corner + k * width + inner, -1) for k in range(1, inner)]
        # A room is entered by the cell behind a door.
        cells = [cell + step for cell, step in walls if DOORS[world.cells[cell]]]
        return [Option(FORWARD, cell, ends=len(left) == 1) for cell in cells if FREE_STEPS[world.cells[cell]]]


Playground, PlaygroundText = define_family(PlaygroundRules)
