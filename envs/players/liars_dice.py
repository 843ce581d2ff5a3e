"""palaestra/LiarsDice-v0: one seat at liar's dice, judged by the value that its moves lose."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np

from ..param_space import IntAxis, ParamSpace
from ..registration import register
from .hidden_game import HiddenGame
from .seat_env import SeatEnv, opponent_axes
from .table_game import Moves, Params, TablePosition


class LiarsDice(HiddenGame):
    """Liar's dice of one round: bids on the dice of both seats, until one is doubted."""

    param_space = ParamSpace([IntAxis("faces", 2, 4, limits=(2, 5))])
    iterations = 100
    policies: Mapping[str, str] = {
        "random": "makes each legal move equally often",
        "honest": "makes the lowest bid that is true of its own die, and doubts when there is none",
        "trusting": "never doubts while a bid is left, and makes the lowest one",
        "equilibrium": "plays an equilibrium, which no opponent can beat on average",
    }

    def deals(self, params: Params) -> tuple[np.ndarray, np.ndarray]:
        deals = np.array(list(itertools.product(range(1, params["faces"] + 1), repeat=2)))
        return deals, np.full(len(deals), 1 / len(deals))

    def legal_after(self, params: Params, history: Moves) -> Moves:
        if history[-1:] == ("liar",):
            return ()
        bids = [f"{count} x {face}" for count in (1, 2) for face in range(1, params["faces"] + 1)]
        return (*bids[bids.index(history[-1]) + 1 :], "liar") if history else tuple(bids)

    def private(self, params: Params, deals: np.ndarray, history: Moves, seat: int) -> np.ndarray:
        return deals[:, seat]

    def payoffs(self, params: Params, deals: np.ndarray, history: Moves) -> np.ndarray:
        count, _, face = history[-2].split()
        true = (deals == int(face)).sum(1) >= int(count)
        # The bid before the last move is that of the seat that did not doubt.
        return np.where(true, 1.0, -1.0) * (1.0 if len(history) % 2 == 0 else -1.0)

    def prefer(self, position: TablePosition, policy: str) -> Mapping[str, float]:
        legal = self.legal(position)
        die = position.deal[len(position.history) % 2]
        mine = [move for move in legal if move == f"1 x {die}"] if policy == "honest" else []
        return {(mine or ["liar" if "liar" in legal and policy == "honest" else legal[0]])[0]: 1.0}

    def rules(self, position: TablePosition, seat: int) -> str:
        faces = position["faces"]
        return (
            f"Each of two players rolls a die with faces 1 to {faces}, which the other does not see. In turn, a player "
            'makes a bid such as "1 x 2" (one or two of the dice show 2) or says "liar" about the last bid. A bid '
            "must be of more dice than the last, or of as many with a higher face. After a doubt, the doubted player "
            "wins one point from the other if the bid is true of both dice together, and pays one if not."
        )

    def observe(self, position: TablePosition, seat: int) -> str:
        told = [
            f"{'you' if number % 2 == seat else 'the other'} {move}" for number, move in enumerate(position.history)
        ]
        return f"Your die shows {position.deal[seat]}." + (
            f" So far: {', '.join(told)}." if told else " You move first."
        )


class LiarsDiceSeat(SeatEnv):
    """One seat at liar's dice.

    Description:
        Rounds of liar's dice, one die a player, against a scripted player whose way of playing is told. The agent has
        the same seat in all rounds. Its moves are judged by the points that they lose on average against that player,
        whatever the other's die shows: a round can be lost without a fault, and won with one.

    Parameters:
        faces (2 to 4, on request up to 5): faces of a die.
        hands (2 to 5, on request 1 to 20): rounds in an episode.
        opponent ("random", "honest", "trusting", "equilibrium"): the scripted player.
        mistakes (20 to 0, harder downwards, on request up to 100): percentage of the opponent's moves that are random.
        seat ("first", "second"): who moves first.

    Observation:
        Text: the rules and how the opponent plays; then the agent's die, the bids so far, and the legal moves.

    Actions:
        Text with a bid such as "1 x 2", or "liar", read in ``answer_format``.

    Reward:
        1 at the end if no round has lost more than 0.02 points of its value, else 0; other ``score``s pay after each
        round (see `SeatEnv`).

    Termination:
        After the last round. An action that cannot be read takes a turn and changes nothing; truncated after three
        times as many turns as the rounds can have. ``info["progress"]`` is the share of rounds played without a loss of
        value.

    Source:
        The traditional game, with one die a player as in M. Lanctot et al., "OpenSpiel" (2019),
        arXiv 1908.09453, but without wild faces.
    """

    table = LiarsDice()
    param_space = ParamSpace(
        [*LiarsDice.param_space.axes, IntAxis("hands", 2, 5, limits=(1, 20)), *opponent_axes(LiarsDice.policies)]
    )
    turns = 7


register("palaestra/LiarsDice-v0", f"{__name__}:LiarsDiceSeat")
