"""palaestra/LeducPoker-v0: one seat at Leduc hold'em, judged by the value that its moves lose."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .hidden_game import HiddenGame
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, Params, TablePosition

MOST_RAISES = 2
STAKES = (2, 4)
"""Points of a raise in each of the two rounds."""


class Leduc(HiddenGame):
    """Leduc hold'em with two cards of each of ``ranks`` ranks: one card in each hand, and one on the table after the
    first round of betting."""

    param_space = ParamSpace([IntAxis("ranks", 3, 4, limits=(3, 6))])
    most = 13.0
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "loose": "never folds, and raises with the highest rank or a pair",
        "tight": "folds to a raise unless it has the highest rank or a pair, with which it raises",
        "equilibrium": "plays an equilibrium, which no opponent can beat on average",
    }

    def deals(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        ranks = range(1, params["ranks"] + 1)
        deals = [deal for deal in itertools.product(ranks, repeat=3) if len(set(deal)) > 1]
        # Two suits: a card of a rank that is dealt already can only be the other suit.
        ways = np.array([2 * (2 - (b == a)) * (2 - (c == a) - (c == b)) for a, b, c in deals], float)
        return np.array(deals), ways / ways.sum()

    def legal_after(self, params: Params, history: Moves) -> Moves:
        first, second = split_rounds(history)
        moves = first if second is None else second
        if history[-1:] == ("fold",) or (second is not None and _is_closed(second)):
            return ()
        if not (raises := moves.count("raise")):
            return ("check", "raise")
        return ("call", "raise", "fold") if raises < MOST_RAISES else ("call", "fold")

    def mover(self, params: Params, history: Moves) -> int:
        first, second = split_rounds(history)
        return len(first if second is None else second) % 2

    def private(self, params: Params, deals: np.ndarray, history: Moves, seat: int) -> np.ndarray:
        return deals[:, seat] * 100 + (0 if split_rounds(history)[1] is None else deals[:, 2])

    def payoffs(self, params: Params, deals: np.ndarray, history: Moves) -> np.ndarray:
        paid = [1, 1]
        first, second = split_rounds(history)
        for moves, stake in zip((first, second or ()), STAKES):
            for number, move in enumerate(moves):
                if move in ("raise", "call"):
                    paid[number % 2] = paid[1 - number % 2] + (stake if move == "raise" else 0)
        if history[-1] == "fold":
            loser = (len(second or first) - 1) % 2
            return np.full(len(deals), float(paid[1] if loser else -paid[0]))
        strengths = np.where(deals[:, :2] == deals[:, 2:], 100, deals[:, :2])
        return np.sign(strengths[:, 0] - strengths[:, 1]) * float(paid[0])

    def prefer(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        second = split_rounds(position.history)[1]
        card, public = position.deal[self.mover({}, position.history)], position.deal[2]
        legal = self.legal(position)
        if card == position["ranks"] or (second is not None and card == public):
            return {"raise" if "raise" in legal else "call": 1.0}
        return {"check" if "check" in legal else "call" if policy == "loose" else "fold": 1.0}

    def rules(self, position: TablePosition, seat: int) -> str:
        ranks = position["ranks"]
        return (
            f"There are two cards of each rank from 1 to {ranks}. Each of two players puts one point into the pot and "
            "gets a card that the other does not see. In a round of betting the players move in turn, the first one "
            "first: check, raise, call (match the other's points) or fold (give up the pot); a round ends when both "
            f"have checked or one has called, and has at most {MOST_RAISES} raises. A raise adds {STAKES[0]} "
            f"points in the first round and {STAKES[1]} in the second. Between the rounds a card is laid open. At the "
            "end, a pair with the open card wins the pot, or else the higher rank."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        words = [f"Your card is {position.deal[seat]}."]
        first, second = split_rounds(position.history)
        for name, moves in (("First", first), ("Second", second)):
            if name == "Second" and moves is not None:
                words.append(f"The open card is {position.deal[2]}.")
            if moves:
                told = [f"{'you' if number % 2 == seat else 'the other'} {move}" for number, move in enumerate(moves)]
                words.append(f"{name} round: {', '.join(told)}.")
        return " ".join(words)


def split_rounds(history: Moves) -> tuple[Moves, Moves | None]:
    """Return the moves of the first round, and those of the second or None while the first is going on."""
    for end in range(2, len(history) + 1):
        if _is_closed(history[:end]):
            return history[:end], history[end:]
    return history, None


def _is_closed(moves: Moves) -> bool:
    return moves[-1:] == ("call",) or moves == ("check", "check")


class LeducPoker(SeatEnv):
    """One seat at Leduc hold'em.

    Description:
        Hands of Leduc hold'em against a scripted player whose way of playing is told. The agent has the same seat in
        all hands. Its moves are judged by the points that they lose on average against that player, whatever the
        other's card turns out to be: a hand can be lost without a fault, and won with one.

    Parameters:
        ranks (3 to 4, on request up to 6): number of ranks; there are two cards of each.
        hands (1 to 4, on request up to 20): hands in an episode.
        opponent ("random", "loose", "tight", "equilibrium"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the agent's card, the open card, the moves so far, and the
        legal moves.

    Actions:
        Text with one move, "check", "raise", "call" or "fold", read in ``answer_format``.

    Reward:
        1 at the end if no hand has lost more than 0.02 points of its value, else 0; other ``score``s pay after each
        hand (see `SeatEnv`).

    Termination:
        After the last hand. An action that cannot be read takes a turn and changes nothing; truncated after three times
        as many turns as the hands can have. ``info["progress"]`` is the share of hands played without a loss of value.

    Source:
        F. Southey et al., "Bayes' Bluff: Opponent Modelling in Poker", UAI 2005, arXiv 1207.1411.
    """

    table = Leduc()
    param_space = ParamSpace(
        [*Leduc.param_space.axes, IntAxis("hands", 1, 4, limits=(1, 20)), *opponent_axes(Leduc.policies)]
    )
    turns = 4


register("palaestra/LeducPoker-v0", f"{__name__}:LeducPoker")
