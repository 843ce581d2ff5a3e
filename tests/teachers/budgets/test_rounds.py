"""Rollouts in rounds: who is still sampled, what that costs on average, and what is kept."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.budgets.rounds import Rounds, race_rounds, thin_group


def play(rounds, p, seed=0):
    """Sample until the batch is finished."""
    rng = np.random.default_rng(seed)
    while (draws := rounds.next_draws()).any():
        rounds.add(rng.binomial(draws, p), draws)
    return rounds


def expected_draws(p, positives, negatives):
    """Expected draws until that many successes and failures are seen, without limit on rounds of one.

    Each of the two counts alone waits positives/p and negatives/(1-p) draws on average, and the longer of two waits
    is their sum less the shorter, which is over after positives + negatives - 1 draws at most. One of each:
    1/p + 1/(1-p) - 1.
    """
    total = positives / p + negatives / (1 - p)
    for n in range(positives + negatives - 1):
        for s in range(max(0, n - negatives + 1), min(n, positives - 1) + 1):
            total -= math.comb(n, s) * p**s * (1 - p) ** (n - s)
    return total


def test_a_balanced_prompt_is_not_sampled_again_and_others_stop_at_32():
    rounds = Rounds(3, exit="balanced", keep=4)
    assert rounds.next_draws().tolist() == [8, 8, 8]
    rounds.add([2, 1, 8], [8, 8, 8])
    assert rounds.retired.tolist() == [True, False, False]
    assert rounds.next_draws().tolist() == [0, 8, 8]
    rounds.add([0, 1, 8], [0, 8, 8])
    assert rounds.next_draws().tolist() == [0, 0, 8]
    rounds.add([0, 0, 8], [0, 0, 8])
    rounds.add([0, 0, 7], [0, 0, 8])
    assert rounds.next_draws().tolist() == [0, 0, 0]
    assert rounds.draws.tolist() == [8, 16, 32]


def test_one_success_is_enough_for_the_positive_exit():
    rounds = Rounds(2, exit="positive", size=4)
    rounds.add([1, 0], [4, 4])
    assert rounds.next_draws().tolist() == [0, 4]


@pytest.mark.parametrize(
    ("exit", "keep", "needed"), [("positive", 4, (1, 0)), ("balanced", 4, (2, 2)), ("mixed", 4, (1, 1))]
)
@pytest.mark.parametrize("p", [0.15, 0.5, 0.8])
def test_rounds_of_one_cost_what_the_closed_form_says(exit, keep, needed, p):
    rounds = play(Rounds(20_000, exit=exit, keep=keep, size=1, rounds=1000), p)
    assert rounds.draws.mean() == pytest.approx(expected_draws(p, *needed), rel=0.02)


def test_expected_draws_by_hand():
    assert expected_draws(0.2, 3, 0) == pytest.approx(15.0)
    assert expected_draws(0.25, 1, 1) == pytest.approx(1 / 0.25 + 1 / 0.75 - 1)
    assert expected_draws(0.5, 2, 2) == pytest.approx(5.5)  # 4 + 4 less the shorter wait, 2.5


def test_racing_stops_at_the_first_mixed_draw_and_fills_up():
    rounds = race_rounds(3, n=8, limit=20)
    rounds.add([1, 0, 1], [1, 1, 1])
    rounds.add([0, 0, 1], [1, 1, 1])
    assert rounds.next_draws().tolist() == [6, 1, 1]  # the first is mixed after two draws
    rounds = play(race_rounds(3, n=8, limit=20), np.array([0.5, 0.0, 1.0]))
    assert rounds.draws.tolist() == [8, 20, 20]


def test_the_success_among_32_draws_is_kept_with_its_advantage_over_all_of_them():
    returns = np.zeros(32)
    returns[13] = 1.0
    for seed in range(20):
        kept, advantages = thin_group(returns, 4, np.random.default_rng(seed))
        assert 13 in kept
        assert len(set(kept.tolist())) == 4
        assert advantages[kept == 13] == pytest.approx(31 / 32)
        assert advantages[kept != 13] == pytest.approx(-1 / 32)


@pytest.mark.parametrize(("good", "expected"), [(0, 0), (1, 1), (2, 2), (5, 2), (7, 3), (8, 4)])
def test_the_other_side_fills_in_where_one_is_short(good, expected):
    returns = [1.0] * good + [0.0] * (8 - good)
    kept, _ = thin_group(returns, 4, np.random.default_rng(0))
    assert len(kept) == 4
    assert sum(returns[i] for i in kept) == expected


def test_a_group_no_larger_than_what_is_kept_stays_whole():
    kept, advantages = thin_group([1.0, 0.0], 4, np.random.default_rng(0))
    assert kept.tolist() == [0, 1]
    assert advantages.tolist() == [0.5, -0.5]
    assert thin_group([], 4, np.random.default_rng(0))[0].tolist() == []


def test_rounds_continue_from_a_saved_state():
    rounds = Rounds(2)
    rounds.add([2, 0], [8, 8])
    copy = Rounds(2)
    copy.load_state_dict(rounds.state_dict())
    assert copy.next_draws().tolist() == rounds.next_draws().tolist() == [0, 8]
    with pytest.raises(InputError, match="2 prompts"):
        Rounds(3).load_state_dict(rounds.state_dict())


@pytest.mark.parametrize("bad", [{"exit": "never"}, {"keep": 3}, {"keep": 0}, {"size": 0}, {"rounds": 0}, {"fill": -1}])
def test_options_out_of_range_are_refused(bad):
    with pytest.raises(InputError, match=next(iter(bad))):
        Rounds(2, **bad)


@pytest.mark.parametrize(("successes", "draws"), [([1], [1]), ([2, 0], [1, 1]), ([-1, 0], [1, 1])])
def test_counts_that_cannot_be_are_refused(successes, draws):
    with pytest.raises(InputError, match="a round gives 2"):
        Rounds(2).add(successes, draws)


def test_a_prompt_whose_answers_never_come_is_given_up_after_the_last_round():
    rounds = Rounds(2, rounds=3)
    for done in range(3):
        assert rounds.next_draws().tolist() == ([8, 8] if done == 0 else [8, 0])
        rounds.add([0, 2], [0, 8]) if done == 0 else rounds.add([0, 0], [0, 0])
    assert rounds.next_draws().tolist() == [0, 0]


def test_missing_answers_cost_no_further_round():
    rounds = Rounds(1)
    for _ in range(4):
        rounds.add([0], [7])
    assert rounds.next_draws().tolist() == [0]
    assert rounds.draws.tolist() == [28]


def test_filling_up_takes_one_round():
    rounds = race_rounds(1, n=8, limit=20)
    rounds.add([1], [1])
    rounds.add([0], [1])
    assert rounds.next_draws().tolist() == [6]
    copy = race_rounds(1, n=8, limit=20)
    rounds.add([3], [4])
    copy.load_state_dict(rounds.state_dict())
    assert rounds.next_draws().tolist() == copy.next_draws().tolist() == [0]
