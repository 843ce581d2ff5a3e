"""palaestra/Sudoku-v0: fill a grid so that no row, column or box contains a digit twice.

The puzzles are minimal ones from a table (sudoku.txt, made by tools/make_sudoku_table.py), transformed by the
symmetries of Sudoku. All symmetries preserve the unique solution, so that no solver runs when a task is made. The table
also marks the cells that `fill_singles` leaves open (the hard cells); showing any other cells in addition to the clues
does not change which cells stay open.
"""

from __future__ import annotations

import functools
import math
from bisect import bisect_right
from collections.abc import Sequence
from importlib.resources import files
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.grid import GridError, parse_grid
from ...rewards.verifiers.registry import CORRECT, rejected
from ..board_picture import PAPER, Cell, draw_board
from ..param_space import ChoiceAxis, FloatAxis, ParamSpace
from ..question import Question, Task
from ..registration import register

# Rows and columns of a box.
BOXES = {4: (2, 2), 6: (2, 3), 9: (3, 3)}
# If ``shown`` is below this value, puzzles of size 9 are drawn from those that singles do not solve.
HARD_BELOW = 0.25
_SHADE = "#e9e2d0"


class Sudoku(Question):
    """Solve a Sudoku.

    Description:
        Each task is a minimal puzzle from a table (every clue is needed), with digits renamed, rows and columns
        permuted within and as bands, perhaps transposed, and then with some further cells of the solution shown. There
        is always exactly one solution. For size 9, all images of one puzzle of the table lie in the same split; and if
        ``shown`` is below 0.25, naked and hidden singles (a cell with one digit left, a digit with one cell left) do
        not solve the puzzle: the further cells shown are first those that singles would fill.

    Parameters:
        size (4, 6, 9): rows, columns and digits; boxes are 2 x 2, 2 x 3 and 3 x 3.
        shown (0.0 to 0.75, on request up to 0.95): share of the cells that are not minimal clues which is shown too;
            fewer are harder.

    Observation:
        The rules and the rows of the grid, with dots for empty cells.

    Actions:
        Text with the rows of the full grid, ``1234 3412 2143 4321``, read in ``answer_format``; blanks or commas
        between all digits do no harm.

    Reward:
        1 for the solution, 0 otherwise; a grid that is only partly right earns nothing. A player who fills in only
        singles wins all tasks of the small sizes, and none of size 9 with few cells shown.

    Termination:
        After the first answer.

    Source:
        Number Place, Howard Garns 1979; the table was generated for this environment.
    """

    answer_form = "lines"
    param_space = ParamSpace(
        [ChoiceAxis("size", (4, 6, 9)), FloatAxis("shown", 0.0, 0.75, harder="down", limits=(0.0, 0.95))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        size, table = params["size"], _table()[params["size"]]
        draws = rng.random(2 + 5 * size + size * size).tolist()
        needs_more_than_singles = size == 9 and params["shown"] < HARD_BELOW
        number = int(draws[0] * len(table))
        if needs_more_than_singles:
            # A puzzle that singles do not solve, but in which they fill at least the share ``shown`` of the open cells.
            shares, numbers = _list_hard_puzzles()
            number = numbers[int(draws[0] * bisect_right(shares, -params["shown"]))]
        solution, kinds = table[number]
        places = _draw_symmetry(size, draws[1], draws[2 : 2 + 2 * size], draws[2 + 2 * size : 2 + 4 * size])
        names = draws[2 + 4 * size : 2 + 5 * size]
        # Rename the digit d to the rank of its draw.
        digits = [0] * (size + 1)
        for name, digit in enumerate(sorted(range(size), key=names.__getitem__), 1):
            digits[digit + 1] = name
        full = [digits[solution[place]] for place in places]
        given = [digit if kinds[place] == CLUE else 0 for digit, place in zip(full, places)]
        hidden = [cell for cell, digit in enumerate(given) if not digit]
        hidden.sort(key=draws[2 + 5 * size :].__getitem__)
        if needs_more_than_singles and params["shown"]:
            hidden.sort(key=lambda cell: kinds[places[cell]])
        for cell in hidden[: round(params["shown"] * len(hidden))]:
            given[cell] = full[cell]
        high, wide = BOXES[size]
        grid = _format_rows(given, size, "\n").replace("0", ".")
        return Task(
            f"Sudoku: fill the empty cells (dots) so that every row, every column and every box of {high} rows and "
            f"{wide} columns holds each of the digits 1 to {size} exactly once. There is exactly one solution.\n"
            f"{grid}\nAnswer with the {size} full rows on one line, from top to bottom, each as {size} digits, "
            "separated by spaces.",
            _format_rows(full, size, " "),
            content=grid,
            # The small sizes have too few different grids to keep images of one puzzle in one split.
            split_key=f"puzzle {number}" if size == 9 else "",
            data=(given, full),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        given, full = task.data
        size = _side_length(given)
        try:
            written = "".join(str(number) for row in parse_grid(answer) for number in row)
        except GridError:
            written = ""
        if len(written) != len(full) or not all("1" <= digit <= str(size) for digit in written):
            return rejected(f"The answer must be {size} rows of {size} digits from 1 to {size}, separated by spaces.")
        wrong = [cell for cell, digit in enumerate(full) if int(written[cell]) != digit]
        if not wrong:
            return CORRECT
        if any(given[cell] for cell in wrong):
            return Verdict(0.0, False, feedback="The answer changes a given digit.")
        return Verdict(0.0, False, feedback=f"{len(wrong)} of {given.count(0)} empty cells are filled in wrongly.")

    def heuristic_action(self, episode: Task) -> str:
        """Return the grid with singles filled in, and 1 in all remaining cells."""
        given = episode.data[0]
        return _format_rows([digit or 1 for digit in fill_singles(given)], _side_length(given), " ")

    def solver_cost(self, episode: Task) -> float:
        """Return the number of nodes of a depth-first search that always fills the cell with the fewest candidates."""
        return count_solutions(episode.data[0], limit=2)[1]

    def criteria(self, task: Task) -> list[str]:
        size = math.isqrt(len(task.data[0]))
        high, wide = BOXES[size]
        return [
            f"Every row holds each of the digits 1 to {size} once.",
            f"Every column holds each of the digits 1 to {size} once.",
            f"Every box of {high} rows and {wide} columns holds each of the digits 1 to {size} once.",
            "The given digits stay where they are.",
            f"The answer is {size} rows of {size} digits.",
        ]

    def solution_steps(self, task: Task) -> list[str]:
        given, full = task.data
        return [*_write_deduction(given, full), self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        given = episode.data[0]
        size = _side_length(given)
        high, wide = BOXES[size]
        fills = [_SHADE if (cell // size // high + cell % size // wide) % 2 else PAPER for cell in range(size * size)]
        cells = [Cell(str(digit) if digit else "", fill) for digit, fill in zip(given, fills)]
        return draw_board([cells[start : start + size] for start in range(0, size * size, size)])


def count_solutions(cells: Sequence[int], limit: int = 1) -> tuple[int, int]:
    """Return (number of solutions of a grid, number of search nodes visited).

    Args:
        cells: the rows of the grid in one sequence, 0 for empty.
        limit: the count of solutions at which the search stops.
    """
    size = _side_length(cells)
    places = _places(size)
    used = [0] * (3 * size)
    for (row, column, box), digit in zip(places, cells):
        bit = 1 << digit >> 1
        if used[row] & bit or used[column] & bit or used[box] & bit:
            return 0, 1
        used[row] |= bit
        used[column] |= bit
        used[box] |= bit
    empty = [places[cell] for cell, digit in enumerate(cells) if not digit]
    found, nodes, every = 0, 0, (1 << size) - 1

    def fill() -> None:
        nonlocal found, nodes
        nodes += 1
        if not empty:
            found += 1
            return
        fewest, best, options = size + 1, 0, 0
        for index, (row, column, box) in enumerate(empty):
            free = every & ~(used[row] | used[column] | used[box])
            count = free.bit_count()
            if count < fewest:
                fewest, best, options = count, index, free
                if count < 2:
                    break
        place = empty[best]
        row, column, box = place
        empty[best] = empty[-1]
        empty.pop()
        while options and found < limit:
            bit = options & -options
            options ^= bit
            used[row] |= bit
            used[column] |= bit
            used[box] |= bit
            fill()
            used[row] ^= bit
            used[column] ^= bit
            used[box] ^= bit
        empty.append(place)
        empty[best], empty[-1] = empty[-1], empty[best]

    fill()
    return found, nodes


def fill_singles(cells: Sequence[int]) -> list[int]:
    """Return the grid with every cell filled that follows by naked and hidden singles: a cell with one candidate, and
    the only cell of a row, column or box for a digit. The result does not depend on the order of filling."""
    size = _side_length(cells)
    places, units = _places(size), _units(size)
    filled, used, every = list(cells), [0] * (3 * size), (1 << size) - 1
    waiting = [(cell, 1 << digit >> 1) for cell, digit in enumerate(cells) if digit]
    while waiting:
        for cell, bit in waiting:
            filled[cell] = bit.bit_length()
            for unit in places[cell]:
                used[unit] |= bit
        options = [
            0 if digit else every & ~(used[row] | used[column] | used[box])
            for digit, (row, column, box) in zip(filled, places)
        ]
        found = {cell: option for cell, option in enumerate(options) if option.bit_count() == 1}
        for unit in units:
            once = twice = 0
            for cell in unit:
                twice |= once & options[cell]
                once |= options[cell]
            once &= ~twice
            if once:
                found.update({cell: options[cell] & once for cell in unit if (options[cell] & once).bit_count() == 1})
        waiting = list(found.items())
    return filled


def _side_length(cells: Sequence[int]) -> int:
    return {16: 4, 36: 6, 81: 9}[len(cells)]


@functools.cache
def _places(size: int) -> list[tuple[int, int, int]]:
    """Return (row, column, box) of each cell; rows, columns and boxes are numbered together, from 0 to 3 size - 1."""
    high, wide = BOXES[size]
    boxes_across = size // wide
    return [
        (row, size + column, 2 * size + row // high * boxes_across + column // wide)
        for row in range(size)
        for column in range(size)
    ]


@functools.cache
def _units(size: int) -> list[list[int]]:
    """Return the cells of each row, column and box."""
    units: list[list[int]] = [[] for _ in range(3 * size)]
    for cell, place in enumerate(_places(size)):
        for unit in place:
            units[unit].append(cell)
    return units


# Kinds of cells of a puzzle in the table: a clue, filled by singles, or left open by singles.
CLUE, SINGLE, HARD_CELL = 0, 1, 2


@functools.cache
def _table() -> dict[int, list[tuple[list[int], list[int]]]]:
    """Return, by size, (solution, kinds of its cells) of each minimal puzzle. The file has one solution per line: clues
    as digits, cells that singles fill as small letters (a for 1), all others as capital letters."""
    table: dict[int, list[tuple[list[int], list[int]]]] = {size: [] for size in BOXES}
    for line in (files(str(__package__)) / "sudoku.txt").read_text("ascii").split():
        solution = [int(mark) if mark.isdigit() else ord(mark.lower()) - 96 for mark in line]
        kinds = [CLUE if mark.isdigit() else SINGLE if mark.islower() else HARD_CELL for mark in line]
        table[_side_length(solution)].append((solution, kinds))
    return table


@functools.cache
def _list_hard_puzzles() -> tuple[list[float], list[int]]:
    """Return (shares, indices) of the puzzles of size 9 that singles do not solve: minus the share of open cells that
    singles fill, in rising order, and the index of the puzzle in the table."""
    kinds = [(kinds.count(SINGLE), kinds.count(HARD_CELL), number) for number, (_, kinds) in enumerate(_table()[9])]
    found = sorted((-single / (single + hard), number) for single, hard, number in kinds if hard)
    return [share for share, _ in found], [number for _, number in found]


def _draw_symmetry(size: int, flip: float, row_draws: list[float], column_draws: list[float]) -> list[int]:
    """Return a random symmetry: for each cell of the new grid, the cell of the old grid that it comes from."""
    high, wide = BOXES[size]
    # Order the bands by one set of draws, and the rows within each band by another.
    rows = sorted(range(size), key=lambda row: (row_draws[size + row // high], row_draws[row]))
    columns = sorted(range(size), key=lambda column: (column_draws[size + column // wide], column_draws[column]))
    if high == wide and flip < 0.5:
        return [column * size + row for row in rows for column in columns]
    return [row * size + column for row in rows for column in columns]


def _format_rows(cells: Sequence[int], size: int, separator: str) -> str:
    text = "".join(map(str, cells))
    return separator.join(text[start : start + size] for start in range(0, size * size, size))


def _write_deduction(given: Sequence[int], full: Sequence[int]) -> list[str]:
    """Return one line for each empty cell, in an order in which as many as possible follow from the digits before."""
    size = _side_length(given)
    places, units, cells = _places(size), _units(size), list(given)
    steps = []
    while 0 in cells:
        options = {
            cell: {*range(1, size + 1)} - {cells[other] for unit in places[cell] for other in units[unit]}
            for cell, digit in enumerate(cells)
            if not digit
        }
        cell, reason = _find_forced_cell(options, units) or (min(options, key=lambda cell: len(options[cell])), "")
        cells[cell] = full[cell]
        reason = reason or f"any other of {', '.join(map(str, sorted(options[cell])))} leads to a contradiction"
        steps.append(f"Row {cell // size + 1}, column {cell % size + 1} is {full[cell]}: {reason}.")
    return steps


def _find_forced_cell(options: dict[int, set[int]], units: list[list[int]]) -> tuple[int, str] | None:
    """Return (cell, reason) for a cell with one candidate, or else for the only cell of a row, column or box in which a
    digit fits; None if there is no such cell."""
    for cell, digits in options.items():
        if len(digits) == 1:
            return cell, "no other digit is left for this cell"
    size = len(units) // 3
    for unit, members in enumerate(units):
        kind = ("row", "column", "box")[unit // size]
        for digit in range(1, size + 1):
            fitting = [cell for cell in members if digit in options.get(cell, ())]
            if len(fitting) == 1:
                return fitting[0], f"there is no other cell for {digit} in its {kind}"
    return None


register("palaestra/Sudoku-v0", f"{__name__}:Sudoku")
