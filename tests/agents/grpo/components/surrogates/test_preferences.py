"""Preferences against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.batch.trajectory import Origin
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def pair(first: float, second: float, outcomes=(1.0, 0.0), **others):
    """Two episodes of one group, of one token each, with these log-ratios to the anchor and to the reference."""
    return tokens(
        [first - 3, second - 3],
        -3.0,
        [0.5, -0.5],
        [1, 1],
        group=[0, 0],
        outcome=list(outcomes),
        logp_ref=-3.0,
        **others,
    )


def test_dpo_of_equal_ratios_is_the_logarithm_of_two():
    assert value("dpo", pair(0.0, 0.0)) == pytest.approx([-LN(2)] * 2)


def test_dpo_of_swapped_outcomes_has_the_opposite_gradient():
    # beta sigmoid(-beta gap), and each side's value appears at both episodes
    up, down = slope(SURROGATES["dpo"], pair(0.0, 0.0), beta=0.1), slope(SURROGATES["dpo"], pair(0.0, 0.0, (0.0, 1.0)))
    assert up == pytest.approx([0.1, -0.1])
    assert down == pytest.approx([-0.1, 0.1])


def test_a_lead_of_the_strength_of_a_pair_is_worth_the_logarithm_of_two():
    # Outcomes of 0.75 and 0.25 are a strength of 0.5; beta (s_w - s_l) = 0.1 x 10.
    assert value("dpo", pair(6.0, -4.0, (0.75, 0.25)), beta=0.1, offset=2.0) == pytest.approx([-LN(2)] * 2)
    assert value("dpo", pair(6.0, -4.0, (0.75, 0.25)), beta=0.1) == pytest.approx([-LN(1 + math.exp(-1))] * 2)


def test_without_its_shift_kto_compares_each_reply_with_the_reference():
    s = pair(6.0, -2.0)
    shifted = value("kto", s, beta=0.5)
    # z = 0.5 (6 - 2) / 2 = 1
    assert shifted == pytest.approx([1 / (1 + math.exp(-2)), 1 / (1 + math.exp(-2))])
    assert value("kto", s, beta=0.5, shift=False) == pytest.approx([1 / (1 + math.exp(-3)), 1 / (1 + math.exp(-1))])


def test_dpo_compares_whole_episodes():
    s = tokens([-1.0, -1.0, -2.0], None, 0.0, [2, 1], group=[0, 0], outcome=[1, 0], logp_ref=[-2.0, -2.0, -1.0])
    # s_w = 2, s_l = -1
    assert value("dpo", s, beta=0.5) == pytest.approx([-LN(1 + math.exp(-1.5))] * 3)


def test_length_normalised_dpo_does_not_change_when_all_tokens_are_doubled():
    once = tokens([-1.0, -3.0, -2.0], None, 0.0, [2, 1], group=[0, 0], outcome=[1, 0], logp_ref=[-2.0, -2.5, -1.0])
    doubled = [-1.0, -1.0, -3.0, -3.0, -2.0, -2.0]
    reference = [-2.0, -2.0, -2.5, -2.5, -1.0, -1.0]
    twice = tokens(doubled, None, 0.0, [4, 2], group=[0, 0], outcome=[1, 0], logp_ref=reference)
    # s_w = (1 - 0.5) / 2, s_l = -1
    expected = -LN(1 + math.exp(-0.4 * 1.25))
    assert value("dpo", once, beta=0.4, normalised=True) == pytest.approx([expected] * 3)
    assert value("dpo", twice, beta=0.4, normalised=True) == pytest.approx([expected] * 6)
    assert value("dpo", twice, beta=0.4)[0] != pytest.approx(value("dpo", once, beta=0.4)[0])


def test_t_reg_without_contrast_is_dpo_and_with_it_rewards_tokens_of_both_sides():
    made = {"lengths": [2, 1], "group": [0, 0], "outcome": [1, 0], "logp_ref": [-2.0, -2.0, -1.0]}
    plain = tokens([-1.0, -1.0, -2.0], None, 0.0, **made)
    assert value("t_reg", plain, beta=0.5) == pytest.approx(value("dpo", plain, beta=0.5))
    contrast = tokens([-1.0, -1.0, -2.0], None, [0.25, 0.0, -0.25], **made)
    # s_w = 1, s_l = -0.5: w = sigmoid(-1.5); R_w = 0.5 x 0.25 x -1, R_l = 0.5 x -0.25 x -2
    added = 0.5 / (1 + math.exp(1.5)) * (-0.125 + 0.25)
    assert value("t_reg", contrast, beta=0.5, alpha=0.5) == pytest.approx([-LN(1 + math.exp(-1.5)) + added] * 3)
    more, less = slope(SURROGATES["t_reg"], contrast, alpha=0.5), slope(SURROGATES["dpo"], contrast)
    # alpha beta w A_t of each of the three tokens, with the weight w held fixed (s_w - s_l = 0.3)
    factor = 0.5 * 0.1 / (1 + math.exp(0.3))
    expected = [3 * factor * one for one in (0.25, 0.0, -0.25)]
    assert [a - b for a, b in zip(more, less)] == pytest.approx(expected)


def test_dpo_averages_over_the_pairs_of_a_group():
    s = tokens([-3.0, -2.0, -3.0], -3.0, 0.0, [1, 1, 1], group=[0] * 3, outcome=[1, 0, 0], logp_ref=-3.0)
    expected = -(LN(1 + math.exp(1)) + LN(2)) / 2
    assert value("dpo", s, beta=1.0) == pytest.approx([expected] * 3)


def test_preferences_stay_within_groups():
    s = tokens([-3.0] * 4, -3.0, 0.0, [1] * 4, group=[0, 0, 1, 1], outcome=[1, 1, 0, 0], logp_ref=-3.0)
    assert value("dpo", s) == pytest.approx([0] * 4)


def test_an_episode_without_trained_tokens_is_in_no_pair():
    s = pair(0.0, 0.0, weight=[1.0, 0.0])
    assert slope(SURROGATES["dpo"], s) == [0.0, 0.0]


def test_ipo_fits_a_fixed_margin():
    assert value("ipo_pairs", pair(5.0, 0.0), beta=0.1) == pytest.approx([0, 0])
    assert value("ipo_pairs", pair(1.0, 0.0), beta=0.1) == pytest.approx([-16, -16])


def test_kto_measures_against_the_batchs_divergence():
    # s = (2, 0), z = 1: sigmoid(1) for the desirable, sigmoid(1) for the other
    gate = 1 / (1 + math.exp(-1))
    assert value("kto", pair(2.0, 0.0), beta=1.0, undesirable=0.5) == pytest.approx([gate, 0.5 * gate])
    # a negative divergence counts as none
    assert value("kto", pair(-2.0, 0.0), beta=1.0) == pytest.approx([1 / (1 + math.exp(2)), 0.5])


def test_rrhf_has_no_ranking_loss_in_the_right_order():
    assert value("rrhf", pair(1.0, 0.0), likelihood=0.0) == pytest.approx([0, 0])
    assert value("rrhf", pair(0.0, 0.3), likelihood=0.0) == pytest.approx([-0.3, -0.3])


def test_rrhf_imitates_the_best():
    assert value("rrhf", pair(1.0, 0.0)) == pytest.approx([-2, -2])
    # two best ones share: NLL 2 and 3
    assert value("rrhf", pair(1.0, 0.0, (1.0, 1.0))) == pytest.approx([-2.5, -2.5])


def test_rrhf_ranks_by_the_mean_over_tokens():
    s = tokens([-1.0, -1.0, -1.2], None, 0.0, [2, 1], group=[0, 0], outcome=[1, 0])
    assert value("rrhf", s, likelihood=0.0) == pytest.approx([0] * 3)


def test_hinge_rank_at_the_reference_is_the_margin():
    s = pair(0.0, 0.0, origin=[int(Origin.TEACHER), 0])
    assert value("hinge_rank", s, margin=0.001) == pytest.approx([-0.001] * 2)
    assert slope(SURROGATES["hinge_rank"], s) == pytest.approx([2, -2])


def test_hinge_rank_stops_beyond_the_margin():
    assert slope(SURROGATES["hinge_rank"], pair(0.01, 0.0), expert="outcome") == [0.0, 0.0]
    assert value("hinge_rank", pair(0.0, 0.5), expert="outcome") == pytest.approx([-0.501] * 2)


def test_hinge_rank_without_an_expert_is_nothing():
    assert value("hinge_rank", pair(0.0, 0.5)) == [0.0, 0.0]
