"""A grid of equal rooms with doors and things, the basis of MiniGrid's larger levels and of BabyAI's.

Rooms are numbered (column, row); sides are 0 east, 1 south, 2 west and 3 north, as directions are.
"""

from __future__ import annotations

import numpy as np

from ...errors import InputError
from .cells import COLOURS, EMPTY, PORTABLE, code_of
from .grid_world import STEPS, Canvas, Cell

Room = tuple[int, int]


class RoomGrid(Canvas):
    """Rooms under construction.

    Args:
        rng: draws the places of doors and things.
        size: cells along the side of a room, its walls included.
        columns, rows: rooms in each direction.
    """

    def __init__(self, rng: np.random.Generator, size: int, columns: int, rows: int):
        super().__init__((size - 1) * columns + 1, (size - 1) * rows + 1)
        self.rng, self.size, self.columns, self.rows = rng, size, columns, rows
        self.doors: dict[tuple[Room, int], Cell] = {}
        """Doors and openings by room and side; each is listed for both of its rooms."""
        self.locked: set[Room] = set()
        self.agent: Cell = (-1, -1)
        for i in range(columns):
            for j in range(rows):
                self.frame(i * (size - 1), j * (size - 1), size, size)
        # The position of the door in each wall between two rooms.
        inner = rng.integers(1, size - 1, size=(columns, rows, 2))
        self._places: dict[tuple[Room, int], Cell] = {}
        for i in range(columns):
            for j in range(rows):
                x, y = i * (size - 1), j * (size - 1)
                if i < columns - 1:
                    self._places[(i, j), 0] = self._places[(i + 1, j), 2] = (x + size - 1, y + int(inner[i, j, 0]))
                if j < rows - 1:
                    self._places[(i, j), 1] = self._places[(i, j + 1), 3] = (x + int(inner[i, j, 1]), y + size - 1)

    def neighbour(self, room: Room, side: int) -> Room:
        return room[0] + STEPS[side][0], room[1] + STEPS[side][1]

    def sides(self, room: Room) -> list[int]:
        """List the sides of a room with a neighbouring room."""
        return [side for side in range(4) if (room, side) in self._places]

    def room_of(self, cell: Cell) -> Room:
        """Return the room of a cell that is not in a wall."""
        return cell[0] // (self.size - 1), cell[1] // (self.size - 1)

    def inside(self, room: Room) -> list[Cell]:
        """List the empty cells of a room where the agent is not."""
        x, y = room[0] * (self.size - 1) + 1, room[1] * (self.size - 1) + 1
        return [cell for cell in self.free(x, y, self.size - 2, self.size - 2) if cell != self.agent]

    def add_door(self, room: Room, side: int, colour: str, state: str = "closed") -> Cell:
        cell = self._places[room, side]
        self[cell] = code_of("door", colour, state)
        self.doors[room, side] = self.doors[self.neighbour(room, side), (side + 2) % 4] = cell
        if state == "locked":
            self.locked |= {room}
        return cell

    def remove_wall(self, room: Room, side: int) -> None:
        x, y = room[0] * (self.size - 1), room[1] * (self.size - 1)
        for i in range(1, self.size - 1):
            across = ((x + self.size - 1, y + i), (x + i, y + self.size - 1), (x, y + i), (x + i, y))[side]
            self[across] = EMPTY
        place = self._places[room, side]
        self.doors[room, side] = self.doors[self.neighbour(room, side), (side + 2) % 4] = place

    def front_of(self, room: Room, side: int) -> Cell:
        """Return the cell of a room before its door."""
        (x, y), (dx, dy) = self._places[room, side], STEPS[side]
        return x - dx, y - dy

    def add_thing(self, room: Room, code: int) -> Cell:
        """Put a thing into a random empty cell of a room, not beside the agent if possible; return the cell.

        Raises:
            InputError: the room has no empty cell.
        """
        x, y = self.agent
        free = [cell for cell in self.inside(room) if abs(cell[0] - x) + abs(cell[1] - y) > 1] or self.inside(room)
        if not free:
            raise InputError(
                f"room {room} has no empty cell for another thing; make rooms larger or put in fewer things."
            )
        cell = free[int(self.rng.integers(len(free)))]
        self[cell] = code
        return cell

    def draw_colour(self) -> str:
        return COLOURS[int(self.rng.integers(len(COLOURS)))]

    def draw_room(self) -> Room:
        return int(self.rng.integers(self.columns)), int(self.rng.integers(self.rows))

    def add_distractors(self, count: int, taken: set[int], room: Room | None = None) -> list[int]:
        """Put ``count`` things that differ from ``taken`` into random rooms, or one room; return their codes."""
        added = []
        choices = [code_of(kind, colour) for kind in PORTABLE for colour in COLOURS]
        choices = [code for code in choices if code not in taken]
        for place in self.rng.permutation(len(choices))[:count].tolist():
            where = room or self.draw_room()
            if len(self.inside(where)) > 2:
                self.add_thing(where, choices[place])
                added.append(choices[place])
        return added

    def place_agent(self, room: Room) -> tuple[Cell, int]:
        """Choose a cell of a room and a direction for the agent such that no thing or door is ahead."""
        free = self.inside(room)
        while True:
            cell, facing = free[int(self.rng.integers(len(free)))], int(self.rng.integers(4))
            ahead = self[cell[0] + STEPS[facing][0], cell[1] + STEPS[facing][1]]
            if ahead <= 1 or len(free) < 3:
                self.agent = cell
                return cell, facing

    def connect_all(self, start: Room) -> None:
        """Add doors of random colours, none to a locked room, until every room can be reached."""
        rooms = [(i, j) for i in range(self.columns) for j in range(self.rows)]
        while True:
            reached, edge = {start}, [start]
            while edge:
                room = edge.pop()
                for side in self.sides(room):
                    other = self.neighbour(room, side)
                    if (room, side) in self.doors and other not in reached:
                        reached.add(other)
                        edge.append(other)
            if len(reached) == len(rooms):
                return
            gaps = [
                (room, side)
                for room in rooms
                for side in self.sides(room)
                if (room, side) not in self.doors and not {room, self.neighbour(room, side)} & self.locked
            ]
            room, side = gaps[int(self.rng.integers(len(gaps)))]
            self.add_door(room, side, self.draw_colour())
