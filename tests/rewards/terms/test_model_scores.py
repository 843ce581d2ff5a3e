from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.model_scores import (
    TRANSFORMS,
    clipped_score,
    conjunction,
    log_sigmoid,
    lsc,
    min_max_score,
    par,
    polynomial_score,
    reference_quantile,
    shaped_rm,
    sigmoid,
)

Maker = Callable[..., Episode]


def test_par_is_a_half_at_the_reference_and_symmetric_about_it():
    assert par(2.0, [2.0]) == 0.5
    assert par(3.0, [2.0]) == pytest.approx(0.7311, abs=1e-4)
    assert par(1.0, [2.0]) == pytest.approx(0.2689, abs=1e-4)
    assert par(2.7, [2.0]) + par(1.3, [2.0]) == pytest.approx(1.0)


def test_par_is_steepest_at_the_reference_with_slope_a_quarter_of_k():
    slopes = [(par(x + 1e-4, [0.0], k=2.0) - par(x - 1e-4, [0.0], k=2.0)) / 2e-4 for x in (-1.0, 0.0, 1.0)]
    assert max(slopes) == slopes[1] == pytest.approx(0.5, abs=1e-6)


def test_par_averages_over_references():
    assert par(0.0, [1.0, -1.0]) == pytest.approx(0.5)


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_every_transform_is_monotone_and_within_its_bounds(name: str):
    function, (low, high) = TRANSFORMS[name]
    values = [function(x / 4, [-1.0, 0.5, 2.0]) for x in range(-80, 81)]
    if name != "polynomial":  # a fitted polynomial may bend back at its ends: the method's own weakness
        assert all(b >= a for a, b in pairwise(values))
    assert low <= min(values) <= max(values) <= high


def test_the_alternatives_by_hand():
    assert clipped_score(9.0, [0.0, 2.0]) == 2.0  # mean 1, deviation 1
    assert min_max_score(0.5, [0.0, 2.0]) == 0.25
    assert TRANSFORMS["standardise"][0](3.0, [0.0, 2.0]) == 2.0
    assert TRANSFORMS["tanh"][0](1.5, [1.0]) == math.tanh(0.5)
    assert TRANSFORMS["late-sigmoid"][0](3.0, [0.0]) == 0.5
    assert polynomial_score(1.0, [1.0]) == pytest.approx(0.5, abs=1e-9)


def test_the_sigmoid_does_not_overflow():
    assert [sigmoid(x) for x in (-1e308, 0.0, 1e308)] == [0.0, 0.5, 1.0]


def test_the_term_uses_at_most_the_given_number_of_references(episode: Maker):
    judged = episode(reward_model_score=1.0, reference_scores=[1.0, -99.0])
    assert make("par", most=1)(judged).reward == 0.5
    assert make("par", references=[0.0])(episode(reward_model_score=0.0)).reward == 0.5


def test_a_silent_model_makes_it_invalid_and_no_reference_is_refused(episode: Maker):
    assert not make("par")(episode(reward_model_score=None, reference_scores=[0.0])).valid
    assert not make("par")(episode(reward_model_score=1.0, reference_scores=[None])).valid
    with pytest.raises(InputError, match="at least one"):
        make("par", references=[])
    with pytest.raises(InputError, match="finite"):
        make("par", references=[1.0, float("nan")])


def test_equal_references_centre_and_do_not_scale():
    # The mean of three times 0.1 is not 0.1 in floating point.
    assert TRANSFORMS["standardise"][0](1.1, [0.1] * 3) == pytest.approx(1.0)


def test_a_correct_answer_with_score_two_is_0_7311():
    assert shaped_rm(2.0, True) == pytest.approx(0.7311, abs=1e-4)


def test_score_zero_is_plus_or_minus_a_half():
    assert [shaped_rm(0.0, True), shaped_rm(0.0, False)] == [0.5, -0.5]


