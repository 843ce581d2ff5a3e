"""palaestra/2048-v0: slide and join equal tiles until a tile reaches the goal."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..board_picture import PAPER, Cell, draw_board
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, ParamSpace
from ..registration import register

SIZE = 4
# A tile is stored as its exponent (8 as 3), an empty cell as 0. Only a few thousand rows occur, so the caches of
# results for rows are unlimited.
Row = tuple[int, ...]
Rows = tuple[Row, ...]
_FOURS = 0.1
_MOST_SPARE = 0.25
# Maximum moves of the oracle to each goal; about a quarter of random games qualify.
BRISK = {16: 8, 32: 17, 64: 35, 128: 68, 256: 138}
_FILLS = (PAPER, "#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b", "#edcf72", "#edc850")
# Cycles of the four directions, clockwise and anticlockwise, starting from each direction.
CYCLES = tuple(
    tuple(way[(begin + turn) % 4] for turn in range(4))
    for way in (("left", "up", "right", "down"), ("left", "down", "right", "up"))
    for begin in range(4)
)


@dataclass(frozen=True, slots=True)
class Game2048State:
    """State of a game: ``rows``, the board as exponents of tiles; ``goal``, the exponent of the goal; ``limit``, the
    number of turns allowed; ``planned``, the number of the oracle's moves to the goal; ``chance``, two random numbers
    in [0, 1) for each tile to come (cell and value); ``made``, the number of moves made."""

    rows: Rows
    goal: int
    limit: int
    planned: int
    chance: tuple[float, ...]
    made: int = 0


class Game2048(Game):
    """Slide and join tiles on a 4 by 4 board until one reaches the goal.

    Description:
        A move slides all tiles one way as far as they go; two equal tiles that meet join into their sum, once a move.
        After each move that changed the board a new tile appears on an empty cell, a 2 or, one time in ten, a 4. New
        tiles are drawn beforehand and depend only on the moves. The oracle makes the move after which the board has the
        most empty cells, joinable pairs and ordered rows. Only games are used in which the oracle reaches the goal
        within 8, 17, 35, 68 or 138 moves (by goal), and in which repeating the four directions in a circle, clockwise
        or anticlockwise from any direction, takes more moves.

    Parameters:
        goal (16, 32, 64, 128 or 256): the tile to reach.
        spare (0.25 to 0.0, harder downwards, on request up to 0.5): extra moves, as a share of the oracle's moves in
            this game.

    Observation:
        Text: the rules (at first) and the board in four rows of numbers, "." for an empty cell.

    Actions:
        Text with one of left, right, up and down, read in ``answer_format``.

    Reward:
        1 when a tile reaches the goal, 0 otherwise. Moves drawn by chance win 0.15 of the easiest games, cycles of
        directions up to 0.27, and always making the move that joins most tiles 0.53; all win hardly any of the hardest.

    Termination:
        When the goal is reached, or no move changes the board. Truncated after the last move. An answer that cannot be
        read, or a move that does not change the board, uses up a turn. ``info["progress"]`` is (e - 1) / (g - 1) for
        the exponents e of the largest tile and g of the goal.

    Source:
        Gabriele Cirulli's game of 2014.
    """

    param_space = ParamSpace(
        [ChoiceAxis("goal", tuple(BRISK)), FloatAxis("spare", 0.0, _MOST_SPARE, harder="down", limits=(0.0, 0.5))]
    )
    arrow_keys: ClassVar = {key: f"{key}\n" for key in ("up", "down", "left", "right")}
    blind_loops = (CYCLES[0], ("left", "up", "left", "down"), ("left", "down", "left", "up", "right"))

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Game2048State:
        goal, brisk = params["goal"].bit_length() - 1, BRISK[params["goal"]]
        while True:
            limit = int(brisk * (1.0 + params["spare"]))
            chance = tuple(rng.random(2 * (2 + limit)).tolist())
            rows = ((0,) * SIZE,) * SIZE
            rows = add_tile(add_tile(rows, chance, 0), chance, 1)
            moves = count_moves_to_goal(rows, goal, chance, brisk)
            if moves and not any(count_moves_to_goal(rows, goal, chance, moves, cycle) for cycle in CYCLES):
                return Game2048State(rows, goal, int(moves * (1.0 + params["spare"])), moves, chance)

    def content_of(self, episode: Game2048State) -> str:
        return f"{episode.goal} {episode.rows} {episode.chance[:8]}"

    def turn_limit(self, state: Game2048State) -> int:
        return state.limit

    def solver_cost(self, episode: Game2048State) -> float:
        """Return the number of the oracle's moves to the goal."""
        return episode.planned

    def observe(self, state: Game2048State) -> str:
        table = "\n".join(map(_format_row, state.rows))
        if state.made:
            return table
        return (
            f"2048: slide the tiles until one is {1 << state.goal}. A move slides all tiles as far as they go; two "
            "equal tiles that meet join into their sum. Then a 2 (or, one time in ten, a 4) appears on an empty cell. "
            f"You have at most {state.limit} moves. Answer with left, right, up or down.\n{table}"
        )

    def act(self, state: Game2048State, action: str) -> Transition:
        name = action.lower().removeprefix("move ")
        move = MOVES.get(name)
        if move is None:
            error = "Answer with left, right, up or down."
            return Transition(state, progress=_progress(state.rows, state.goal), action_error=error)
        rows = move(state.rows)
        if rows == state.rows:
            error = f"Nothing moves {name}; choose another way."
            return Transition(state, progress=_progress(rows, state.goal), action_error=error)
        won = max(map(max, rows)) >= state.goal
        if not won:
            rows = add_tile(rows, state.chance, 2 + state.made)
        after = Game2048State(rows, state.goal, state.limit, state.planned, state.chance, state.made + 1)
        stuck = not won and not any(0 in row for row in rows) and not best_move(rows)
        return Transition(after, done=won or stuck, success=won, progress=1.0 if won else _progress(rows, state.goal))

    def oracle(self, state: Game2048State) -> str:
        return best_move(state.rows) or "left"

    def random_action(self, episode: Game2048State, rng: np.random.Generator) -> str:
        names = [name for name, move in MOVES.items() if move(episode.rows) != episode.rows]
        return names[int(rng.integers(len(names)))]

    def heuristic_action(self, episode: Game2048State) -> str:
        """Return the legal move that joins most tiles, the first one in a tie."""
        after = {name: move(episode.rows) for name, move in MOVES.items()}
        legal = [name for name in after if after[name] != episode.rows]
        return max(legal, key=lambda name: sum(row.count(0) for row in after[name]))

    def draw(self, episode: Game2048State) -> np.ndarray:
        return draw_board(
            [
                [Cell(str(1 << tile) if tile else "", _FILLS[min(tile, len(_FILLS) - 1)]) for tile in row]
                for row in episode.rows
            ],
            side=60,
        )


