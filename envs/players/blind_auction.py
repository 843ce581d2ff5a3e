"""palaestra/BlindAuction-v0: one seat at an auction of sealed bids, judged by the value that its bids lose."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .hidden_game import HiddenGame
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, Params, TablePosition


class Auction(HiddenGame):
    """Auction of one thing: both seats write down a bid, and the higher one gets the thing.

    ``TablePosition.deal`` holds what the thing is worth to each seat.
    """

    param_space = ParamSpace([IntAxis("worth", 9, 15, limits=(2, 15))])
    most = 15.0
    policies: Mapping[str, str] = {
        "random": "makes each legal bid equally often",
        "truthful": "bids what the thing is worth to it",
        "shading": "bids half of what the thing is worth to it, rounded down",
        "equilibrium": "plays an equilibrium, which no opponent can beat on average",
    }

    def deals(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        deals = np.array(list(itertools.product(range(1, params["worth"] + 1), repeat=2)))
        return deals, np.full(len(deals), 1 / len(deals))

    def legal_after(self, params: Params, history: Moves) -> Moves:
        return tuple(map(str, range(params["worth"] + 1))) if len(history) < 2 else ()

    def is_blind(self, history: Moves) -> bool:
        return len(history) == 1

    def private(self, params: Params, deals: np.ndarray, history: Moves, seat: int) -> np.ndarray:
        return deals[:, seat]

    def payoffs(self, params: Params, deals: np.ndarray, history: Moves) -> np.ndarray:
        first, second = map(int, history)
        if first == second:
            return np.zeros(len(deals))
        return deals[:, 0] - first if first > second else second - deals[:, 1]

    def prefer(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        worth = position.deal[len(position.history)]
        return {str(worth if policy == "truthful" else worth // 2): 1.0}

    def rules(self, position: TablePosition, seat: int) -> str:
        return (
            f"A thing is sold to one of two players. To each of them it is worth 1 to {position['worth']} points, all "
            "equally likely, which the other does not know. Both write down a bid without seeing the other's. The "
            "higher bid gets the thing and is paid; the lower one is not, and at equal bids nobody gets the thing. The "
            "result of the player that gets it is its worth less the bid, and that of the other the same number of "
            "points lost."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        told = f"The thing is worth {position.deal[seat]} to you."
        if len(position.history) < 2:
            return told
        return f"{told} You bid {position.history[seat]} and the other {position.history[1 - seat]}."


class BlindAuction(SeatEnv):
    """One seat at an auction of sealed bids.

    Description:
        Auctions against a scripted player whose way of bidding is told. The higher of two sealed bids gets the thing
        and is paid. The thing is worth something else to each player, and a player gains what the other loses: its
        profit, or the other's. The agent's bids are judged by the points that they lose on average against that player,
        whatever the thing is worth to the other: a bid for a thing of low worth also keeps it from the other.

    Parameters:
        worth (9 to 15, on request 2 to 15): the most points that a thing is worth to a player; all from 1 are equally
            likely.
        hands (5 to 7, on request 1 to 20): auctions in an episode.
        opponent ("random", "truthful", "shading", "equilibrium"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's bids that are random.
        seat ("first", "second"): without effect on what is known, as bids are sealed.

    Observation:
        Text: the rules and how the opponent bids; then what the thing is worth to the agent, and the legal bids.

    Actions:
        Text with a bid, a whole number from 0 to ``worth``, read in ``answer_format``.

    Reward:
        1 at the end if no auction has lost more than 0.02 points of its value, else 0; other ``score``s pay after each
        auction (see `SeatEnv`).

    Termination:
        After the last auction. An action that cannot be read takes a turn and changes nothing; truncated after three
        times as many turns as the auctions can have. ``info["progress"]`` is the share of auctions played without a
        loss of value.

    Source:
        The first-price auction of W. Vickrey, "Counterspeculation, Auctions, and Competitive Sealed Tenders", Journal
        of Finance 16 (1961), with whole numbers, and the difference of the profits as result.
    """

    table = Auction()
    param_space = ParamSpace(
        [*Auction.param_space.axes, IntAxis("hands", 5, 7, limits=(1, 20)), *opponent_axes(Auction.policies)]
    )
    turns = 1


register("palaestra/BlindAuction-v0", f"{__name__}:BlindAuction")