@pytest.mark.parametrize("score", [-30.0, -1.0, 0.0, 3.0, 30.0])
def test_right_is_in_zero_to_one_and_wrong_in_minus_one_to_zero(score: float):
    assert 0 < shaped_rm(score, True) < 1
    assert -1 < shaped_rm(score, False) < 0


def test_no_score_makes_a_failure_better_than_a_success(episode: Maker):
    reward = make("shaped-rm")
    worst, best = episode(True, reward_model_score=-1e300), episode(False, reward_model_score=1e300)
    assert reward(best).reward <= reward(worst).reward
    assert not reward(episode(reward_model_score=float("inf"))).valid


def test_values_at_the_reference_and_two_above():
    assert lsc(1.0, 1.0) == pytest.approx(-0.6931, abs=1e-4)
    assert lsc(3.0, 1.0) == pytest.approx(-0.1269, abs=1e-4)


def test_gains_diminish():
    values = [lsc(x / 2, 0.0) for x in range(-10, 11)]
    gains = [b - a for a, b in pairwise(values)]
    assert all(0 < later < earlier for earlier, later in pairwise(gains))


def test_balance_beats_excellence_in_one_respect():
    balanced, torn = conjunction([lsc(0, 0), lsc(0, 0)]), conjunction([lsc(-5, 0), lsc(5, 0)])
    assert balanced == pytest.approx(-1.386, abs=1e-3)
    assert torn == pytest.approx(-5.01, abs=0.01)


def test_extreme_scores_do_not_overflow():
    assert log_sigmoid(1e300) == 0.0
    assert log_sigmoid(-1e300) == -1e300


def test_the_reference_is_a_quantile_of_the_policys_scores():
    assert reference_quantile(range(101)) == pytest.approx(85.0)


def test_the_term_adds_up_all_models(episode: Maker):
    reward = make("lsc", scorers={"helpful": lambda _: 2.0, "safe": lambda _: 1.0}, references={"safe": 1.0})
    assert reward(episode()).reward == pytest.approx(-0.1269 - 0.6931, abs=1e-4)
    assert reward(episode(references={"helpful": 2.0})).reward == pytest.approx(-2 * 0.6931, abs=1e-3)


def test_one_silent_model_makes_it_invalid(episode: Maker):
    assert not make("lsc", scorers={"a": lambda _: 1.0, "b": lambda _: None})(episode()).valid


def test_an_unknown_reference_makes_it_invalid(episode: Maker):
    for unknown in (None, float("nan")):
        judged = episode(reward_model_score=1.0, references={"reward_model_score": unknown})
        assert not make("lsc")(judged).valid


@pytest.mark.parametrize(
    "wrong", [{"scorers": {}}, {"references": {"b": 1.0}}, {"references": {"reward_model_score": float("nan")}}]
)
def test_wrong_arguments_are_refused(wrong: dict[str, Any]):
    with pytest.raises(InputError):
        make("lsc", **wrong)


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


@pytest.mark.parametrize("dense", [-float("inf"), -1e300, -1e-9, 0.0, 1e-9, 5.0, float("inf")])
@pytest.mark.parametrize("success", [True, False])
def test_no_dense_value_moves_the_reward_by_more_than_a_tenth(episode: Maker, dense: float, success: bool):
    value = make("sign-scaled")(episode(success, dense_reward=dense)).reward
    assert value == success + 0.1 * ((dense > 0) - (dense < 0))


def test_failure_can_be_minus_one(episode: Maker):
    assert make("sign-scaled", failure=-1)(episode(False, dense_reward=3)).reward == -0.9


def test_a_program_without_an_answer_makes_it_invalid(episode: Maker):
    assert not make("sign-scaled", scorer=lambda _: float("nan"))(episode()).valid


def test_a_dense_part_that_could_outweigh_success_is_refused():
    with pytest.raises(InputError, match="scale"):
        make("sign-scaled", scale=0.6)