@functools.cache
def slide_left(row: Row) -> Row:
    """Return the row after a move to the left."""
    tiles: list[int] = []
    joined = True
    for tile in row:
        if tile and not joined and tiles[-1] == tile:
            tiles[-1] += 1
            joined = True
        elif tile:
            tiles.append(tile)
            joined = False
    return (*tiles, *(0,) * (len(row) - len(tiles)))


@functools.cache
def _slide_right(row: Row) -> Row:
    return slide_left(row[::-1])[::-1]


@functools.cache
def _format_row(row: Row) -> str:
    return " ".join([str(1 << tile) if tile else "." for tile in row])


MOVES: dict[str, Callable[[Rows], Rows]] = {
    "left": lambda rows: tuple(map(slide_left, rows)),
    "right": lambda rows: tuple(map(_slide_right, rows)),
    "up": lambda rows: tuple(zip(*map(slide_left, zip(*rows)))),
    "down": lambda rows: tuple(zip(*map(_slide_right, zip(*rows)))),
}


def add_tile(rows: Rows, chance: Sequence[float], count: int) -> Rows:
    """Return the board with one more tile; the random numbers of tile number ``count`` choose cell and value."""
    holes = [(y, x) for y, row in enumerate(rows) for x, tile in enumerate(row) if not tile]
    y, x = holes[int(chance[2 * count] * len(holes))]
    tile = 2 if chance[2 * count + 1] < _FOURS else 1
    row = rows[y]
    return (*rows[:y], (*row[:x], tile, *row[x + 1 :]), *rows[y + 1 :])


