"""palaestra/Minesweeper-v0: open every cell without a mine; each board can be solved without guessing."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..board_picture import INK, Cell, draw_board
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, IntAxis, ParamSpace
from ..registration import register
from ..splits import salt

# Words and signs allowed around two numbers, as in "(3, 5), (4, 1)" and "row 3 column 5".
_WORDS = re.compile(r"\b(?:row|column|col|and|open)\b|[(),;\[\]\s]+", re.IGNORECASE)
_INKS = (INK, "#0000c8", "#007a00", "#c80000", "#000078", "#780000", "#007878", "#000000", "#606060")


@dataclass(frozen=True, slots=True)
class MinesweeperState:
    """State of a game: ``size``, the side length of the board; ``mines``, ``opened`` and ``given``, bit sets (bit row *
    size + column) of the mines, the open cells and the cells open at the start; ``work``, the cost of the solver (see
    `measure_solving_work`); ``exploded``, the mine that was opened, or -1; and a ``salt`` (see `splits.salt`)."""

    size: int
    mines: int
    opened: int
    given: int
    work: int = 0
    exploded: int = -1
    salt: str = ""


class Minesweeper(Game):
    """Open every cell without a mine.

    Description:
        A square board hides mines. One cell without mines around it is opened at the start; opening a cell without
        mines around it opens its neighbours too. At least ``size`` cells must be named to open all. Every board can be
        solved without guessing, by these rules only: if all mines around a number are known, the other cells around the
        number are free; if there are as many closed cells around a number as mines still unknown, all of them are
        mines; and the same for the whole board and the number of all mines. Boards of "pairs" need a further rule for
        two numbers A and B with common cells (one may be the whole board): if A lacks d mines more than B, and exactly
        d cells of A are not cells of B, these d cells are mines, and the cells of B that are not cells of A are free.
        The board shown at the start, not the mines, decides the split.

    Parameters:
        size (5 to 9, on request 4 to 16): rows and columns.
        density (0.12 to 0.2): share of cells with mines.
        rules ("single", "pairs"): the rules needed to solve the board.

    Observation:
        Text: the rules (at first) and the board with numbered rows and columns: # is a closed cell, . an open cell
        without mines around it, a digit the number of mines around it.

    Actions:
        Text with cells to open as "row column", several separated by commas: ``3 5, 4 1``; read in ``answer_format``.

    Reward:
        1 when all cells without mines are open, 0 otherwise. A player that examines each number separately opens all
        boards of "single", and 0.4 of the boards of "pairs".

    Termination:
        When all cells without mines are open, or a mine is opened. Truncated after as many turns as there are closed
        cells without mines at the start; a turn that opens nothing, or an answer that cannot be read, counts as a turn.
        ``info["progress"]`` is the share of these cells that are open.

    Source:
        The classic computer game; boards generated here.
    """

    answer_form = "moves"
    param_space = ParamSpace(
        [
            IntAxis("size", 5, 9, limits=(4, 16)),
            FloatAxis("density", 0.12, 0.2),
            ChoiceAxis("rules", ("single", "pairs")),
        ]
    )

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> MinesweeperState:
        size, pairs = params["size"], params["rules"] == "pairs"
        count = round(params["density"] * size**2)
        around = neighbours(size)
        while True:
            # In a random order of the cells, the first one is opened, and the next ones that are not its neighbours get
            # the mines.
            first, *order = np.argsort(rng.random(size**2)).tolist()
            mines = sum([1 << cell for cell in [c for c in order if not around[first] >> c & 1][:count]])
            opened = open_cell(size, mines, 0, first)
            if count_clicks(size, mines, opened) < size:
                continue
            work = measure_solving_work(size, mines, opened, pairs)
            if work and not (pairs and measure_solving_work(size, mines, opened, False)):
                return MinesweeperState(size, mines, opened, opened, work, salt=salt(rng))

    def content_of(self, episode: MinesweeperState) -> str:
        return f"{episode.salt} {episode.mines:x} {self.split_key(episode)}"

    def split_key(self, episode: MinesweeperState) -> str:
        """Return the board and the number of mines, as the agent sees them at the start."""
        start = MinesweeperState(episode.size, episode.mines, episode.given, episode.given)
        signs = "".join([_cell_sign(start, cell) for cell in range(episode.size**2)])
        return f"{episode.size} {episode.mines.bit_count()} {signs}"

    def turn_limit(self, state: MinesweeperState) -> int:
        return _count_closed(state, state.given)

    def solver_cost(self, episode: MinesweeperState) -> float:
        """Return the number of times that the rules examine a numbered cell until all cells are open."""
        return episode.work

    def observe(self, state: MinesweeperState) -> str:
        size = state.size
        wide = len(str(size))
        rows = [[str(y + 1), *(_cell_sign(state, y * size + x) for x in range(size))] for y in range(size)]
        rows = [["", *map(str, range(1, size + 1))], *rows]
        table = "\n".join([" ".join([sign.rjust(wide) for sign in row]) for row in rows])
        if state.opened != state.given or state.exploded >= 0:
            return table
        return (
            f"Minesweeper, {size} rows and {size} columns, {state.mines.bit_count()} mines. # is a closed cell; a "
            "digit says how many of the up to 8 cells around have mines, and . that none has. Open all cells without "
            "mines; opening a mine loses. No guessing is needed. "
            f"You have {_count_closed(state, state.given)} turns. Answer "
            f"with cells to open as row and column, one or several separated by commas: 3 5, 4 1.\n{table}"
        )

    def act(self, state: MinesweeperState, action: str) -> Transition:
        numbers = _WORDS.sub(" ", action).split()
        if not numbers or len(numbers) % 2 or not set(numbers) <= set(map(str, range(1, state.size + 1))):
            error = f"Answer with cells as row and column, each from 1 to {state.size}, such as 3 5, 4 1."
            return Transition(state, progress=_progress(state), action_error=error)
        opened = state.opened
        for y, x in zip(numbers[::2], numbers[1::2]):
            cell = (int(y) - 1) * state.size + int(x) - 1
            if state.mines >> cell & 1:
                after = replace(state, opened=opened, exploded=cell)
                return Transition(after, done=True, progress=_progress(after))
            opened = open_cell(state.size, state.mines, opened, cell)
        if opened == state.opened:
            error = "What you name is open already; name a closed cell."
            return Transition(state, progress=_progress(state), action_error=error)
        after = replace(state, opened=opened)
        won = not _count_closed(after, opened)
        return Transition(after, done=won, success=won, progress=_progress(after))

    def oracle(self, state: MinesweeperState) -> str:
        """Return all cells that the rules prove free; if there are none, a cell without a mine."""
        safe = find_free_cells(state.size, state.mines, state.opened, True)[0]
        if not safe:
            unknown = ((1 << state.size**2) - 1) & ~state.opened & ~state.mines
            safe = unknown & -unknown
        return ", ".join(_cell_name(cell, state.size) for cell in _list_cells(safe))

    def random_action(self, episode: MinesweeperState, rng: np.random.Generator) -> str:
        closed = _list_cells(((1 << episode.size**2) - 1) & ~episode.opened)
        return _cell_name(closed[int(rng.integers(len(closed)))], episode.size)

    def heuristic_action(self, episode: MinesweeperState) -> str:
        """Return the cell of `safest_cell`, a player that examines each number separately."""
        return _cell_name(safest_cell(episode.size, episode.mines, episode.opened), episode.size)

    def draw(self, episode: MinesweeperState) -> np.ndarray:
        size = episode.size
        return draw_board([[_draw_cell(episode, y * size + x) for x in range(size)] for y in range(size)], side=32)


@functools.cache
def neighbours(size: int) -> tuple[int, ...]:
    """Return, for each cell, a bit set of the up to eight cells around it."""
    sets = []
    for place in range(size * size):
        y, x = divmod(place, size)
        block = [(v, u) for v in (y - 1, y, y + 1) for u in (x - 1, x, x + 1) if 0 <= v < size and 0 <= u < size]
        sets.append(sum(1 << (v * size + u) for v, u in block if (v, u) != (y, x)))
    return tuple(sets)


def open_cell(size: int, mines: int, opened: int, cell: int) -> int:
    """Return the open cells after ``cell`` is opened, which must have no mine."""
    around, todo = neighbours(size), 1 << cell
    while todo := todo & ~opened:
        opened |= todo
        spread = 0
        for place in _list_cells(todo):
            if not around[place] & mines:
                spread |= around[place]
        todo = spread
    return opened


def count_clicks(size: int, mines: int, opened: int) -> int:
    """Return the smallest number of cells that must be named to open all cells without mines."""
    around, count = neighbours(size), 0
    for cell in _list_cells(((1 << size**2) - 1) & ~mines):
        if not around[cell] & mines and not opened >> cell & 1:
            opened, count = open_cell(size, mines, opened, cell), count + 1
    return count + size**2 - (opened | mines).bit_count()


def find_free_cells(size: int, mines: int, opened: int, pairs: bool) -> tuple[int, int]:
    """Return (free, work): a bit set of closed cells that the rules prove free, 0 if they prove none, and the number of
    numbers and pairs of numbers examined.

    The search stops at the first free cells, and uses the rule of pairs only if the other rules find none.
    """
    around, closed = neighbours(size), ((1 << size**2) - 1) & ~opened
    numbers = [(around[c], (around[c] & mines).bit_count()) for c in _list_cells(opened) if around[c] & closed]
    numbers.append((closed, mines.bit_count()))
    found = free = work = 0
    while True:
        before, groups = found, []
        for cells, count in numbers:
            unknown = cells & closed & ~found & ~free
            missing = count - (cells & found).bit_count()
            work += 1
            if not unknown:
                continue
            if not missing:
                free |= unknown
            elif missing == unknown.bit_count():
                found |= unknown
            else:
                groups.append((unknown, missing))
        if free:
            return free, work
        if found != before:
            continue
        if not pairs:
            return 0, work
        for a, m in groups:
            for b, n in groups:
                if a & b:
                    work += 1
                    if n - m == (b & ~a).bit_count():
                        found |= b & ~a
                        free |= a & ~b
        if free:
            return free, work
        if found == before:
            return 0, work


def safest_cell(size: int, mines: int, opened: int) -> int:
    """Return the closed cell that is safest if each number is examined separately: once for mines that it proves, then,
    given these mines, for free cells; if none is proved free, the cell with the lowest risk of a mine."""
    around, closed = neighbours(size), ((1 << size**2) - 1) & ~opened
    numbers = [(around[c] & closed, (around[c] & mines).bit_count()) for c in _list_cells(opened) if around[c] & closed]
    known = 0
    for cells, count in numbers:
        if count == cells.bit_count():
            known |= cells
    # Risk of a mine: the maximum over the numbers around a cell; without numbers, the share of mines among closed
    # cells.
    risk = dict.fromkeys(_list_cells(closed & ~known), mines.bit_count() / closed.bit_count())
    for cells, count in numbers:
        unknown, missing = cells & ~known, count - (cells & known).bit_count()
        if not missing and unknown:
            return _list_cells(unknown)[0]
    for cells, count in numbers:
        unknown, missing = cells & ~known, count - (cells & known).bit_count()
        for cell in _list_cells(unknown):
            risk[cell] = max(risk[cell], missing / unknown.bit_count())
    return min(risk, key=risk.__getitem__)


def measure_solving_work(size: int, mines: int, opened: int, pairs: bool) -> int:
    """Return the number of examinations (see `find_free_cells`) that solve the board by the rules; 0 if the rules do
    not solve it."""
    everything, total = (1 << size**2) - 1, 0
    while opened | mines != everything:
        free, work = find_free_cells(size, mines, opened, pairs)
        if not free:
            return 0
        total += work
        for cell in _list_cells(free):
            opened = open_cell(size, mines, opened, cell)
    return total


def _list_cells(cells: int) -> list[int]:
    """Return the cells of a bit set, in rising order."""
    places = []
    while cells:
        low = cells & -cells
        places.append(low.bit_length() - 1)
        cells ^= low
    return places


def _cell_name(cell: int, size: int) -> str:
    return f"{cell // size + 1} {cell % size + 1}"


def _count_closed(state: MinesweeperState, opened: int) -> int:
    return state.size**2 - (opened | state.mines).bit_count()


def _progress(state: MinesweeperState) -> float:
    return 1.0 - _count_closed(state, state.opened) / _count_closed(state, state.given)


def _cell_sign(state: MinesweeperState, cell: int) -> str:
    if state.exploded == cell:
        return "*"
    if not state.opened >> cell & 1:
        return "#"
    return str((neighbours(state.size)[cell] & state.mines).bit_count() or ".")


def _draw_cell(state: MinesweeperState, cell: int) -> Cell:
    sign = _cell_sign(state, cell)
    if sign in "#*":
        return Cell(sign.strip("#"), "#d1495b" if sign == "*" else "#a9a18f")
    return Cell(sign.strip("."), ink=_INKS[int(sign.replace(".", "0"))])


register("palaestra/Minesweeper-v0", f"{__name__}:Minesweeper")
