"""`TableGame`: the rules of a game of two seats whose payoffs sum to zero, as pure functions of positions.

An `OpenGame` hides nothing and is won or lost; games with hidden hands are in `hidden_game`. Moves are text. A position
is immutable and picklable, and all chance is in the start.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ..param_space import ParamSpace

Params = Mapping[str, Any]
Frozen = tuple[tuple[str, Any], ...]
"""Parameters as sorted pairs (name, value)."""
Moves = tuple[str, ...]


def freeze(params: Params) -> Frozen:
    """Return parameters as sorted pairs, which can be a key."""
    return tuple(sorted(params.items()))


@dataclass(frozen=True, slots=True)
class TablePosition:
    """A position: the parameters of the game; ``deal``, the cards or dice dealt, or the first board; and the moves made
    since the start."""

    params: Frozen
    deal: Any
    history: Moves = ()

    def __getitem__(self, name: str) -> Any:
        """Return a parameter."""
        return dict(self.params)[name]


class TableGame:
    """Rules of a game of two seats, 0 and 1.

    Attributes:
        roles: names of the seats, as PettingZoo calls them.
        param_space: the axes of the game itself.
        policies: name of a scripted player -> one sentence that says how it plays, for its opponent.
        most: the largest payoff of one seat under any parameters, in points.
        is_small: True if the same few starts occur again and again.
    """

    roles: ClassVar[Moves] = ("player_0", "player_1")
    param_space: ClassVar[ParamSpace]
    policies: ClassVar[Mapping[str, str]]
    most: ClassVar[float] = 1.0
    is_small: ClassVar[bool] = True

    def start(self, rng: np.random.Generator, params: Params) -> TablePosition:
        """Draw a start position; all chance of the game is drawn here."""
        raise NotImplementedError

    def to_move(self, position: TablePosition) -> int | None:
        """Return the seat that moves; None at the end."""
        raise NotImplementedError

    def legal(self, position: TablePosition) -> Moves:
        """Return the legal moves; () at the end."""
        raise NotImplementedError

    def find_move(self, position: TablePosition, text: str) -> str | None:
        """Return the legal move that a text is, in any case and spacing; None if it is none."""
        move = " ".join(text.lower().split())
        return move if move in self.legal(position) else None

    def play(self, position: TablePosition, move: str) -> TablePosition:
        """Return the position after a legal move."""
        return replace(position, history=(*position.history, move))

    def returns(self, position: TablePosition) -> tuple[float, float]:
        """Return the payoff of each seat at the end; they sum to 0."""
        raise NotImplementedError

    def rules(self, position: TablePosition, seat: int) -> str:
        """Return the rules in words, with the name of no scripted player."""
        raise NotImplementedError

    def observe(self, position: TablePosition, seat: int) -> str:
        """Return what a seat may know of a position, in words: its own hand and the public moves."""
        raise NotImplementedError

    def choose(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        """Return the probability of each legal move of a scripted player in the seat to move, which knows no more than
        that seat."""
        raise NotImplementedError

    def values(self, position: TablePosition, policy: str, mistakes: float) -> Mapping[str, float]:
        """Return for each legal move its exact value, in points for the seat to move, which knows only its own hand and
        plays on as well as possible against a scripted player. That player makes random moves with the probability
        ``mistakes``."""
        raise NotImplementedError

    def size(self, position: TablePosition) -> int:
        """Return how much there is to think through at a start: all deals, or all legal first moves."""
        raise NotImplementedError

    def mix(self, position: TablePosition, policy: str, mistakes: float) -> Mapping[str, float]:
        """Return the probabilities of `choose`, mixed with uniform ones."""
        return _mix(self, position, policy, mistakes)


@functools.lru_cache(maxsize=1 << 15)
def _mix(game: TableGame, position: TablePosition, policy: str, mistakes: float) -> Mapping[str, float]:
    chosen, legal = game.choose(position, policy), game.legal(position)
    return {move: (1 - mistakes) * chosen.get(move, 0.0) + mistakes / len(legal) for move in legal}


class OpenGame(TableGame):
    """Base of games without chance and hidden cards, which one of the seats wins. ``TablePosition.deal`` is the first
    board; a subclass implements `moves` and `after`.

    Attributes:
        candidates: start positions that are drawn for each task; it has the one with the least `luck`.
    """

    candidates: ClassVar[int] = 1

    def moves(self, board: Any, seat: int) -> Moves:
        """Return the legal moves of a seat on a board, in a fixed order."""
        raise NotImplementedError

    def after(self, board: Any, seat: int, move: str) -> Any:
        """Return the board after a move."""
        raise NotImplementedError

    def wins(self, board: Any, seat: int) -> bool:
        """Return True if the seat to move wins under best play. A subclass with a theory overrides the search."""
        return self._search(board, seat)

    def wins_without_move(self, board: Any, seat: int) -> bool:
        """Return True if a seat that has no move left has won. Default: it has lost."""
        return False

    def luck(self, board: Any, seat: int) -> float:
        """Return the probability that random moves of a seat keep a won board won, against the replies after which they
        do so least often."""
        return self._luck(board, seat)

    @functools.cached_property
    def _luck(self) -> Any:
        @functools.lru_cache(maxsize=1 << 18)
        def luck(board: Any, seat: int) -> float:
            moves, total = self.moves(board, seat), 0.0
            for move in moves:
                after = self.after(board, seat, move)
                if not self.wins(after, 1 - seat):
                    replies = [self.after(after, 1 - seat, reply) for reply in self.moves(after, 1 - seat)]
                    total += min([luck(reply, seat) for reply in replies if self.moves(reply, seat)], default=1.0)
            return total / len(moves)

        return luck

    @functools.cached_property
    def _search(self) -> Any:
        @functools.lru_cache(maxsize=1 << 20)
        def search(board: Any, seat: int) -> bool:
            moves = self.moves(board, seat)
            if not moves:
                return self.wins_without_move(board, seat)
            return any(not search(self.after(board, seat, move), 1 - seat) for move in moves)

        return search

    def size(self, position: TablePosition) -> int:
        return len(self.moves(position.deal, 0)) + len(self.moves(position.deal, 1))

    def board(self, position: TablePosition) -> Any:
        """Return the board after all moves."""
        board = position.deal
        for number, move in enumerate(position.history):
            board = self.after(board, number % 2, move)
        return board

    def to_move(self, position: TablePosition) -> int | None:
        return len(position.history) % 2 if self.legal(position) else None

    def legal(self, position: TablePosition) -> Moves:
        return self.moves(self.board(position), len(position.history) % 2)

    def returns(self, position: TablePosition) -> tuple[float, float]:
        seat = len(position.history) % 2
        value = 1.0 if self.wins_without_move(self.board(position), seat) else -1.0
        return (value, -value) if seat == 0 else (-value, value)

    def values(self, position: TablePosition, policy: str, mistakes: float) -> Mapping[str, float]:
        """Return 1 for each move after which best play wins, whatever the opponent does, and -1 for others."""
        board, seat = self.board(position), len(position.history) % 2
        return {
            move: -1.0 if self.wins(self.after(board, seat, move), 1 - seat) else 1.0
            for move in self.moves(board, seat)
        }

    def choose(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        """Return the moves of "random", or of "perfect": any winning move, or any move where none wins."""
        values = self.values(position, policy, 0.0) if policy == "perfect" else dict.fromkeys(self.legal(position), 1.0)
        best = [move for move, value in values.items() if value == max(values.values())]
        return dict.fromkeys(best, 1 / len(best))
