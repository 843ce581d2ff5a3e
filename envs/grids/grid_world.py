"""`World`, one state of a gridworld, and `apply_action`, the dynamics that all families share.

They are MiniGrid's (arXiv 2306.13831): turn left and right, forward, pick up, drop, toggle, done. A world is an
immutable value, so that a snapshot is the world itself, a history is a list of them, and a planner searches over them.
Every cell that an agent can reach must be surrounded by cells of the grid: levels have an outer wall.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from .cells import CAN_CARRY, EMPTY, ENTERABLE, TOGGLED, UNLOCKED, WALL

Cell = tuple[int, int]
"""(x, y); x grows to the east, y to the south."""
LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
DIRECTIONS = ("east", "south", "west", "north")
STEPS: tuple[Cell, ...] = ((1, 0), (0, 1), (-1, 0), (0, -1))


class World(NamedTuple):
    """One state.

    Args:
        width: cells in a row.
        cells: a code of `cells` for each cell, row by row.
        agent: index into ``cells`` of the agent's cell.
        facing: index into `DIRECTIONS`.
        carried: code of what the agent carries, 0 for nothing.
        task: the task of the episode, in the family's format; constant during the episode.
        memo: the family's memory of the episode so far, such as completed instructions.
    """

    width: int
    cells: bytes
    agent: int
    facing: int
    carried: int = EMPTY
    task: Any = None
    memo: Any = None

    def __deepcopy__(self, memo: object) -> World:
        """Return the world itself, which is immutable."""
        return self

    @property
    def height(self) -> int:
        return len(self.cells) // self.width

    @property
    def ahead(self) -> int:
        """Index of the cell in front of the agent."""
        return self.agent + step_of(self.width, self.facing)

    @property
    def place(self) -> Cell:
        """The agent's cell."""
        return self.agent % self.width, self.agent // self.width


def step_of(width: int, facing: int) -> int:
    """Return the change of a cell's index by a step in a direction."""
    return (1, width, -1, -width)[facing]


def beside(width: int, index: int) -> tuple[int, int, int, int]:
    """Return the indices of the cells to the east, south, west and north of a cell."""
    return index + 1, index + width, index - 1, index - width


def apply_action(world: World, action: int) -> World:
    """Return the world after one of MiniGrid's seven actions; an action without effect returns ``world`` itself."""
    width, cells, agent, facing, carried, task, memo = world
    if action == LEFT:
        return World(width, cells, agent, (facing - 1) % 4, carried, task, memo)
    if action == RIGHT:
        return World(width, cells, agent, (facing + 1) % 4, carried, task, memo)
    ahead = agent + (1, width, -1, -width)[facing]
    thing = cells[ahead]
    if action == FORWARD:
        return World(width, cells, ahead, facing, carried, task, memo) if ENTERABLE[thing] else world
    if action == PICK_UP and CAN_CARRY[thing] and not carried:
        return World(width, put(cells, ahead, EMPTY), agent, facing, thing, task, memo)
    if action == DROP and carried and thing == EMPTY:
        return World(width, put(cells, ahead, carried), agent, facing, EMPTY, task, memo)
    if action == TOGGLE:
        if thing in TOGGLED:
            return World(width, put(cells, ahead, TOGGLED[thing]), agent, facing, carried, task, memo)
        if thing in UNLOCKED and UNLOCKED[thing][0] == carried:
            return World(width, put(cells, ahead, UNLOCKED[thing][1]), agent, facing, carried, task, memo)
    return world


def put(cells: bytes, index: int, code: int) -> bytes:
    """Return the cells with one of them replaced."""
    return cells[:index] + bytes((code,)) + cells[index + 1 :]


class Canvas:
    """A grid under construction: cells by (x, y), at first empty within an outer wall.

    Args:
        width, height: cells, at least 3 each.
        walled: True to make the outer cells walls.
    """

    def __init__(self, width: int, height: int, walled: bool = True):
        self.width, self.height = width, height
        self.cells = bytearray(width * height)
        if walled:
            self.frame(0, 0, width, height)

    def __getitem__(self, cell: Cell) -> int:
        return self.cells[cell[1] * self.width + cell[0]]

    def __setitem__(self, cell: Cell, code: int) -> None:
        self.cells[cell[1] * self.width + cell[0]] = code

    def index(self, cell: Cell) -> int:
        return cell[1] * self.width + cell[0]

    def row(self, x: int, y: int, length: int, code: int = WALL) -> None:
        """Set ``length`` cells from (x, y) eastwards."""
        for i in range(length):
            self[x + i, y] = code

    def column(self, x: int, y: int, length: int, code: int = WALL) -> None:
        """Set ``length`` cells from (x, y) southwards."""
        for i in range(length):
            self[x, y + i] = code

    def frame(self, x: int, y: int, width: int, height: int) -> None:
        """Set the border of a rectangle to walls."""
        self.row(x, y, width)
        self.row(x, y + height - 1, width)
        self.column(x, y, height)
        self.column(x + width - 1, y, height)

    def free(self, x: int = 0, y: int = 0, width: int = 0, height: int = 0) -> list[Cell]:
        """List the empty cells of a rectangle, or of the whole grid, row by row."""
        right, below = x + (width or self.width), y + (height or self.height)
        return [(i, j) for j in range(y, below) for i in range(x, right) if not self[i, j]]

    def world(self, agent: Cell, facing: int, **rest: Any) -> World:
        return World(self.width, bytes(self.cells), self.index(agent), facing, **rest)
