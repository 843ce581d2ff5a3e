"""palaestra/HiddenKey-v0: a key in one of several boxes, by a rule that is fixed across episodes; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...errors import InputError
from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, GOAL, UNLOCKED, code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option, open_options
from .grid_world import World
from .rooms import RoomGrid


class HiddenKeyRules(GridRules):
    """Find the box with the key of a door; the colour of the door determines the box in every episode.

    Description:
        Two rooms; the door between them is locked, and its key is in one of the boxes in the agent's room; the goal is
        in the other room. A fixed rule maps each colour of a door to the colour of the box. An agent that has learned
        it opens only one box.

    Parameters:
        boxes (2 to 6): boxes, each of another colour.
        room_size (5 to 8, on request up to 12): cells along the side of a room, its walls included.
        structure (argument, 0 or more): chooses the rule; environments with the same one share it.

    Termination:
        On reaching the goal. Truncated after 4 * room_size**2 steps, and in text after 8 * room_size turns.

    Source:
        This project; hidden structure that recurs across episodes as in RL^2 (Duan et al., arXiv 1611.02779).
    """

    param_space = ParamSpace([IntAxis("boxes", 2, 6), IntAxis("room_size", 5, 8, limits=(5, 12))])
    subgoals = ("key", "door", "goal")
    hidden = True
    arguments = ("structure",)
    redraws = True

    def __init__(self, structure: int = 0):
        if isinstance(structure, bool) or not isinstance(structure, int) or structure < 0:
            raise InputError(f"structure must be a whole number of at least 0, not {structure!r}.")
        order = np.random.default_rng(structure).permutation(len(COLOURS)).tolist()
        self.box_of = {colour: COLOURS[order[place]] for place, colour in enumerate(COLOURS)}
        """The colour of the box for each colour of a door."""

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        rooms = RoomGrid(rng, params["room_size"], 2, 1)
        colour = rooms.draw_colour()
        door, key = rooms.add_door((0, 0), 0, colour, "locked"), code_of("key", colour)
        right = self.box_of[colour]
        others = [COLOURS[i] for i in rng.permutation(len(COLOURS)).tolist() if COLOURS[i] != right]
        for box in (right, *others[: params["boxes"] - 1]):
            if len(rooms.inside((0, 0))) > 3:
                rooms.add_thing((0, 0), code_of("box", box, inside=key if box == right else 0))
        rooms.add_thing((1, 0), GOAL)
        agent, facing = rooms.place_agent((0, 0))
        return rooms.world(agent, facing, task=(rooms.index(door), key))

    def mission(self, world: World) -> str:
        return "find the key, open the door and get to the goal"

    def limit(self, world: World) -> int:
        return 4 * world.height**2

    def turns(self, world: World) -> int:
        return 8 * world.height

    def flags(self, world: World) -> tuple[bool, ...]:
        door, key = world.task
        return world.carried == key, world.cells[door] not in UNLOCKED, world.cells[world.agent] == GOAL

    def options(self, world: World) -> Sequence[Option]:
        door = world.task[0]
        return open_options(world, door, door - 1) if world.cells[door] in UNLOCKED else super().options(world)


HiddenKey, HiddenKeyText = define_family(HiddenKeyRules)
