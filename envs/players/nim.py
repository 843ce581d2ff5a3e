"""palaestra/Nim-v0: win a game of Nim from a won position, under the normal, the misère or a subtraction rule."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..registration import register
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, OpenGame, Params, TablePosition, freeze


@dataclass(frozen=True, slots=True)
class Heaps:
    """The sizes of the heaps, and the rule: the sizes that may be taken at once (0: any number), and True for
    ``misere`` if the player who takes the last object loses."""

    sizes: tuple[int, ...]
    most: int
    misere: bool


class NimGame(OpenGame):
    """Nim with several heaps."""

    param_space = ParamSpace(
        [
            IntAxis("heaps", 2, 4, limits=(2, 8)),
            IntAxis("size", 4, 9, limits=(3, 15)),
            ChoiceAxis("rule", ("normal", "misere", "subtraction"), harder=None),
        ]
    )
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "perfect": "makes a winning move whenever there is one",
    }

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        sizes = tuple(sorted(rng.integers(1, params["size"] + 1, params["heaps"]).tolist()))
        most = int(rng.integers(2, 5)) if params["rule"] == "subtraction" else 0
        return TablePosition(freeze(params), Heaps(sizes, most, params["rule"] == "misere"))

    def moves(self, board: Heaps, seat: int) -> Moves:
        return tuple(
            f"take {count} from {heap}"
            for heap, size in enumerate(board.sizes, 1)
            for count in range(1, min(size, board.most or size) + 1)
        )

    def after(self, board: Heaps, seat: int, move: str) -> Heaps:
        _, count, _, heap = move.split()
        sizes = list(board.sizes)
        sizes[int(heap) - 1] -= int(count)
        return Heaps(tuple(sizes), board.most, board.misere)

    def wins_without_move(self, board: Heaps, seat: int) -> bool:
        return board.misere

    def wins(self, board: Heaps, seat: int) -> bool:
        """Decide by the exclusive or of the heaps' Grundy values (Bouton 1901); in misère Nim, by parity once no heap
        has more than one object."""
        if board.misere and max(board.sizes) <= 1:
            return sum(board.sizes) % 2 == 0
        modulus = board.most + 1 if board.most else 1 << 30
        return functools.reduce(lambda total, size: total ^ size % modulus, board.sizes, 0) != 0

    def rules(self, position: TablePosition, seat: int) -> str:
        heaps: Heaps = position.deal
        limit = f"at most {heaps.most} objects" if heaps.most else "as many objects as they like"
        end = "loses" if heaps.misere else "wins"
        return (
            f"Two players in turn take objects, at least one and {limit}, from one of several heaps. The player who "
            f"takes the last object {end}."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        sizes = self.board(position).sizes
        heaps = ", ".join(f"heap {number}: {size}" for number, size in enumerate(sizes, 1))
        last = f"The other took {position.history[-1].removeprefix('take ')}. " if position.history else ""
        return f"{last}There are {heaps}."


class Nim(SeatEnv):
    """Win a game of Nim from a won position.

    Description:
        A game of Nim with several heaps, which the agent wins if it makes no mistake, against a scripted player. The
        agent moves first or second.

    Parameters:
        heaps (2 to 4, on request up to 8): number of heaps.
        size (4 to 9, on request 3 to 15): most objects in a heap.
        rule ("normal", "misere", "subtraction"): the player who takes the last object wins, or loses; or wins, with two
            to four objects at most in a move.
        opponent ("random", "perfect"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the opponent's last move, the heaps, and the legal moves.

    Actions:
        Text with one move such as "take 2 from 1" (two objects of the first heap), read in ``answer_format``.

    Reward:
        1 at the end if every move of the agent kept the game won, else 0, even if it was won by the other's mistakes;
        other ``score``s pay what was won (see `SeatEnv`).

    Termination:
        After the last object is taken. An action that cannot be read takes a turn and changes nothing; truncated after
        three times as many turns as a game can have. ``info["progress"]`` is 1 for a success and 0 before.

    Source:
        C. L. Bouton, "Nim, A Game with a Complete Mathematical Theory", Annals of Mathematics 3 (1901).
    """

    table = NimGame()
    param_space = ParamSpace([*NimGame.param_space.axes, *opponent_axes(NimGame.policies, "up")])
    turns = 60


register("palaestra/Nim-v0", f"{__name__}:Nim")
