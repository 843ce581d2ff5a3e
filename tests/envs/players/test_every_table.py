"""Every table: payoffs sum to 0, a seat sees nothing of the other's hand, and theory agrees with search."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from palaestra.envs.players.hidden_game import HiddenGame
from palaestra.envs.players.seat_env import SeatEnv
from palaestra.envs.players.table_game import OpenGame, TableGame

TABLES = {family.__name__: family.table for family in SeatEnv.__subclasses__()}
every_table = pytest.mark.parametrize("table", list(TABLES.values()), ids=list(TABLES))


def random_games(table: TableGame, count: int):
    """Positions of random games, each with its start."""
    rng = np.random.default_rng(1)
    for _ in range(count):
        position = table.start(rng, {**table.param_space.sample(rng), **table.param_space.at(0.0)})
        yield position
        while (seat := table.to_move(position)) is not None:
            legal = table.legal(position)
            assert seat in (0, 1)
            position = table.play(position, legal[int(rng.integers(len(legal)))])
            yield position


def test_all_games_of_the_package_are_met():
    names = {
        "BlindAuction",
        "ConnectFourSeat",
        "Domineering",
        "KuhnPoker",
        "LeducPoker",
        "LiarsDiceSeat",
        "Nim",
        "Othello",
    }
    assert names <= set(TABLES)


@every_table
def test_payoffs_sum_to_zero_and_are_no_larger_than_stated(table: TableGame):
    ends = [position for position in random_games(table, 60) if table.to_move(position) is None]
    returns = [table.returns(position) for position in ends]
    assert all(first + second == 0 and abs(first) <= table.most for first, second in returns)
    assert {np.sign(first) for first, _ in returns} >= {1, -1}


@every_table
def test_scripted_players_make_legal_moves(table: TableGame):
    for position in random_games(table, 2):
        if table.to_move(position) is not None:
            for policy in table.policies:
                chances = table.mix(position, policy, 0.25)
                assert set(chances) == set(table.legal(position))
                assert sum(chances.values()) == pytest.approx(1)


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if isinstance(table, HiddenGame)])
def test_a_seat_knows_nothing_of_the_hand_of_the_other(name: str):
    table = TABLES[name]
    assert isinstance(table, HiddenGame)
    differ = 0
    for position in random_games(table, 40):
        seat = table.to_move(position)
        if seat is None:
            continue
        deals, _ = table.deals(dict(position.params))
        mine = table.known(position, seat)
        for deal in deals.tolist():
            other = replace(position, deal=tuple(deal))
            if table.known(other, seat) == mine:
                differ += other.deal != position.deal
                assert table.observe(other, seat) == table.observe(position, seat)
                assert table.legal(other) == table.legal(position)
                for policy in table.policies:
                    assert table.choose(other, policy) == table.choose(position, policy)
        if table.is_blind(position.history):
            for move in table.legal_after(dict(position.params), position.history[:-1]):
                other = replace(position, history=(*position.history[:-1], move))
                assert table.known(other, seat) == mine
                assert table.observe(other, seat) == table.observe(position, seat)
                assert table.legal(other) == table.legal(position)
                for policy in table.policies:
                    assert table.choose(other, policy) == table.choose(position, policy)
    assert differ


@pytest.mark.parametrize("name", [name for name, table in TABLES.items() if isinstance(table, OpenGame)])
def test_the_theory_of_a_board_agrees_with_a_search_of_all_games(name: str):
    table = TABLES[name]
    assert isinstance(table, OpenGame)
    rng = np.random.default_rng(0)
    seen = set()
    for _ in range(12):
        position = table.start(rng, {**table.param_space.sample(rng), **table.param_space.at(0.0)})
        for seat in (0, 1):
            won = table.wins(position.deal, seat)
            assert won == table._search(position.deal, seat)
            seen.add(won)
    assert seen == {True, False}
