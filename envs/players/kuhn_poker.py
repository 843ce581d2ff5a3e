"""palaestra/KuhnPoker-v0: one seat at Kuhn's poker, judged by the value that its moves lose."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .hidden_game import HiddenGame
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, Params, TablePosition

MOST_CARDS = 13


class Kuhn(HiddenGame):
    """Kuhn's poker with cards 1 to ``cards``: each seat puts in one point and gets one card; the higher card wins."""

    param_space = ParamSpace([IntAxis("cards", 3, 6, limits=(3, MOST_CARDS))])
    most = 2.0
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "loose": "calls every bet, and bets with every card but the lowest",
        "tight": "bets and calls with the highest card alone",
        "equilibrium": "plays an equilibrium, which no opponent can beat on average",
    }

    def deals(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        cards = params["cards"]
        deals = np.array([(a, b) for a in range(1, cards + 1) for b in range(1, cards + 1) if a != b])
        return deals, np.full(len(deals), 1 / len(deals))

    def legal_after(self, params: Params, history: Moves) -> Moves:
        if not history or history == ("check",):
            return ("check", "bet")
        return ("call", "fold") if history[-1] == "bet" else ()

    def private(self, params: Params, deals: np.ndarray, history: Moves, seat: int) -> np.ndarray:
        return deals[:, seat]

    def payoffs(self, params: Params, deals: np.ndarray, history: Moves) -> np.ndarray:
        if history[-1] == "fold":  # the seat that folds has made the last move
            return np.full(len(deals), -1.0 if len(history) % 2 else 1.0)
        return np.where(deals[:, 0] > deals[:, 1], 1.0, -1.0) * (2.0 if history[-1] == "call" else 1.0)

    def prefer(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        card = position.deal[len(position.history) % 2]
        acts = card > 1 if policy == "loose" else card == position["cards"]
        if position.history[-1:] == ("bet",):
            return {"call" if acts or policy == "loose" else "fold": 1.0}
        return {"bet" if acts else "check": 1.0}

    def rules(self, position: TablePosition, seat: int) -> str:
        return (
            "Each of two players puts one point into the pot and gets a card that the other does not see, one of 1 "
            f"to {position['cards']}. The players move in turn: check (pass) or bet one more point; after a bet, call "
            "(put in one point, too) or fold (give up the pot). When both have checked, or after a call, the higher "
            "card wins the pot."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        so_far = ", ".join(
            f"{'you' if number % 2 == seat else 'the other'} {move}" for number, move in enumerate(position.history)
        )
        return f"Your card is {position.deal[seat]}." + (f" So far: {so_far}." if so_far else " You move first.")


class KuhnPoker(SeatEnv):
    """One seat at Kuhn's poker.

    Description:
        Hands of Kuhn's poker against a scripted player whose way of playing is told. The agent has the same seat in all
        hands. Its moves are judged by the points that they lose on average against that player, whatever the other's
        card turns out to be: a hand can be lost without a fault, and won with one.

    Parameters:
        cards (3 to 6, on request up to 13): number of cards.
        hands (2 to 6, on request 1 to 20): hands in an episode.
        opponent ("random", "loose", "tight", "equilibrium"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the agent's card, the moves so far, and the legal moves.

    Actions:
        Text with one move, "check", "bet", "call" or "fold", read in ``answer_format``.

    Reward:
        1 at the end if no hand has lost more than 0.02 points of its value, else 0; other ``score``s pay after each
        hand (see `SeatEnv`).

    Termination:
        After the last hand. An action that cannot be read takes a turn and changes nothing; truncated after three times
        as many turns as the hands can have. ``info["progress"]`` is the share of hands played without a loss of value.

    Source:
        H. W. Kuhn, "A Simplified Two-Person Poker", Contributions to the Theory of Games I (1950).
    """

    table = Kuhn()
    param_space = ParamSpace(
        [*Kuhn.param_space.axes, IntAxis("hands", 2, 6, limits=(1, 20)), *opponent_axes(Kuhn.policies)]
    )
    turns = 2


register("palaestra/KuhnPoker-v0", f"{__name__}:KuhnPoker")