def best_move(rows: Rows) -> str:
    """Return the move to the board of the highest value (`_row_value` summed over rows and columns), the first one in a
    tie; "" if no move changes the board."""
    packed = (_pack(rows[0]), _pack(rows[1]), _pack(rows[2]), _pack(rows[3]))
    place, _ = _best_packed_move(packed)
    return "" if place < 0 else _NAMES[place]


@functools.cache
def _row_value(line: Row) -> float:
    """Return the value of a row: empty cells, joinable neighbours, and tiles in rising or falling order increase it."""
    tiles = [tile for tile in line if tile]
    joins = sum([a == b for a, b in itertools.pairwise(tiles)])
    rises = sum([(b - a) * b for a, b in itertools.pairwise(line) if b > a])
    falls = sum([(a - b) * a for a, b in itertools.pairwise(line) if a > b])
    return 3.0 * (len(line) - len(tiles)) + 2.0 * joins - 0.5 * min(rises, falls)


# Starts are found by playing whole games. For speed, a line is then packed into a number with four bits per tile, the
# first tile highest, and all results for a line are cached.
Packed = tuple[int, int, int, int]


@dataclass(frozen=True, slots=True)
class _Line:
    """Cached results for one packed row or column: ``first`` and ``last``, the line after a slide towards its first or
    last cell; ``value`` and so on, the `_row_value` of the line and of both slides; ``spread`` and so on, their tiles
    16 bits apart, so that shifts transpose four lines; ``holes``, the position of the lowest bit of each empty cell;
    ``largest``, the largest tile."""

    first: int
    last: int
    first_value: float
    last_value: float
    value: float
    first_spread: int
    last_spread: int
    spread: int
    holes: tuple[int, ...]
    largest: int


class _Lines(dict[int, _Line]):
    def __missing__(self, code: int) -> _Line:
        row = tuple([code >> shift & 15 for shift in (12, 8, 4, 0)])
        first, last = slide_left(row), _slide_right(row)
        holes = tuple([12 - 4 * place for place, tile in enumerate(row) if not tile])
        values = _row_value(first), _row_value(last), _row_value(row)
        line = self[code] = _Line(
            _pack(first),
            _pack(last),
            *values,
            _spread_bits(first),
            _spread_bits(last),
            _spread_bits(row),
            holes,
            max(row),
        )
        return line


def _pack(row: Row) -> int:
    return row[0] << 12 | row[1] << 8 | row[2] << 4 | row[3]


def _spread_bits(row: Row) -> int:
    return row[0] << 48 | row[1] << 32 | row[2] << 16 | row[3]


_LINES = _Lines()
_NAMES = tuple(MOVES)


def _transpose(a: int, b: int, c: int, d: int) -> Packed:
    """Transpose a board in spread form: return its columns given the rows, or its rows given the columns."""
    bits = a << 12 | b << 8 | c << 4 | d
    return bits >> 48, bits >> 32 & 65535, bits >> 16 & 65535, bits & 65535


def _rows_value(a: int, b: int, c: int, d: int) -> float:
    lines = _LINES
    return lines[a].value + lines[b].value + lines[c].value + lines[d].value


