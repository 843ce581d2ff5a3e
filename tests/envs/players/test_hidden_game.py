"""Best responses and equilibria of hidden games: published values, and enumeration of all strategies."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

import numpy as np
import pytest
from palaestra.envs.players.hidden_game import (
    HiddenGame,
    best_response,
    equilibrium,
    expected_payoff,
    exploitability,
    follow,
)
from palaestra.envs.players.kuhn_poker import Kuhn
from palaestra.envs.players.leduc_poker import Leduc
from palaestra.envs.players.liars_dice import LiarsDice
from palaestra.envs.players.table_game import TablePosition, freeze


def uniform(game: HiddenGame):
    return lambda position: dict.fromkeys(game.legal(position), 1 / len(game.legal(position)))


@pytest.mark.parametrize(
    ("game", "params", "value"),
    # Kuhn (1950); for Leduc's poker the value that OpenSpiel and others report, -0.0856.
    [(Kuhn(), {"cards": 3}, -1 / 18), (Leduc(), {"ranks": 3}, -0.0856), (LiarsDice(), {"faces": 3}, None)],
    ids=["kuhn", "leduc", "dice"],
)
def test_an_equilibrium_has_the_known_value_and_cannot_be_beaten(game, params, value):
    frozen = freeze(params)
    choose = follow(game, equilibrium(game, frozen, game.iterations))
    assert exploitability(game, frozen, choose) < 0.002
    if value is not None:
        assert expected_payoff(game, frozen, (choose, choose)) == pytest.approx(value, abs=1e-3)


def test_uniform_play_of_kuhns_poker_is_exploited_by_as_much_as_enumeration_says():
    game = Kuhn()
    assert exploitability(game, freeze({"cards": 3}), uniform(game)) == pytest.approx(0.9166667 / 2)


def test_a_best_response_is_the_best_of_all_strategies():
    game, params = Kuhn(), freeze({"cards": 3})
    rng = np.random.default_rng(0)
    deals, _ = game.deals({"cards": 3})
    starts = [TablePosition(params, tuple(deal.tolist())) for deal in deals]
    sets = {
        seat: sorted(
            {
                game.known(TablePosition(params, start.deal, history), seat)
                for start in starts
                for history in [(), ("check", "bet"), ("check",), ("bet",)]
                if len(history) % 2 == seat
            }
        )
        for seat in (0, 1)
    }
    for _ in range(3):
        chances = {key: float(rng.random()) for seat in (0, 1) for key in sets[seat]}

        def opponent(position: TablePosition, chances=chances) -> Mapping[str, float]:
            first, second = game.legal(position)
            chance = chances[game.known(position, len(position.history) % 2)]
            return {first: chance, second: 1 - chance}

        for seat in (0, 1):
            best = -9.0
            for moves in itertools.product((0, 1), repeat=len(sets[seat])):
                plan = dict(zip(sets[seat], moves))

                def mine(position: TablePosition, plan=plan, seat=seat) -> Mapping[str, float]:
                    return {game.legal(position)[plan[game.known(position, seat)]]: 1.0}

                payoff = expected_payoff(game, params, (mine, opponent) if seat == 0 else (opponent, mine))
                best = max(best, payoff if seat == 0 else -payoff)
            assert best_response(game, params, seat, opponent).value == pytest.approx(best)
