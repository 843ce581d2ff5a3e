"""palaestra/MultiRoom-v0: through a chain of rooms with doors to the goal in the last; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, EMPTY, GOAL, code_of
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import Canvas, Cell, World

SIDE, SMALLEST, TRIES = 25, 4, 8


class _Box(NamedTuple):
    """A room: its upper left corner, its size with walls, and the door by which it is entered."""

    x: int
    y: int
    width: int
    height: int
    door: Cell


class MultiRoomRules(GridRules):
    """Open the doors of a chain of rooms, and reach the goal in the last one.

    Description:
        Rooms of random sizes stand in a row that turns and bends; each is entered by one closed door. The agent starts
        in the first.

    Parameters:
        rooms (2 to 6, on request up to 9): rooms in the chain.
        room_size (4 to 7, on request up to 10): the longest side that a room may have, its walls included.

    Termination:
        On reaching the goal. Truncated after 20 * rooms steps, MiniGrid's limit.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-MultiRoom``.
    """

    param_space = ParamSpace([IntAxis("rooms", 2, 6, limits=(2, 9)), IntAxis("room_size", 4, 7, limits=(4, 10))])
    subgoals = ("doors", "goal")

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        boxes: list[_Box] = []
        while len(boxes) < params["rooms"]:
            boxes = _chain_rooms(rng, params["rooms"], params["room_size"])
        canvas = Canvas(SIDE, SIDE)
        canvas.cells[:] = bytes((1,)) * len(canvas.cells)
        for box in boxes:
            for y in range(box.y + 1, box.y + box.height - 1):
                canvas.row(box.x + 1, y, box.width - 2, EMPTY)
        before = ""
        for box in boxes[1:]:
            colours = [colour for colour in COLOURS if colour != before]
            before = colours[int(rng.integers(len(colours)))]
            canvas[box.door] = code_of("door", before, "closed")
        first, last = (
            canvas.free(box.x + 1, box.y + 1, box.width - 2, box.height - 2) for box in (boxes[0], boxes[-1])
        )
        canvas[last[int(rng.integers(len(last)))]] = GOAL
        return canvas.world(first[int(rng.integers(len(first)))], int(rng.integers(4)), task=len(boxes))

    def adopt(self, world: World, env: Any) -> World:
        return world._replace(task=env.maxNumRooms)

    def mission(self, world: World) -> str:
        return "traverse the rooms to get to the goal"

    def limit(self, world: World) -> int:
        return 20 * world.task

    def flags(self, world: World) -> tuple[bool, ...]:
        return not any(code in world.cells for code in CLOSED), world.cells[world.agent] == GOAL


CLOSED = bytes(code_of("door", colour, "closed") for colour in COLOURS)


def _chain_rooms(rng: np.random.Generator, count: int, longest: int) -> list[_Box]:
    """Place rooms one after another, each at a door of the preceding one; return fewer than ``count`` if one does not
    fit."""
    boxes: list[_Box] = []
    door, side = (int(rng.integers(0, SIDE - 2)), int(rng.integers(0, SIDE - 2))), 2
    while len(boxes) < count:
        for _ in range(TRIES if boxes else 1):
            if boxes:
                (x, y, width, height, _), entry = boxes[-1], side
                out = [way for way in range(4) if way != entry][int(rng.integers(3))]
                along = int(rng.integers(1, (height if out in (0, 2) else width) - 1))
                place = ((x + width - 1, y + along), (x + along, y + height - 1), (x, y + along), (x + along, y))[out]
                box = _draw_room(rng, place, (out + 2) % 4, longest)
            else:
                place, out, box = door, 0, _draw_room(rng, door, 2, longest, first=True)
            if box is not None and not any(_overlap(box, other) for other in boxes[:-1]):
                boxes.append(box)
                side = (out + 2) % 4
                break
        else:
            return boxes
    return boxes


def _draw_room(rng: np.random.Generator, door: Cell, side: int, longest: int, first: bool = False) -> _Box | None:
    """Draw a room with ``door`` in its wall on ``side``; None if it leaves the grid."""
    width, height = (int(n) for n in rng.integers(SMALLEST, longest + 1, size=2))
    x, y = door
    if not first:
        if side in (0, 2):
            y = int(rng.integers(y - height + 2, y))
            x = x - width + 1 if side == 0 else x
        else:
            x = int(rng.integers(x - width + 2, x))
            y = y - height + 1 if side == 1 else y
    if x < 0 or y < 0 or x + width > SIDE or y + height > SIDE:
        return None
    return _Box(x, y, width, height, door)


def _overlap(one: _Box, other: _Box) -> bool:
    apart = one.x + one.width < other.x or other.x + other.width <= one.x
    return not (apart or one.y + one.height < other.y or other.y + other.height <= one.y)


MultiRoom, MultiRoomText = define_family(MultiRoomRules)
