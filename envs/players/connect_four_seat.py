"""palaestra/ConnectFourSeat-v0: win the end of a game of Connect Four from a won position, in either seat."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, OpenGame, Params, TablePosition, freeze


@dataclass(frozen=True, slots=True)
class Columns:
    """A board of ``columns`` x ``rows`` cells: the discs of seat 0 and of seat 1 as bit sets, column by column from
    below, with one bit more for each column that is never set, so that no line goes on in the next column."""

    columns: int
    rows: int
    first: int = 0
    second: int = 0

    def of(self, seat: int) -> tuple[int, int]:
        """Return (own discs, discs of the other)."""
        return (self.first, self.second) if seat == 0 else (self.second, self.first)


class ConnectFourTable(OpenGame):
    """The last moves of a game of Connect Four on a small board."""

    param_space = ParamSpace(
        [
            IntAxis("columns", 4, 6, limits=(4, 7)),
            IntAxis("rows", 4, 5, limits=(4, 6)),
            IntAxis("empty", 6, 10, limits=(4, 12)),
        ]
    )
    candidates = 4
    is_small = False
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "perfect": "makes a winning move whenever there is one",
    }

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        columns, rows = params["columns"], params["rows"]
        while True:
            board, seat = Columns(columns, rows), 0
            while moves := self.moves(board, seat):
                if seat == 0 and columns * rows - (board.first | board.second).bit_count() <= params["empty"]:
                    return TablePosition(freeze(params), board)
                board, seat = self.after(board, seat, moves[int(rng.integers(len(moves)))]), 1 - seat

    def moves(self, board: Columns, seat: int) -> Moves:
        mine, theirs = board.of(seat)
        if _has_line(board.rows, theirs) or _has_line(board.rows, mine):
            return ()
        return tuple(_landing(board.columns, board.rows, mine | theirs))

    def after(self, board: Columns, seat: int, move: str) -> Columns:
        mine, theirs = board.of(seat)
        mine |= _landing(board.columns, board.rows, mine | theirs)[move]
        return Columns(board.columns, board.rows, *((mine, theirs) if seat == 0 else (theirs, mine)))

    def wins(self, board: Columns, seat: int) -> bool:
        return _wins(board.columns, board.rows, *board.of(seat), seat == 1)

    def wins_without_move(self, board: Columns, seat: int) -> bool:
        """Return True for the second seat on a full board without a line, so that there are no draws."""
        mine, theirs = board.of(seat)
        return _has_line(board.rows, mine) or (seat == 1 and not _has_line(board.rows, theirs))

    def rules(self, position: TablePosition, seat: int) -> str:
        return (
            f"This is the end of a game of Connect Four. You have the discs {'XO'[seat]}, the other {'OX'[seat]}. In "
            "turn, a player drops a disc to the lowest free cell of a column. Who first has four discs in a line (row, "
            "column or diagonal) wins; if the board is full without one, O wins. A move names the cell, such as a1 for "
            "the first column of the lowest row."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        board: Columns = self.board(position)
        height = board.rows + 1
        rows = [
            f"{row + 1} "
            + "".join(
                "X" if board.first >> cell & 1 else "O" if board.second >> cell & 1 else "."
                for cell in range(row, board.columns * height, height)
            )
            for row in reversed(range(board.rows))
        ]
        return "\n".join([*rows, "  " + "".join(chr(ord("a") + column) for column in range(board.columns))])


def _has_line(rows: int, discs: int) -> bool:
    for step in (1, rows, rows + 1, rows + 2):
        pairs = discs & discs >> step
        if pairs & pairs >> 2 * step:
            return True
    return False


def _landing(columns: int, rows: int, filled: int) -> dict[str, int]:
    """Return name -> bit of the cell in which the next disc lands, of each column that is not full."""
    found: dict[str, int] = {}
    for column in range(columns):
        height = (filled >> column * (rows + 1) & (1 << rows) - 1).bit_count()
        if height < rows:
            found[f"{chr(ord('a') + column)}{height + 1}"] = 1 << column * (rows + 1) + height
    return found


@functools.lru_cache(maxsize=1 << 18)
def _wins(columns: int, rows: int, mine: int, theirs: int, is_second: bool) -> bool:
    """Return True if the side to move wins; on a full board the second seat does."""
    if _has_line(rows, theirs):
        return False
    cells = _landing(columns, rows, mine | theirs).values()
    if not cells:
        return is_second
    return any(_has_line(rows, mine | cell) for cell in cells) or any(
        not _wins(columns, rows, theirs, mine | cell, not is_second) for cell in cells
    )


class ConnectFourSeat(SeatEnv):
    """Win the end of a game of Connect Four from a won position.

    Description:
        The last moves of a game of Connect Four on a small board, after random ones, which the agent wins if it makes
        no mistake, against a scripted player. The first player has the discs X. Of four drawn positions, the task is
        the one in which random moves are least likely to win.

    Parameters:
        columns (4 to 6, on request up to 7): columns of the board.
        rows (4 to 5, on request up to 6): rows of the board.
        empty (6 to 10, on request 4 to 12): empty cells at the start, at most.
        opponent ("random", "perfect"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the board, top row first, and the legal moves.

    Actions:
        Text with the cell in which the disc lands, such as "c1", read in ``answer_format``.

    Reward:
        1 at the end if every move of the agent kept the game won, else 0, even if it was won by the other's mistakes;
        other ``score``s pay what was won (see `SeatEnv`). A player of random legal moves makes no mistake in 0.25 to
        0.38 of the games by chance, as few moves are left, which does not fall further with difficulty.

    Termination:
        When a player has four in a line, or the board is full. An action that cannot be read takes a turn and changes
        nothing; truncated after three times as many turns as a game can have. ``info["progress"]`` is 1 for a success
        and 0 before.

    Source:
        The board game by Howard Wexler and Ned Strongin; positions generated here. In place of a draw, the second
        player wins.
    """

    table = ConnectFourTable()
    param_space = ParamSpace([*ConnectFourTable.param_space.axes, *opponent_axes(ConnectFourTable.policies, "up")])
    turns = 6


register("palaestra/ConnectFourSeat-v0", f"{__name__}:ConnectFourSeat")