def _best_packed_move(rows: Packed) -> tuple[int, Packed]:
    """Return (index in `MOVES` of the move to the board of the highest value, this board). The index is -1 if no move
    changes the board."""
    lines, best, place, board = _LINES, -math.inf, -1, rows
    for turned in (False, True):
        a, b, c, d = lines[rows[0]], lines[rows[1]], lines[rows[2]], lines[rows[3]]
        if not turned:
            columns = _transpose(a.spread, b.spread, c.spread, d.spread)
        first = a.first, b.first, c.first, d.first
        if first != rows:
            across = _transpose(a.first_spread, b.first_spread, c.first_spread, d.first_spread)
            value = a.first_value + b.first_value + c.first_value + d.first_value + _rows_value(*across)
            if value > best:
                best, place, board = value, 2 * turned, across if turned else first
        last = a.last, b.last, c.last, d.last
        if last != rows:
            across = _transpose(a.last_spread, b.last_spread, c.last_spread, d.last_spread)
            value = a.last_value + b.last_value + c.last_value + d.last_value + _rows_value(*across)
            if value > best:
                best, place, board = value, 2 * turned + 1, across if turned else last
        rows = columns
    return place, board


def _slide_packed(rows: Packed, place: int) -> Packed:
    """Return the board after move number ``place`` of `MOVES`."""
    lines = _LINES
    a, b, c, d = lines[rows[0]], lines[rows[1]], lines[rows[2]], lines[rows[3]]
    if place > 1:
        columns = _transpose(a.spread, b.spread, c.spread, d.spread)
        a, b, c, d = lines[columns[0]], lines[columns[1]], lines[columns[2]], lines[columns[3]]
        if place == 2:
            return _transpose(a.first_spread, b.first_spread, c.first_spread, d.first_spread)
        return _transpose(a.last_spread, b.last_spread, c.last_spread, d.last_spread)
    return (a.first, b.first, c.first, d.first) if place == 0 else (a.last, b.last, c.last, d.last)


def count_moves_to_goal(rows: Rows, goal: int, chance: Sequence[float], most: int, cycle: Sequence[str] = ()) -> int:
    """Return the number of turns to the goal of the oracle, or of a player that repeats ``cycle`` if given.

    Return 0 if the goal takes more than ``most`` turns or no move is left. To save time, return 0 also if the oracle
    has not reached half the goal (one exponent less) after two thirds of ``most`` turns.
    """
    board = (_pack(rows[0]), _pack(rows[1]), _pack(rows[2]), _pack(rows[3]))
    places, period = [_NAMES.index(name) for name in cycle], len(cycle)
    lines, late = _LINES, most if cycle else 2 * most // 3
    made = idle = largest = 0
    for turn in range(most):
        if period:
            after = _slide_packed(board, places[turn % period])
            if after == board:
                idle += 1
                if idle == period:
                    return 0
                continue
            idle = 0
        else:
            place, after = _best_packed_move(board)
            if place < 0:
                return 0
        a, b, c, d = after
        first, second, third, fourth = lines[a], lines[b], lines[c], lines[d]
        largest = max(first.largest, second.largest, third.largest, fourth.largest)
        if largest >= goal:
            return turn + 1
        if turn >= late and largest < goal - 1:
            return 0
        # Add the next tile, as `add_tile` does.
        tile = 2 if chance[2 * made + 5] < _FOURS else 1
        room = len(first.holes), len(second.holes), len(third.holes), len(fourth.holes)
        which = int(chance[2 * made + 4] * (room[0] + room[1] + room[2] + room[3]))
        if which < room[0]:
            a |= tile << first.holes[which]
        elif (which := which - room[0]) < room[1]:
            b |= tile << second.holes[which]
        elif (which := which - room[1]) < room[2]:
            c |= tile << third.holes[which]
        else:
            d |= tile << fourth.holes[which - room[2]]
        board, made = (a, b, c, d), made + 1
    return 0


def _progress(rows: Rows, goal: int) -> float:
    return (max(map(max, rows)) - 1) / (goal - 1)


register("palaestra/2048-v0", f"{__name__}:Game2048")
