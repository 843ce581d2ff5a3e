"""palaestra/Maze-v0: find a shortest way through a maze drawn in text."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import Cell, draw_board
from ..param_space import FloatAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .directions import DIRECTIONS, direction_steps, flood_layers, read_directions, trace_way

_WALL, _FLOOR, _START, _GOAL = b"#.SG"
# Translation table that turns a drawing into a binary number with a 1 for each place that is no wall.
_PASSABLE = bytes(ord("1" if chr(code) in ".SG" else "0") for code in range(256))


class MazeTask(NamedTuple):
    """A maze: the drawing as ``text``, rows of characters separated by spaces; ``stride``, the number of characters
    from a place to the place below it; ``start`` and ``goal``, indices into the text; ``way``, a shortest way in the
    letters UDLR."""

    text: str
    stride: int
    start: int
    goal: int
    way: str


class Maze(Question):
    """Find a shortest way through a maze.

    Description:
        The maze has size x size cells with walls between them; some walls have a door. The doors are first drawn such
        that exactly one way leads from each cell to each other cell; then more doors are opened, which makes loops.
        Start and goal lie at least four moves apart. There is always a way, and any shortest way is right.

    Parameters:
        size (3 to 14, on request up to 30): cells along one side; the drawing has 2 * size + 1 rows and columns.
        loops (0.0 to 0.2, on request up to 0.5): further doors, as a share of all inner walls; some may be drawn where
            there is a door already.

    Observation:
        Text: the maze in rows of characters separated by spaces, ``#`` for wall, ``S`` for the start, ``G`` for the
        goal.

    Actions:
        Text with the moves as letters, ``RRDDLL`` (or as words, ``right right down``), read in ``answer_format``.

    Reward:
        1 for a shortest way from start to goal, 0 otherwise. A constant way of four moves such as LLDD is right in 0.02
        (without loops) to 0.04 of the smallest mazes by chance; a random walk that turns back only at dead ends is
        right in 0.84 of them.

    Termination:
        After the first answer.

    Source:
        Mazes by randomised depth-first search, the "recursive backtracker"; generated here.
    """

    answer_form = "lines"
    arrow_keys: ClassVar = {word: letter for letter, word in DIRECTIONS.items()}
    param_space = ParamSpace([IntAxis("size", 3, 14, limits=(3, 30)), FloatAxis("loops", 0.0, 0.2, limits=(0.0, 0.5))])

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        size, loops = params["size"], params["loops"]
        plan = _layout(size)
        places, doors, orders, stride = plan.places, plan.doors, plan.orders, plan.stride
        rooms = len(places)
        extra = round(loops * len(doors))
        draws = rng.random(rooms + 6 + extra).tolist()
        start = int(draws[rooms] * rooms)
        # Depth first: the room pushed last is entered next, unless it was entered before.
        grid = bytearray(plan.blank)
        parent = [-1] * rooms
        stack = [(start, start, places[start])]
        while stack:
            room, origin, door = stack.pop()
            if parent[room] < 0:
                parent[room] = origin
                grid[door] = _FLOOR
                stack += orders[room][int(draws[room] * 24)]
        for u in draws[rooms + 6 :]:
            grid[doors[int(u * len(doors))]] = _FLOOR
        near = (0, 1, -1, size, -size)
        for u in draws[rooms + 1 : rooms + 6]:
            goal = int(u * rooms)
            if goal - start not in near:
                break
        else:
            goal = (start + size + 2) % rooms
        begin, end = places[start], places[goal]
        grid[begin], grid[end] = _START, _GOAL
        if extra:
            moves = trace_way(flood_layers(_passable_places(grid), stride, begin, end), stride, end)
        else:
            # Without loops the only way follows the search tree.
            back = [goal]
            while goal != start:
                goal = parent[goal]
                back.append(goal)
            moves = "".join([plan.moves[after - before] for after, before in itertools.pairwise(back)][::-1])
        text = grid.decode()
        return Task(
            f"Find a shortest way from S to G in this maze, where # is wall.\n{text}\n"
            "Each move goes one character up, down, left or right (U, D, L, R). "
            "Answer with the moves on one line, such as RRDDLU.",
            None,
            solution=moves,
            content=text,
            split_key=text.replace("G", "S"),
            data=MazeTask(text, stride, begin, end, moves),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        maze: MazeTask = task.data
        moves = read_directions(answer)
        if moves is None:
            return rejected("The answer must consist of moves U, D, L, R alone, such as RRDDLU.")
        if len(moves) > len(maze.way):
            return Verdict(0.0, False, feedback=f"{len(moves)} moves are more than a shortest way has.")
        place, text, step = maze.start, maze.text, direction_steps(maze.stride)
        for count, move in enumerate(moves, start=1):
            place += step[move]
            if text[place] == "#":
                return Verdict(0.0, False, feedback=f"Move {count} runs into a wall.")
        if place != maze.goal:
            return Verdict(0.0, False, feedback="The way does not end at G.")
        return CORRECT

    def criteria(self, task: Task) -> list[str]:
        return [
            "The way begins at S and ends at G.",
            "No move runs into a wall.",
            f"It has {len(task.data.way)} moves, as no way is shorter.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        maze: MazeTask = task.data
        place, step, lines = maze.start, direction_steps(maze.stride), []
        for move, run in itertools.groupby(maze.way):
            count = len(list(run))
            place += count * step[move]
            row, column = place // maze.stride + 1, place % maze.stride // 2 + 1
            lines.append(f"{DIRECTIONS[move].capitalize()} {count} to row {row}, column {column}.")
        return [*lines, maze.way]

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return a random walk to the goal that turns back only at dead ends, cut off after 2 * stride moves."""
        maze: MazeTask = episode.data
        place, moves, step = maze.start, "", direction_steps(maze.stride)
        while place != maze.goal and len(moves) < 2 * maze.stride:
            back = {"U": "D", "D": "U", "L": "R", "R": "L"}.get(moves[-1:], "")
            ways = [move for move in DIRECTIONS if move != back and maze.text[place + step[move]] != "#"] or [back]
            moves += ways[int(rng.integers(len(ways)))]
            place += step[moves[-1]]
        return moves

    def solver_cost(self, episode: Task) -> float:
        """Return the number of places that a breadth-first search visits."""
        text, stride, start, goal, _ = episode.data
        return sum(layer.bit_count() for layer in flood_layers(_passable_places(text.encode()), stride, start, goal))

    def draw(self, episode: Task) -> np.ndarray:
        fills = {"#": "#4a4e69", ".": "#faf7f0", "S": "#8ecae6", "G": "#ffb703"}
        rows = [row.split() for row in episode.data.text.split("\n")]
        return draw_board([[Cell(cell if cell in "SG" else "", fills[cell]) for cell in row] for row in rows], side=20)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Tables shared by all mazes of one size. A room is a cell of the maze.

    Attributes:
        blank: the drawing without any door.
        stride: see `MazeTask`.
        places: for each room, its index in the text.
        doors: the indices of all possible doors in the text.
        orders: for each room and each of the 24 orders of directions, the neighbours to visit, as (neighbour, this
            room, the door between them).
    """

    blank: bytes
    stride: int
    places: list[int]
    doors: list[int]
    orders: list[list[list[tuple[int, int, int]]]]
    # The moves between two neighbouring rooms, by the difference of their numbers.
    moves: dict[int, str]


@functools.lru_cache(maxsize=32)
def _layout(size: int) -> _Layout:
    width = 2 * size + 1
    stride = 2 * width
    solid, rooms = " ".join("#" * width), " ".join("#." * size + "#")
    blank = "\n".join([solid, *[rooms, solid] * size]).encode()
    places = [(2 * y + 1) * stride + 2 * (2 * x + 1) for y in range(size) for x in range(size)]
    orders: list[list[list[tuple[int, int, int]]]] = []
    for room, place in enumerate(places):
        y, x = divmod(room, size)
        ways = itertools.permutations([(y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)])
        inside = [[v * size + u for v, u in way if 0 <= v < size and 0 <= u < size] for way in ways]
        orders.append([[(other, room, (place + places[other]) // 2) for other in order] for order in inside])
    doors = sorted({door for order in orders for _, _, door in order[0]})
    return _Layout(blank, stride, places, doors, orders, {size: "DD", -size: "UU", 1: "RR", -1: "LL"})


def _passable_places(grid: bytes | bytearray) -> int:
    """Return a bit set of the places that are no wall."""
    return int(grid[::-1].translate(_PASSABLE), 2)


register("palaestra/Maze-v0", f"{__name__}:Maze")
