"""palaestra/ObstructedMaze-v0: a ball behind locked doors, blocked by balls, with keys in boxes; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, ParamSpace
from .cells import COLOURS, UNLOCKED, WALL, code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option, fetch_options, open_options
from .grid_world import PICK_UP, World
from .rooms import Room, RoomGrid
from .ways import Ways, enter_unlocked, find_region

SIDE = 6
TARGET, BLOCKER = code_of("ball", "blue"), code_of("ball", "green")
VISITED = {"one door": 2, "two doors": 4, "quarter": 5, "half": 11, "full": 25}
"""Rooms that a solution may visit, in MiniGrid's count; the step limit depends on it."""
QUARTERS = {"two doors": 1, "quarter": 1, "half": 2, "full": 4}
_MIDDLE, _SIDES, _CORNERS = (1, 1), ((2, 1), (1, 2), (0, 1), (1, 0)), ((2, 0), (2, 2), (0, 2), (0, 0))


class ObstructedMazeRules(GridRules):
    """Pick up the blue ball in a locked room, past blocked doors and hidden keys.

    Description:
        Two rooms, or nine: closed doors lead from the middle room to the rooms at its sides, and locked doors from
        these to the corner rooms, one of which has the blue ball. The key of a locked door lies in the room before it.

    Parameters:
        maze (one door, two doors, quarter, half, full): "one door" has two rooms. In the others, each side room in use
            has two locked doors, to the corners beside it: one side room, in which the agent starts (two doors) or
            which it enters from the middle room (quarter), two side rooms (half), or all four (full).
        keys (open, boxed): keys lie open, or are hidden in boxes.
        doors (clear, blocked): locked doors are free, or a green ball lies before each.

    Termination:
        When the blue ball is picked up. Truncated after 144 steps for each room that a solution may visit (2, 4, 5, 11
        or 25), MiniGrid's limits, and in text after 100 turns and 8 for each of these rooms.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-ObstructedMaze``, with the order of placement
        of its version 1.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("maze", tuple(VISITED)),
            ChoiceAxis("keys", ("open", "boxed")),
            ChoiceAxis("doors", ("clear", "blocked")),
        ]
    )
    subgoals = ("door", "ball")
    redraws = True
    room_side = SIDE

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        maze, boxed, blocked = params["maze"], params["keys"] == "boxed", params["doors"] == "blocked"
        colours = [COLOURS[i] for i in rng.permutation(len(COLOURS)).tolist()]
        if maze == "one door":
            rooms, start, end = RoomGrid(rng, SIDE, 2, 1), (0, 0), (1, 0)
            locked: list[tuple[Room, int, str]] = [((0, 0), 0, colours[0])]
        else:
            rooms, start, locked = RoomGrid(rng, SIDE, 3, 3), _MIDDLE, []
            for side, room in enumerate(_SIDES[: QUARTERS[maze]]):
                rooms.add_door(_MIDDLE, side, colours[side])
                locked += [(room, (side + k) % 4, colours[(side + k) % 6]) for k in (-1, 1)]
            end = _CORNERS[int(rng.integers(QUARTERS[maze]))]
            start = (2, 1) if maze == "two doors" else start
        for room, side, colour in locked:
            rooms.add_door(room, side, colour, "locked")
            if blocked:
                rooms[rooms.front_of(room, side)] = BLOCKER
        for room, _, colour in locked:
            key = code_of("key", colour)
            rooms.add_thing(room, code_of("box", "grey", inside=key) if boxed else key)
        rooms.add_thing(end, TARGET)
        agent, facing = rooms.place_agent(start)
        ways = [
            (rooms.index(rooms.doors[room, side]), rooms.index(rooms.front_of(room, side)))
            for room, side, _ in locked
            if rooms.neighbour(room, side) == end
        ]
        return rooms.world(agent, facing, task=(VISITED[maze], tuple(ways)))

    def adopt(self, world: World, env: Any) -> World:
        width, ball, ways = world.width, world.cells.index(TARGET), []

        def room_of(index: int) -> Room:
            return index % width // (SIDE - 1), index // width // (SIDE - 1)

        for door in (index for index, code in enumerate(world.cells) if code in UNLOCKED):
            step = 1 if world.cells[door - 1] != WALL else width
            for front, behind in ((door - step, door + step), (door + step, door - step)):
                if room_of(behind) == room_of(ball) and world.cells[behind] != WALL:
                    ways.append((door, front))
        # MiniGrid's levels may need the keys of any doors.
        return world._replace(task=(env.max_steps // (4 * SIDE**2), tuple(ways)), memo=True)

    def mission(self, world: World) -> str:
        return "pick up the blue ball"

    def limit(self, world: World) -> int:
        return 4 * world.task[0] * SIDE**2

    def turns(self, world: World) -> int:
        return 100 + 8 * world.task[0]

    def flags(self, world: World) -> tuple[bool, ...]:
        opened = any(world.cells[door] not in UNLOCKED for door, _ in world.task[1])
        return opened, world.carried == TARGET

    def entry(self, world: World) -> bytes:
        return enter_unlocked(world) if world.memo else super().entry(world)

    def region(self, world: World) -> Set[int] | None:
        return find_region(world, self.entry(world)) if world.memo else None

    def options(self, world: World) -> Sequence[Option]:
        if world.memo:
            targets = [index for index, code in enumerate(world.cells) if code == TARGET]
            planner = Ways(world, self.entry(world))
            if way := planner.clear_way(targets):
                return way
            return planner.put_down(targets) if world.carried else [Option(PICK_UP, i, ends=True) for i in targets]
        ways = world.task[1]
        for door, front in ways:
            if world.cells[door] not in UNLOCKED:
                places = [index for index, code in enumerate(world.cells) if code == TARGET]
                return [option for cell in places for option in fetch_options(world, cell, front, ends=True)]
        # One of the two doors of a corner is enough: the door of the key in hand, or else the first.
        keyed = [way for way in ways if UNLOCKED[world.cells[way[0]]][0] == world.carried]
        return open_options(world, *(keyed or ways)[0])


ObstructedMaze, ObstructedMazeText = define_family(ObstructedMazeRules)
