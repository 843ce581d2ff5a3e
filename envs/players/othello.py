"""palaestra/Othello-v0: win the end of a game of Othello from a won position."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, OpenGame, Params, TablePosition, freeze

PASS = "pass"


@dataclass(frozen=True, slots=True)
class Discs:
    """A square board of ``size`` rows: the discs of seat 0 and of seat 1 as bit sets, row by row."""

    size: int
    first: int
    second: int

    def of(self, seat: int) -> tuple[int, int]:
        """Return (own discs, discs of the other)."""
        return (self.first, self.second) if seat == 0 else (self.second, self.first)


class OthelloGame(OpenGame):
    """The last moves of a game of Othello."""

    param_space = ParamSpace([IntAxis("size", 4, 6, limits=(4, 8)), IntAxis("empty", 4, 7, limits=(3, 9))])
    candidates = 4
    is_small = False
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "perfect": "makes a winning move whenever there is one",
    }

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        size, empty = params["size"], min(params["empty"], params["size"] ** 2 - 6)
        middle = size // 2
        corners = [1 << row * size + column for row in (middle - 1, middle) for column in (middle - 1, middle)]
        while True:
            board, seat = Discs(size, corners[1] | corners[2], corners[0] | corners[3]), 0
            while moves := self.moves(board, seat):
                left = size**2 - (board.first | board.second).bit_count()
                if seat == 0 and left <= empty and moves != (PASS,):
                    return TablePosition(freeze(params), board)
                board, seat = self.after(board, seat, moves[int(rng.integers(len(moves)))]), 1 - seat

    def moves(self, board: Discs, seat: int) -> Moves:
        free = [square for square in range(board.size**2) if not (board.first | board.second) >> square & 1]
        mine, theirs = board.of(seat)
        found = tuple(_name(board.size, square) for square in free if _discs_to_turn(board.size, mine, theirs, square))
        if found:
            return found
        return (PASS,) if any(_discs_to_turn(board.size, theirs, mine, square) for square in free) else ()

    def after(self, board: Discs, seat: int, move: str) -> Discs:
        if move == PASS:
            return board
        square = (int(move[1:]) - 1) * board.size + ord(move[0]) - ord("a")
        mine, theirs = board.of(seat)
        turned = _discs_to_turn(board.size, mine, theirs, square)
        mine, theirs = mine | turned | 1 << square, theirs & ~turned
        return Discs(board.size, *((mine, theirs) if seat == 0 else (theirs, mine)))

    def wins(self, board: Discs, seat: int) -> bool:
        return _wins(board.size, *board.of(seat), seat == 1)

    def wins_without_move(self, board: Discs, seat: int) -> bool:
        """Return True if the seat has more discs; with as many, the second seat wins, so that there are no draws."""
        mine, theirs = board.of(seat)
        return mine.bit_count() > theirs.bit_count() or (mine.bit_count() == theirs.bit_count() and seat == 1)

    def rules(self, position: TablePosition, seat: int) -> str:
        return (
            f"This is the end of a game of Othello. You have the discs {'XO'[seat]}, the other {'OX'[seat]}. In turn, "
            "a player puts a disc on an empty square so that one or more lines of the other's discs lie between it and "
            "another own disc; these are turned over. Who cannot, passes. When neither can move, the player with more "
            "discs wins; with as many each, O wins. A move names a square, such as a1 for the first column of the "
            "first row from the top."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        board: Discs = self.board(position)
        signs = [
            "X" if board.first >> square & 1 else "O" if board.second >> square & 1 else "."
            for square in range(board.size**2)
        ]
        rows = [f"{row + 1} {''.join(signs[row * board.size : (row + 1) * board.size])}" for row in range(board.size)]
        last = f"The other played {position.history[-1]}.\n" if position.history else ""
        return last + "\n".join(["  " + "".join(chr(ord("a") + x) for x in range(board.size)), *rows])


@functools.cache
def _lines(size: int, square: int) -> tuple[tuple[int, ...], ...]:
    """Return the squares from a square to the edge in each of the eight directions, as bits."""
    row, column = divmod(square, size)
    lines = []
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            line = []
            y, x = row + down, column + right
            while (down or right) and 0 <= y < size and 0 <= x < size:
                line.append(1 << y * size + x)
                y, x = y + down, x + right
            if len(line) > 1:
                lines.append(tuple(line))
    return tuple(lines)


def _discs_to_turn(size: int, mine: int, theirs: int, square: int) -> int:
    """Return the discs of the other that a disc on a square turns over, as a bit set."""
    turned = 0
    for line in _lines(size, square):
        between = 0
        for bit in line:
            if theirs & bit:
                between |= bit
            else:
                turned |= between if mine & bit else 0
                break
    return turned


@functools.lru_cache(maxsize=1 << 18)
def _wins(size: int, mine: int, theirs: int, is_second: bool) -> bool:
    """Return True if the side to move wins; the second seat does with as many discs as the other."""
    can_move = others_can = False
    for square in range(size**2):
        if (mine | theirs) >> square & 1:
            continue
        if turned := _discs_to_turn(size, mine, theirs, square):
            can_move = True
            if not _wins(size, theirs & ~turned, mine | turned | 1 << square, not is_second):
                return True
        elif not can_move:
            others_can = others_can or bool(_discs_to_turn(size, theirs, mine, square))
    if can_move:
        return False
    if others_can:
        return not _wins(size, theirs, mine, not is_second)
    return mine.bit_count() + is_second > theirs.bit_count()


def _name(size: int, square: int) -> str:
    row, column = divmod(square, size)
    return f"{chr(ord('a') + column)}{row + 1}"


class Othello(SeatEnv):
    """Win the end of a game of Othello from a won position.

    Description:
        The last moves of a game of Othello, after random ones, which the agent wins if it makes no mistake, against a
        scripted player. The first player has the discs X. Of four drawn positions, the task is the one in which random
        moves are least likely to win.

    Parameters:
        size (4 to 6, on request up to 8): rows and columns of the board.
        empty (4 to 7, on request 3 to 9): empty squares at the start, at most.
        opponent ("random", "perfect"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the board, and the legal moves.

    Actions:
        Text with a square such as "a1", or "pass", read in ``answer_format``.

    Reward:
        1 at the end if every move of the agent kept the game won, else 0, even if it was won by the other's mistakes;
        other ``score``s pay what was won (see `SeatEnv`). A player of random legal moves makes no mistake in a third of
        the games or more, by chance, as few moves are left; below that, the rate does not fall with difficulty.

    Termination:
        When neither player can move. An action that cannot be read takes a turn and changes nothing; truncated after
        three times as many turns as a game can have. ``info["progress"]`` is 1 for a success and 0 before.

    Source:
        The game by Goro Hasegawa; positions generated here.
    """

    table = OthelloGame()
    param_space = ParamSpace([*OthelloGame.param_space.axes, *opponent_axes(OthelloGame.policies, "up")])
    turns = 10


register("palaestra/Othello-v0", f"{__name__}:Othello")
