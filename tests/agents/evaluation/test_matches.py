"""Matches: duplicate deals, forfeits, void games, and ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from palaestra.agents.agent import Agent, EndEpisode
from palaestra.agents.evaluation.matches import PairResult, play_matches, rate_players
from palaestra.envs.players.hidden_game import equilibrium, expected_payoff, follow
from palaestra.envs.players.kuhn_poker import Kuhn
from palaestra.envs.players.table_game import freeze
from palaestra.errors import InputError


class Says(Agent):
    """Agent with one reply."""

    def __init__(self, name: str, reply: Any):
        self.name, self.reply = name, reply

    def act(self, observations, infos):
        return [None if info["idle"] else self.reply for info in infos]


def test_points_are_those_of_enumeration_and_both_seats_count():
    found = play_matches("palaestra/KuhnPoker-v0", ["random", "equilibrium"], deals=400, cards=3)
    [pair] = found.pairs
    game, params = Kuhn(), freeze({"cards": 3})
    best = follow(game, equilibrium(game, params, game.iterations))

    def at_random(position):
        return game.choose(position, "random")

    expected = (expected_payoff(game, params, (at_random, best)) - expected_payoff(game, params, (best, at_random))) / 2
    assert expected < -0.1
    assert pair.mean.low - 0.05 < expected < pair.mean.high + 0.05
    assert len(pair.points) == 400
    assert pair.forfeits == (0, 0)


def test_a_player_against_itself_wins_nothing_as_each_deal_is_played_in_both_seats():
    [pair] = play_matches("palaestra/KuhnPoker-v0", [Says("a", "check"), Says("b", "check")], deals=20, cards=3).pairs
    assert pair.points == (0.0,) * 20
    assert pair.scores == (0.5,) * 20


def test_who_says_no_legal_move_forfeits_and_a_failure_is_void():
    found = play_matches("palaestra/KuhnPoker-v0", [Says("dumb", "?"), "tight"], deals=5, cards=3)
    [pair] = found.pairs
    assert pair.forfeits == (10, 0)
    assert pair.points == (-2.0,) * 5
    assert "10, 0" in str(found)
    [pair] = play_matches("palaestra/KuhnPoker-v0", [Says("lost", EndEpisode(valid=False)), "tight"], deals=5).pairs
    assert (pair.void, pair.points) == (5, ())


def test_each_player_reads_its_form_of_prompts_and_the_rules_once():
    class Reads(Says):
        def __init__(self, name, form=None):
            super().__init__(name, "check")
            self.prompt_form, self.read = form, list[str]()

        def act(self, observations, infos):
            self.read += [text for text, info in zip(observations, infos, strict=True) if not info["idle"]]
            return super().act(observations, infos)

    terse, full = Reads("terse", "terse"), Reads("full")
    play_matches("palaestra/KuhnPoker-v0", [terse, full], deals=5, cards=3)
    assert all(text.startswith("cards 3, ") and "unknown." in text for text in terse.read)
    assert all(text.startswith("Each of two players puts one point") for text in full.read)
    caller = Reads("caller", "terse")  # has to answer a bet of the second seat
    play_matches("palaestra/KuhnPoker-v0", [caller, Says("bets", "bet")], deals=5, cards=3)
    later = [text for text in caller.read if not text.startswith("cards 3")]
    assert any(text.startswith("Your card is ") for text in later)
    assert any(text.startswith("Moves are: call, fold.\nYour card is ") for text in later)


def test_the_same_seed_gives_the_same_result():
    results = [play_matches("palaestra/Nim-v0", ["random", "perfect"], deals=10, seed=seed) for seed in (1, 1, 2)]
    assert results[0] == results[1] != results[2]


def test_ratings_are_those_that_games_were_drawn_from():
    """Strengths of 0, 100 and 300 points; deals won as Bradley and Terry's model says."""
    rng, truth = np.random.default_rng(0), {"a": 0.0, "b": 100.0, "c": 300.0}
    pairs = []
    for first, second in (("a", "b"), ("a", "c"), ("b", "c")):
        chance = 1 / (1 + 10 ** ((truth[second] - truth[first]) / 400))
        scores = tuple((rng.random(4000) < chance).astype(float).tolist())
        pairs.append(PairResult((first, second), (0.0,) * 4000, scores, (0, 0), 0))
    ratings = rate_players(list(truth), pairs)
    assert sum(one.mean for one in ratings.values()) == pytest.approx(0.0, abs=1e-6)
    for name, points in truth.items():
        assert ratings[name].mean == pytest.approx(points - 400 / 3, abs=15)
        assert ratings[name].low < ratings[name].mean < ratings[name].high


def test_players_and_environments_are_checked():
    with pytest.raises(InputError, match="two players"):
        play_matches("palaestra/Nim-v0", ["perfect"])
    with pytest.raises(InputError, match="different names"):
        play_matches("palaestra/Nim-v0", ["perfect", "perfect"])
    with pytest.raises(InputError, match="no table of seats"):
        play_matches("palaestra/Arithmetic-v0", ["random", "oracle"])
