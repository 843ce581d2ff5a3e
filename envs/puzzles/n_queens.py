"""palaestra/NQueens-v0: complete a board of queens so that none attacks another."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import PAPER, Cell, draw_board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .numbers_in_order import read_numbers_in_order

_SHADE, _QUEEN = "#e9e2d0", "#7a1f1f"


class NQueens(Question):
    """Place the missing queens.

    Description:
        A board of ``size`` rows and columns has a queen in ``given`` of its rows, or in the nearest number of rows that
        leaves two to eight rows empty. There is exactly one way to place a queen in each empty row so that no two
        queens share a row, column or diagonal.

    Parameters:
        size (5 to 12, on request up to 24): rows and columns.
        given (4 to 6, on request up to 16): queens on the board at the start; fewer are harder.

    Observation:
        The rules and the rows of the board, with Q for queens and dots for empty squares.

    Actions:
        Text with the column of the queen in each row, the given ones too, from the top row down, counted from 1 and
        separated by blanks or commas: ``1 5 8 6 3 7 2 4``, or each after the number of its row: ``1: 1, 2: 5``; read in
        ``answer_format``.

    Reward:
        1 for a full board without attacks that has the given queens, 0 otherwise. On boards of 5 rows, each of the 10
        possible answers is right in up to 0.14 of the tasks by chance. A player who always takes the row with the
        fewest free squares, puts a queen on the first of them and never goes back, wins all of the easiest tasks and
        few of the hardest.

    Termination:
        After the first answer.

    Source:
        Max Bezzel's problem, 1848; completion is NP-complete (Gent, Jefferson and Nightingale 2017).
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [IntAxis("size", 5, 12, limits=(5, 24)), IntAxis("given", 4, 6, harder="down", limits=(4, 16))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        size = params["size"]
        kept = min(max(params["given"], size - 8), size - 2)
        missing = size - kept
        given, queens = _draw_unique_board(size, kept, rng)
        rows = ["." * size if column < 0 else "." * column + "Q" + "." * (size - 1 - column) for column in given]
        text = "\n".join(rows)
        return Task(
            f"Add {missing} queens (Q) to this board of {size} x {size} squares so that no two of the {size} queens "
            f"share a row, a column or a diagonal. There is exactly one way.\n{text}\nAnswer with the column of the "
            f"queen in each of the {size} rows, from the top row down: {size} numbers from 1 to {size} separated by "
            "spaces.",
            " ".join(str(column + 1) for column in queens),
            content=text,
            split_key=f"{size} {_first_image(given)}",
            data=given,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        given: list[int] = task.data
        size = len(given)
        columns = read_numbers_in_order(answer, size)
        if columns is None or not all(1 <= column <= size for column in columns):
            return rejected(f"The answer must be {size} numbers from 1 to {size}, separated by spaces.")
        queens = [column - 1 for column in columns]
        for row, column in enumerate(queens):
            if given[row] not in (-1, column):
                return Verdict(0.0, False, feedback=f"The given queen in row {row + 1} was moved.")
            for above in range(row):
                if abs(queens[above] - column) in (0, row - above):
                    pair = f"rows {above + 1} and {row + 1}"
                    return Verdict(0.0, False, feedback=f"The queens in {pair} attack each other.")
        return CORRECT

    def heuristic_action(self, episode: Task) -> str:
        """Return a board filled without backtracking: always the row with the fewest free squares, with a queen on the
        first free one."""
        given: list[int] = episode.data
        size, placed = len(given), {row: column for row, column in enumerate(given) if column >= 0}
        while len(placed) < size:
            free = {row: _free_columns(row, size, placed) for row in range(size) if row not in placed}
            row = min(free, key=lambda row: len(free[row]))
            placed[row] = free[row][0] if free[row] else 0
        return " ".join(str(placed[row] + 1) for row in range(size))

    def solver_cost(self, episode: Task) -> float:
        """Return the number of nodes of a depth-first search over the empty rows from the top down, up to the
        solution."""
        return count_completions(episode.data, 1)[1]

    def criteria(self, task: Task) -> list[str]:
        size = len(task.data)
        return [
            "No two queens share a column.",
            "No two queens share a diagonal.",
            "The given queens stay where they are.",
            f"The answer is {size} numbers from 1 to {size}, a row each.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        return [*_write_deduction(task.data, [int(column) - 1 for column in task.reference.split()]), self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        size = len(episode.data)
        return draw_board(
            [
                [
                    Cell("Q" if column == queen else "", _SHADE if (row + column) % 2 else PAPER, _QUEEN)
                    for column in range(size)
                ]
                for row, queen in enumerate(episode.data)
            ]
        )


def _draw_unique_board(size: int, kept: int, rng: np.random.Generator) -> tuple[list[int], list[int]]:
    """Draw (queens in ``kept`` rows, full board) such that the full board is the only completion. Both are the columns
    of the queens, row by row, -1 for none."""
    while True:
        queens = _random_board(size, rng)
        # Finding a board takes longer than trying some subsets of its queens.
        for draws in rng.random((6, size)).tolist():
            shown = sorted(range(size), key=draws.__getitem__)[:kept]
            given = [column if row in shown else -1 for row, column in enumerate(queens)]
            if count_completions(given, 2)[0] == 1:
                return given, queens


def _random_board(size: int, rng: np.random.Generator) -> list[int]:
    """Draw a full board by depth-first search with the columns of each row in random order. A slow search is
    restarted with other orders."""
    while True:
        orders = [sorted(range(size), key=draws.__getitem__) for draws in rng.random((size, size)).tolist()]
        queens: list[int] = []
        if _complete_board(orders, queens, 0, 0, 0, [40]):
            return queens


def _complete_board(
    orders: list[list[int]], queens: list[int], columns: int, falling: int, rising: int, budget: list[int]
) -> bool:
    """Complete ``queens`` in place by a search of at most ``budget[0]`` nodes, which is reduced. Return True if a
    completion was found. ``orders`` are the columns of each row in the order of trial; the bit sets are the columns and
    diagonals attacked so far."""
    row, size = len(queens), len(orders)
    if row == size:
        return True
    budget[0] -= 1
    for column in orders[row]:
        if budget[0] < 0:
            return False
        one, other, third = 1 << column, 1 << (column - row + size), 1 << (column + row)
        if not (columns & one or falling & other or rising & third):
            queens.append(column)
            if _complete_board(orders, queens, columns | one, falling | other, rising | third, budget):
                return True
            queens.pop()
    return False


def count_completions(given: list[int], limit: int) -> tuple[int, int]:
    """Return (number of ways to fill the empty rows, number of search nodes visited).

    Args:
        given: the column of the queen in each row, -1 for an empty row. The queens must not attack each other.
        limit: the number of ways at which the search stops.
    """
    size = len(given)
    columns = falling = rising = 0
    for row, column in enumerate(given):
        if column >= 0:
            columns |= 1 << column
            falling |= 1 << (column - row + size)
            rising |= 1 << (column + row)
    free = [row for row, column in enumerate(given) if column < 0]
    every = (1 << size) - 1
    found = nodes = 0

    def place(depth: int, columns: int, falling: int, rising: int) -> None:
        nonlocal found, nodes
        nodes += 1
        if depth == len(free):
            found += 1
            return
        row = free[depth]
        options = every & ~(columns | falling >> (size - row) | rising >> row)
        while options and found < limit:
            bit = options & -options
            options ^= bit
            place(depth + 1, columns | bit, falling | bit << (size - row), rising | bit << row)

    place(0, columns, falling, rising)
    return found, nodes


def _first_image(given: list[int]) -> list[tuple[int, int]]:
    """Return the smallest of the eight symmetric images of a board, as sorted (row, column) pairs: a key that all
    images share."""
    size, images, queens = len(given), [], [(row, column) for row, column in enumerate(given) if column >= 0]
    for _ in range(4):
        queens = [(column, size - 1 - row) for row, column in queens]
        images += [sorted(queens), sorted([(row, size - 1 - column) for row, column in queens])]
    return min(images)


def _free_columns(row: int, size: int, placed: dict[int, int]) -> list[int]:
    """Return the columns of a row that no queen attacks."""
    return [
        column
        for column in range(size)
        if all(abs(column - other) not in (0, abs(row - above)) for above, other in placed.items())
    ]


def _write_deduction(given: list[int], queens: list[int]) -> list[str]:
    """Return a line for each missing queen, always for the row with the fewest free squares."""
    size, placed, steps = len(given), {row: column for row, column in enumerate(given) if column >= 0}, []
    while len(placed) < size:
        free = {row: _free_columns(row, size, placed) for row in range(size) if row not in placed}
        row = min(free, key=lambda row: len(free[row]))
        columns = ", ".join(str(column + 1) for column in free[row])
        reason = "the only free column" if len(free[row]) == 1 else f"of {columns}, the others lead to no full board"
        steps.append(f"Row {row + 1}: column {queens[row] + 1}, {reason}.")
        placed[row] = queens[row]
    return steps


register("palaestra/NQueens-v0", f"{__name__}:NQueens")
