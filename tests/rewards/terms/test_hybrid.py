from __future__ import annotations

from collections.abc import Callable

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make

Maker = Callable[..., Episode]


def test_a_confident_rule_makes_the_model_irrelevant(episode: Maker):
    values = {
        make("hybrid", rule=lambda _: (1.0, 0.95), model=lambda _, noise=noise: noise)(episode()).reward
        for noise in (0.0, 0.3, 1.0, None)
    }
    assert values == {1.0}


def test_a_rule_decides_from_the_stated_confidence_on(episode: Maker):
    assert make("hybrid", rule=lambda _: (1.0, 0.75), model=lambda _: 0.3, confident=0.75)(episode()).reward == 1.0


def test_without_a_confident_rule_the_model_decides(episode: Maker):
    assert make("hybrid", rule=lambda _: (1.0, 0.5), model=lambda _: 0.3)(episode()).reward == 0.3
    assert make("hybrid", rule=lambda _: None)(episode(reward_model_score=0.4)).reward == 0.4
    assert not make("hybrid", rule=lambda _: None)(episode(reward_model_score=None)).valid


def test_equal_lengths_cost_nothing_and_the_longest_costs_the_weight(episode: Maker):
    reward = make("hybrid", length_weight=0.1)
    assert [verdict.reward for verdict in reward.group([episode(), episode()])] == [1.0, 1.0]
    lengths = [episode(tokens=n) for n in (10, 20, 30)]
    assert [verdict.reward for verdict in reward.group(lengths)] == pytest.approx([1.0, 0.95, 0.9])


def test_adherence_is_added(episode: Maker):
    assert make("hybrid", adherence=lambda _: 0.5)(episode()).reward == 1.1


def test_by_default_rules_rank_and_with_a_model_nothing_is_promised():
    assert make("hybrid").ranks_success
    assert not make("hybrid").needs
    assert not make("hybrid", rule=lambda _: None).ranks_success


def test_weights_that_let_a_failure_win_are_refused():
    make("hybrid", adherence_weight=0.75, length_weight=0.25)
    with pytest.raises(InputError, match="outranks"):
        make("hybrid", adherence_weight=0.8, length_weight=0.3)


def test_a_rule_without_a_score_makes_it_invalid(episode: Maker):
    assert not make("hybrid", rule=lambda _: (float("nan"), 1.0))(episode()).valid
    assert make("hybrid", rule=lambda _: (7.0, 1.0))(episode()).reward == 1.0
