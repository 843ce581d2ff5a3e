"""palaestra/Domineering-v0: win a game of Domineering from a won position."""

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
class Squares:
    """A board: its width and height, and the filled squares as a bit set, row by row."""

    width: int
    height: int
    filled: int


class DomineeringGame(OpenGame):
    """Domineering on a rectangle of which some squares are filled already."""

    param_space = ParamSpace([IntAxis("width", 3, 5, limits=(2, 5)), IntAxis("height", 3, 4, limits=(2, 4))])
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "perfect": "makes a winning move whenever there is one",
    }

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        width, height = params["width"], params["height"]
        filled = rng.choice(width * height, int(rng.integers(0, max(2, width * height // 4))), replace=False)
        return TablePosition(freeze(params), Squares(width, height, sum(1 << int(square) for square in filled)))

    def moves(self, board: Squares, seat: int) -> Moves:
        return tuple(
            f"{chr(ord('a') + square % board.width)}{square // board.width + 1}"
            for square in _free(board.width, board.height, board.filled, seat)
        )

    def after(self, board: Squares, seat: int, move: str) -> Squares:
        square = (int(move[1:]) - 1) * board.width + ord(move[0]) - ord("a")
        return Squares(board.width, board.height, board.filled | _domino(board.width, seat, square))

    def wins(self, board: Squares, seat: int) -> bool:
        return _wins(board.width, board.height, board.filled, seat)

    def rules(self, position: TablePosition, seat: int) -> str:
        mine, yours = ("upright", "level") if seat == 0 else ("level", "upright")
        return (
            "Two players in turn put a domino on two free squares of a board, one player always upright and the other "
            f"always level. You put yours {mine}, the other {yours}. A player who cannot move loses. A move names the "
            f"{'upper' if seat == 0 else 'left'} square of your domino, such as a1 for the first column of the first "
            "row from the top."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        board: Squares = self.board(position)
        rows = [
            f"{row + 1} "
            + "".join("#" if board.filled >> row * board.width + x & 1 else "." for x in range(board.width))
            for row in range(board.height)
        ]
        return "\n".join(["  " + "".join(chr(ord("a") + x) for x in range(board.width)), *rows])


def _domino(width: int, seat: int, square: int) -> int:
    """Return a domino as a bit set; a square is its upper one for seat 0, its left one for seat 1."""
    return 1 << square | 1 << square + (width if seat == 0 else 1)


def _free(width: int, height: int, filled: int, seat: int) -> list[int]:
    """Return the squares on which a domino of a seat can begin."""
    last = width * height - (width if seat == 0 else 1)
    return [
        square
        for square in range(last)
        if not filled & _domino(width, seat, square) and (seat == 0 or (square + 1) % width)
    ]


@functools.lru_cache(maxsize=1 << 18)
def _wins(width: int, height: int, filled: int, seat: int) -> bool:
    return any(
        not _wins(width, height, filled | _domino(width, seat, square), 1 - seat)
        for square in _free(width, height, filled, seat)
    )


class Domineering(SeatEnv):
    """Win a game of Domineering from a won position.

    Description:
        A game of Domineering on a small board with some squares filled, which the agent wins if it makes no mistake,
        against a scripted player. The first player puts dominoes upright, the second level.

    Parameters:
        width (3 to 5, on request from 2): columns of the board.
        height (3 to 4, on request from 2): rows of the board.
        opponent ("random", "perfect"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the board, # for filled squares, and the legal moves.

    Actions:
        Text with the upper or left square of the domino, such as "a1", read in ``answer_format``.

    Reward:
        1 at the end if every move of the agent kept the game won, else 0, even if it was won by the other's mistakes;
        other ``score``s pay what was won (see `SeatEnv`). A player of random legal moves makes no mistake in a fifth of
        the games or more, by chance; below that, the rate does not fall with difficulty.

    Termination:
        When a player cannot move. An action that cannot be read takes a turn and changes nothing; truncated after three
        times as many turns as a game can have. ``info["progress"]`` is 1 for a success and 0 before.

    Source:
        G. Andersson's game, in E. Berlekamp, J. Conway, R. Guy, "Winning Ways for your Mathematical Plays" (1982).
    """

    table = DomineeringGame()
    param_space = ParamSpace([*DomineeringGame.param_space.axes, *opponent_axes(DomineeringGame.policies, "up")])
    turns = 18


register("palaestra/Domineering-v0", f"{__name__}:Domineering")
