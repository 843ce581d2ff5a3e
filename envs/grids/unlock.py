"""palaestra/Unlock-v0: a locked door, perhaps blocked, and perhaps a box behind it to take; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from .cells import THINGS, UNLOCKED, code_of, name_thing
from .grid_families import define_family
from .grid_rules import GridRules, Option, fetch_options, open_options
from .grid_world import TOGGLE, World
from .rooms import RoomGrid


class UnlockRules(GridRules):
    """Open a locked door, or take the box behind it.

    Description:
        Two rooms side by side; the door between them is locked, its key lies in the agent's room. If the task is to
        pick up the box in the other room, the key has to be put down first; in the blocked variant, a ball lies before
        the door.

    Parameters:
        task (open, pickup, blocked): open the door; pick up the box; pick up the box past a ball.
        room_size (5 to 8, on request up to 12): cells along the side of a room, its walls included; MiniGrid has 6.
        distractors (0 to 3, on request up to 5): further things, each different, in both rooms.

    Termination:
        When the door is open, or the box picked up. Truncated after 8 * room_size**2 steps, twice as many where the
        door is blocked, MiniGrid's limits, and in text after 60 turns, or an eighth of the step limit if that is more.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Unlock``, ``UnlockPickup`` and
        ``BlockedUnlockPickup``.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("task", ("open", "pickup", "blocked")),
            IntAxis("room_size", 5, 8, limits=(5, 12)),
            IntAxis("distractors", 0, 3, limits=(0, 5)),
        ]
    )
    redraws = True
    room_side = "room_size"
    subgoals = ("key", "door", "end")

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        rooms = RoomGrid(rng, params["room_size"], 2, 1)
        colour, taken, target = rooms.draw_colour(), set(), 0
        door = rooms.add_door((0, 0), 0, colour, "locked")
        if params["task"] != "open":
            target = code_of("box", rooms.draw_colour())
            rooms.add_thing((1, 0), target)
        if params["task"] == "blocked":
            rooms[rooms.front_of((0, 0), 0)] = code_of("ball", rooms.draw_colour())
        key = code_of("key", colour)
        rooms.add_thing((0, 0), key)
        taken |= {key, target}
        for index in range(params["distractors"]):
            taken |= set(rooms.add_distractors(1, taken, (index % 2, 0)))
        agent, facing = rooms.place_agent((0, 0))
        return rooms.world(agent, facing, task=(rooms.index(door), key, target, params["task"] == "blocked"))

    def adopt(self, world: World, env: Any) -> World:
        door = next(index for index, code in enumerate(world.cells) if code in UNLOCKED)
        target = next((code for code in world.cells if THINGS[code].kind == "box"), 0) if hasattr(env, "obj") else 0
        blocked = any(THINGS[code].kind == "ball" for code in world.cells)
        return world._replace(task=(door, UNLOCKED[world.cells[door]][0], target, blocked))

    def mission(self, world: World) -> str:
        target = world.task[2]
        return f"pick up the {name_thing(target)}" if target else "open the door"

    def limit(self, world: World) -> int:
        return (16 if world.task[3] else 8) * world.height**2

    def turns(self, world: World) -> int:
        return max(60, self.limit(world) // 8)

    def flags(self, world: World) -> tuple[bool, ...]:
        door, key, target, _ = world.task
        unlocked = world.cells[door] not in UNLOCKED
        return world.carried == key, unlocked, world.carried == target if target else unlocked

    def options(self, world: World) -> Sequence[Option]:
        door, _, target, _ = world.task
        if world.cells[door] in UNLOCKED:
            found = open_options(world, door, door - 1)
            return (
                found
                if target
                else [option._replace(ends=option.action == TOGGLE and option.cell == door) for option in found]
            )
        places = [index for index, code in enumerate(world.cells) if code == target]
        return [option for cell in places for option in fetch_options(world, cell, door - 1, ends=True)]


Unlock, UnlockText = define_family(UnlockRules)
