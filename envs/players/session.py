"""`TableSession`: one game at a table, played by replies in text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards.answers import REQUESTS
from ..registration import make_registered
from .seat_env import SeatEnv
from .table_game import Moves, TablePosition

STRANGER = {"sentences": "How the other player plays is not known.", "terse": "unknown."}
"""Form of the prompt -> text about an opponent of whom a seat is told nothing."""


def first_text(env: SeatEnv, position: TablePosition, seat: int) -> str:
    """Return what a seat reads on its first turn, at a table with an unknown opponent."""
    return env.show(position, seat, STRANGER[env.prompt]) + REQUESTS[env.answer_format]


@dataclass
class TableSession:
    """One game at the table of a `SeatEnv`, from a start position.

    A reply without a legal move changes nothing. After ``patience`` of them in a row, the seat forfeits the game: it
    gets the least payoff, and the other seat gets nothing, since it is not paid for another's faults.

    Args:
        env: the environment whose table it is, and whose ``answer_format`` replies have.
        position: the start.
        patience: replies in a row without a legal move until a seat forfeits.
    """

    env: SeatEnv
    position: TablePosition
    patience: int = 2
    errors: list[str | None] = field(default_factory=lambda: [None, None])
    """Why the last reply of each seat had no legal move."""
    forfeited: int | None = None
    """The seat that has forfeited."""
    _faults: int = 0
    _began: set[int] = field(default_factory=set)

    @property
    def seat(self) -> int | None:
        """The seat that moves; None at the end."""
        return None if self.forfeited is not None else self.env.table.to_move(self.position)

    def legal(self, seat: int) -> Moves:
        """Return the legal moves of a seat; () if it is not its turn."""
        return self.env.table.legal(self.position) if seat == self.seat else ()

    def observe(self, seat: int) -> str:
        """Return the rules, what a seat knows, and its legal moves, in words."""
        legal = self.legal(seat)
        moves = f"\nYour move: {', '.join(legal)}. Answer with one move and nothing else." if legal else ""
        table = self.env.table
        return f"{table.rules(self.position, seat)}\n{table.observe(self.position, seat)}{moves}"

    def tell(self, seat: int, env: SeatEnv | None = None) -> str:
        """Return what a seat reads on its turn if it remembers the game: the rules on its first turn, and after that
        only what is new.

        Args:
            env: an environment with the same table, in whose form of prompts the seat reads; None: that of the game.
        """
        form = env or self.env
        if seat not in self._began:
            self._began.add(seat)
            return first_text(form, self.position, seat)
        return "\n".join(filter(None, (self.errors[seat], form.show(self.position, seat))))

    def reply(self, reply: Any) -> None:
        """Make the move that the seat to move names in a reply."""
        seat = self.seat
        assert seat is not None
        found, error = self.env.read_action(reply)
        table = self.env.table
        moves = [move for text in found if (move := table.find_move(self.position, text)) is not None]
        self.errors[seat] = None if moves else error or f"Moves are: {', '.join(table.legal(self.position))}."
        if moves:
            self._faults = 0
            self.position = table.play(self.position, moves[0])
        else:
            self._faults += 1
            if self._faults >= self.patience:
                self.forfeited = seat

    def returns(self) -> tuple[float, float]:
        """Return the payoff of each seat at the end."""
        if self.forfeited is None:
            return self.env.table.returns(self.position)
        least = -self.env.table.most
        return (least, 0.0) if self.forfeited == 0 else (0.0, least)


def make_seats(env_id: str, **kwargs: Any) -> SeatEnv:
    """Make an environment with a table of seats.

    Raises:
        InputError: the environment is unknown, or has no table.
    """
    made = make_registered(env_id, **kwargs).unwrapped
    if not isinstance(made, SeatEnv):
        raise InputError(f"{env_id!r} has no table of seats; palaestra list envs players names the games that have.")
    return made


def deal(env: SeatEnv, rng: np.random.Generator, options: Mapping[str, Any] | None = None) -> TablePosition:
    """Draw a start position of the environment's table. ``options`` are those of its reset."""
    given = options or {}
    space = env.param_space
    params = space.complete(space.ask(given.get("params") or {}), rng, given.get("difficulty", env.difficulty))
    return env.table.start(rng, {name: params[name] for name in env.table.param_space.names})
