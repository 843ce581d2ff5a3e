"""Regression against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
import torch
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


def test_dro_and_kimi_are_stationary_at_the_advantage_over_the_coefficient():
    s = tokens([-1.0], [-1.5], 0.5)  # log ratio .5
    assert value("dro", s, beta=1.0) == pytest.approx([-0.5 - 0.125])
    assert slope(SURROGATES["dro"], s, beta=1.0) == pytest.approx([0])
    assert slope(SURROGATES["kimi"], s, tau=0.2) == pytest.approx([0.4])


def test_kimis_paper_squares_the_ratio_of_the_whole_episode():
    s = tokens([-1.0, -1.0], [-1.5, -1.25], 1.0)
    # A (l1 + l2) - tau / 2 (.75)^2 at both tokens; its gradient counts twice
    assert value("kimi", s, tau=0.4) == pytest.approx([-2 - 0.2 * 0.5625] * 2)
    assert slope(SURROGATES["kimi"], s, tau=0.4) == pytest.approx([2 * (1 - 0.4 * 0.75)] * 2)


@pytest.mark.parametrize(
    ("divergence", "expected"),
    [("rkl", 2 - 2 * (LN(2) + 1)), ("urkl", 2 - 2 * LN(2)), ("fkl", 2 + 1), ("ufkl", 2 - 1)],
)
def test_rpg_gradients_of_table_1(divergence, expected):
    # r = 2, A = 1, beta = 1: w A - beta (w log w + w | w log w | -1 | w - 1)
    s = tokens([LN(0.4)], [LN(0.2)], 1.0)
    assert slope(SURROGATES["rpg"], s, divergence=divergence, beta=1.0) == pytest.approx([expected])


def test_sppo_fits_the_log_ratio_to_the_win_rate():
    # of three: the best wins (1 + 1 + .5) / 3 = 5/6, the two equal ones (.5 + .5) / 3 = 1/3
    s = tokens([-1.0] * 3, -1.5, 0.0, [1, 1, 1], group=[0, 0, 0], outcome=[1, 0, 0])
    assert value("sppo", s, eta=3.0) == pytest.approx([-((0.5 - 1) ** 2), -(1.0**2), -(1.0**2)])


def test_gvpo_starts_as_the_policy_gradient_of_the_group():
    s = pair(0.0, 0.0)
    assert slope(SURROGATES["gvpo"], s, beta=0.1) == pytest.approx([0.5, -0.5])


def test_gvpo_rests_where_log_ratios_are_rewards_over_beta():
    s = pair(5 + 0.7, -5 + 0.7)  # any constant of the group is free
    assert value("gvpo", s, beta=0.1) == pytest.approx([0, 0])
    assert slope(SURROGATES["gvpo"], s, beta=0.1) == pytest.approx([0, 0])


def test_prdp_is_zero_where_log_ratios_are_rewards_over_beta_plus_a_constant():
    assert value("prdp", pair(10.0, 0.0), beta=0.1) == pytest.approx([0, 0])
    assert value("prdp", pair(17.0, 7.0, (2.0, 1.0)), beta=0.1) == pytest.approx([0, 0])
    # (1 - .1 (2 - 0))^2
    assert value("prdp", pair(2.0, 0.0), beta=0.1) == pytest.approx([-0.64, -0.64])


def test_prdp_counts_pairs_without_a_winner_too():
    assert value("prdp", pair(2.0, 0.0, (1.0, 1.0)), beta=0.5) == pytest.approx([-1, -1])


def test_proximal_prdp_has_no_gradient_beyond_the_window():
    # s moved from 0 to 4, towards the goal of 10; within the window it is 1: the larger square is (1 - .1)^2
    s = pair(4.0, 0.0)
    assert value("prdp", s, beta=0.1, window=1.0) == pytest.approx([-0.81, -0.81])
    assert slope(SURROGATES["prdp"], s, beta=0.1, window=1.0)[0] == 0.0


def test_log_ratio_regression_rests_at_the_advantage_over_beta():
    s = tokens([-1.0], None, 0.5, logp_ref=-1.25)
    assert slope(SURROGATES["log_ratio_regression"], s, beta=2.0) == pytest.approx([0])


def test_log_ratio_regression_sums_over_a_turn():
    s = tokens([-1.0] * 3, None, [1.0, 1.0, 0.5], logp_ref=-1.5, turn=[4, 4, 5])
    # turn 4: sum of gaps 1 = A; turn 5: .5 = A; the episode: 1.5 against 5/6
    assert value("log_ratio_regression", s) == pytest.approx([0, 0, 0])
    assert value("log_ratio_regression", s, level="episode") == pytest.approx([-((1.5 - 2.5 / 3) ** 2)] * 3)
    assert value("log_ratio_regression", s, level="token") == pytest.approx([-0.25, -0.25, 0])


def test_flow_rl_is_balanced_at_the_tilted_reference():
    # log(pi / ref) = beta A + constant in the whole group: nothing is left to fit
    s = tokens([-2.0, -3.5], None, [0.1, -0.1], [1, 1], group=[0, 0], outcome=[1, 0], logp_ref=[-3.4, -1.9])
    assert value("flow_rl", s, beta=15.0) == pytest.approx([0, 0])
    # at the reference the errors are -+ 1.5
    start = tokens([-3.0, -3.0], None, [0.1, -0.1], [1, 1], group=[0, 0], outcome=[1, 0], logp_ref=-3.0)
    assert value("flow_rl", start, beta=15.0) == pytest.approx([-2.25, -2.25])
    assert slope(SURROGATES["flow_rl"], start, beta=15.0) == pytest.approx([3, -3])


def test_pacs_begins_at_the_logarithm_of_two():
    s = tokens([-1.0] * 3, None, 0.0, [1, 1, 1], group=[0] * 3, outcome=[1, 0, 0])
    # weights 3 / 2 and 3 / 4, which sum to 3
    assert value("pacs", s) == pytest.approx([-1.5 * LN(2), -0.75 * LN(2), -0.75 * LN(2)])
    # d loss / d psi = (1/2 - R) w; psi_i = q_i - mean of the two others
    by_psi = [0.5 * 1.5, -0.5 * 0.75, -0.5 * 0.75]
    expected = [by_psi[i] - (sum(by_psi) - by_psi[i]) / 2 for i in range(3)]
    assert slope(SURROGATES["pacs"], s) == pytest.approx(expected)


def test_pacs_does_not_see_a_shift_of_the_whole_group():
    lengths, group, outcome = [1, 1, 1], [0, 0, 0], [1, 0, 0]
    one = tokens([-1.0, -1.2, -0.9], -1.0, 0.0, lengths, group=group, outcome=outcome)
    other = tokens([-1.3, -1.5, -1.2], -1.0, 0.0, lengths, group=group, outcome=outcome)
    assert value("pacs", one) == pytest.approx(value("pacs", other))


def test_pacs_with_one_class_is_not_weighted():
    s = tokens([-1.0] * 2, None, 0.0, [1, 1], group=[0, 0], outcome=[1, 1])
    assert value("pacs", s) == pytest.approx([-LN(2)] * 2)


def test_the_kl_regularised_optimum_is_a_fixed_point_of_every_regression():
    # Two arms, pi0 = (.5, .5), rewards (1, 0), beta 1: pi* = pi0 e^r / Z = (.7311, .2689).
    best = torch.tensor([1.0, 0.0], dtype=torch.float64).softmax(0).log().tolist()
    s = tokens(best, LN(0.5), [0.5, -0.5], [1, 1], group=[0, 0], outcome=[1, 0], logp_ref=LN(0.5))
    for name, params in (("gvpo", {"beta": 1.0}), ("prdp", {"beta": 1.0}), ("flow_rl", {"beta": 1.0})):
        assert slope(SURROGATES[name], s, **params) == pytest.approx([0, 0], abs=1e-12)
