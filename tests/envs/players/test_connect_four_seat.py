"""Connect Four of two seats: lines in all directions and in no other, and a full board."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.players.connect_four_seat import Columns, ConnectFourTable

TABLE = ConnectFourTable()


def play(moves: str, columns: int = 5, rows: int = 4) -> tuple[Columns, int]:
    """Return the board after moves from the empty one, and the seat to move."""
    board, seat = Columns(columns, rows), 0
    for move in moves.split():
        assert move in TABLE.moves(board, seat)
        board, seat = TABLE.after(board, seat, move), 1 - seat
    return board, seat


@pytest.mark.parametrize(
    "moves",
    [
        "a1 b1 a2 b2 a3 b3 a4",  # a column
        "a1 a2 b1 b2 c1 c2 d1",  # a row
        "a1 b1 b2 c1 d1 c2 c3 d2 d3 a2 d4",  # a rising diagonal
        "d1 c1 c2 b1 a1 b2 b3 a2 a3 d2 a4",  # a falling one
    ],
)
def test_four_in_a_line_end_the_game(moves: str):
    board, seat = play(moves)
    assert (seat, TABLE.moves(board, seat)) == (1, ())
    assert not TABLE.wins(board, seat)
    assert TABLE.wins(board, 1 - seat)


def test_a_line_does_not_go_on_in_the_next_column():
    # Cells that follow each other from column to column: the top two of b and the lowest two of c.
    board = Columns(5, 4, first=1 << 7 | 1 << 8 | 1 << 10 | 1 << 11, second=1 << 5 | 1 << 6)
    assert "c3" in TABLE.moves(board, 1)


def test_the_second_seat_wins_a_full_board():
    full = Columns(
        *(4, 4),
        *(
            sum(1 << 5 * (index % 4) + index // 4 for index, sign in enumerate(cells) if sign == each)
            for cells in ["XXOOOOXXXXOOOOXX"]
            for each in "XO"
        ),
    )
    assert TABLE.moves(full, 0) == ()
    assert (TABLE.wins_without_move(full, 0), TABLE.wins_without_move(full, 1)) == (False, True)


def test_starts_have_the_empty_cells_that_are_asked_for_and_nobody_has_won():
    rng = np.random.default_rng(0)
    for _ in range(20):
        position = TABLE.start(rng, {"columns": 5, "rows": 4, "empty": 8})
        board = position.deal
        assert 20 - (board.first | board.second).bit_count() in (7, 8)
        assert board.first.bit_count() == board.second.bit_count()
        assert TABLE.to_move(position) == 0
