"""palaestra/2048-v0: slide and join equal tiles until one of them reaches the goal."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..drawing import PAPER, Cell, board
from ..game import Game, Transition
from ..param_space import ChoiceAxis, FloatAxis, ParamSpace
from ..registration import register

SIZE = 4
# A tile is kept as its exponent (8 is 3), an empty cell as 0. There are a few thousand rows, and what is asked of one
# is kept for good.
Row = tuple[int, ...]
Rows = tuple[Row, ...]
_FOURS = 0.1
_MOST_SPARE = 0.1
_FILLS = (PAPER, "#eee4da", "#ede0c8", "#f2b179", "#f59563", "#f67c5f", "#f65e3b", "#edcf72", "#edc850")


@dataclass(frozen=True, slots=True)
class Sliding:
    """The board, the exponent of the goal, how many moves there are and how many the oracle makes, the chance of all
    tiles to come (two numbers each), and the moves made."""

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
        After each move that changed the board a new tile appears on an empty cell, a 2 or, one time in ten, a 4. What
        appears is drawn beforehand and depends on nothing but the moves. The oracle, which makes the move whose board
        has most room and order, reaches the goal in every game that is asked.

    Parameters:
        goal (16, 32, 64, 128 or 256): the tile to reach.
        spare (0.1 to 0.0, harder downwards): moves beyond those that the oracle makes in this game, as a share of them.

    Observation:
        Text: the rules first, and the board in four rows of numbers, "." for an empty cell.

    Actions:
        Text with one of left, right, up and down, read as ``answer_format`` says.

    Reward:
        1 when a tile reaches the goal, 0 otherwise. Moves drawn by chance succeed in up to 0.2 of the easier games,
        and left, down, right, up in turn, whatever the board, in up to 0.42.

    Termination:
        When the goal is reached, or no move changes the board. Truncated after the last move. A move that does not
        change the board uses up a turn. ``info["progress"]`` is the exponent of the largest tile over the goal's,
        both less 1.

    Source:
        Gabriele Cirulli's game of 2014.
    """

    param_space = ParamSpace(
        [ChoiceAxis("goal", (16, 32, 64, 128, 256)), FloatAxis("spare", 0.0, _MOST_SPARE, harder="down")]
    )
    chance = 0.42

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> Sliding:
        goal, tile = params["goal"].bit_length() - 1, params["goal"]
        while True:
            chance = tuple(rng.random(2 * (2 + math.ceil(tile * (1.0 + _MOST_SPARE)))).tolist())
            rows = ((0,) * SIZE,) * SIZE
            rows = with_tile(with_tile(rows, chance, 0), chance, 1)
            moves = _moves_of_oracle(rows, goal, chance)
            # Each tile is at least a 2, so that this many moves bring twice the goal; who needs more plays badly.
            if 0 < moves <= tile:
                return Sliding(rows, goal, int(moves * (1.0 + params["spare"])), moves, chance)

    def content_of(self, episode: Sliding) -> str:
        return f"{episode.goal} {episode.rows} {episode.chance[:8]}"

    def turn_limit(self, state: Sliding) -> int:
        return state.limit

    def solver_cost(self, episode: Sliding) -> float:
        """The oracle's moves."""
        return episode.planned

    def observe(self, state: Sliding) -> str:
        table = "\n".join(map(_text, state.rows))
        if state.made:
            return table
        return (
            f"2048: slide the tiles until one is {1 << state.goal}. A move slides all tiles as far as they go; two "
            "equal tiles that meet join into their sum. Then a 2 (or, one time in ten, a 4) appears on an empty cell. "
            f"You have at most {state.limit} moves. Answer with left, right, up or down.\n{table}"
        )

    def act(self, state: Sliding, action: str) -> Transition:
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
            rows = with_tile(rows, state.chance, 2 + state.made)
        after = Sliding(rows, state.goal, state.limit, state.planned, state.chance, state.made + 1)
        stuck = not won and not any(0 in row for row in rows) and not best_move(rows)
        return Transition(after, done=won or stuck, success=won, progress=1.0 if won else _progress(rows, state.goal))

    def oracle(self, state: Sliding) -> str:
        return best_move(state.rows) or "left"

    def draw(self, episode: Sliding) -> np.ndarray:
        return board(
            [
                [Cell(str(1 << tile) if tile else "", _FILLS[min(tile, len(_FILLS) - 1)]) for tile in row]
                for row in episode.rows
            ],
            side=60,
        )


@functools.cache
def slid(row: Row) -> Row:
    """The row after a move to the left."""
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
def _slid_back(row: Row) -> Row:
    return slid(row[::-1])[::-1]


@functools.cache
def _text(row: Row) -> str:
    return " ".join([str(1 << tile) if tile else "." for tile in row])


def _left(rows: Rows) -> Rows:
    return tuple(map(slid, rows))


def _right(rows: Rows) -> Rows:
    return tuple(map(_slid_back, rows))


def _up(rows: Rows) -> Rows:
    return tuple(zip(*map(slid, zip(*rows))))


def _down(rows: Rows) -> Rows:
    return tuple(zip(*map(_slid_back, zip(*rows))))


MOVES: dict[str, Callable[[Rows], Rows]] = {"left": _left, "right": _right, "up": _up, "down": _down}


def with_tile(rows: Rows, chance: Sequence[float], count: int) -> Rows:
    """The board with tile number ``count`` on one of its empty cells."""
    holes = [(y, x) for y, row in enumerate(rows) for x, tile in enumerate(row) if not tile]
    y, x = holes[int(chance[2 * count] * len(holes))]
    tile = 2 if chance[2 * count + 1] < _FOURS else 1
    row = rows[y]
    return (*rows[:y], (*row[:x], tile, *row[x + 1 :]), *rows[y + 1 :])


@functools.lru_cache(maxsize=8192)
def best_move(rows: Rows) -> str:
    """The move whose board has most room and order; "" where no move changes the board."""
    best, choice = -math.inf, ""
    for name, move in MOVES.items():
        after = move(rows)
        if after != rows:
            value = sum(map(_value, (*after, *zip(*after))))
            if value > best:
                best, choice = value, name
    return choice


@functools.cache
def _value(line: Row) -> float:
    """Good are empty cells, neighbours that may join, and tiles that only rise or only fall along the line."""
    tiles = [tile for tile in line if tile]
    joins = sum([a == b for a, b in itertools.pairwise(tiles)])
    rises = sum([(b - a) * b for a, b in itertools.pairwise(line) if b > a])
    falls = sum([(a - b) * a for a, b in itertools.pairwise(line) if a > b])
    return 3.0 * (len(line) - len(tiles)) + 2.0 * joins - 0.5 * min(rises, falls)


def _moves_of_oracle(rows: Rows, goal: int, chance: Sequence[float]) -> int:
    """Moves that the oracle makes to the goal; 0 where it gets stuck or runs out of tiles."""
    for made in range(len(chance) // 2 - 2):
        name = best_move(rows)
        if not name:
            return 0
        rows = MOVES[name](rows)
        if max(map(max, rows)) >= goal:
            return made + 1
        rows = with_tile(rows, chance, 2 + made)
    return 0


def _progress(rows: Rows, goal: int) -> float:
    return (max(map(max, rows)) - 1) / (goal - 1)


register("palaestra/2048-v0", f"{__name__}:Game2048")
