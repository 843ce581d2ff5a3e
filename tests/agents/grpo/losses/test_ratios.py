"""Surrogates of ratios against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.components.surrogates.adaptive import balanced_bounds
from palaestra.agents.grpo.recipes.stages import SURROGATES
from palaestra.errors import InputError

from .tokens import slope, tokens  # isort: skip

LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


# Clips ---------------------------------------------------------------------------------------------------------------


def test_clip_takes_the_pessimistic_side():
    s = at_ratio([1.5, 1.5, 0.5, 0.5], [1, -1, 1, -1])
    assert value("clip", s, low=0.2, high=0.28) == pytest.approx([1.28, -1.5, 0.5, -0.8])
    assert SURROGATES["clip"](s).stats["clip_fraction"] == (2, 4)


def test_clip_counts_only_trained_tokens():
    s = at_ratio([1.5, 1.5], [1, 1], weight=[1.0, 0.0])
    assert SURROGATES["clip"](s).stats["clip_fraction"] == (1, 1)


def test_dual_clip_bounds_what_a_failure_can_cost():
    s = at_ratio([5.0, 2.0, 5.0], [-1, -1, 1])
    assert value("dual_clip", s, worst=3.0) == pytest.approx([-3, -2, 1.2])
    assert slope(SURROGATES["dual_clip"], s) == pytest.approx([0, -2, 0])


def test_two_sided_caps_the_ratio_itself():
    s = at_ratio([5.0, 3.0, 5.0], [-1, -1, 1])
    assert value("two_sided", s, delta=4.0) == pytest.approx([-4, -3, 1.2])


def test_a_log_ratio_of_50_is_cut_before_the_exponential():
    s = tokens([0.0], [-50.0], -1.0)
    assert value("clip_preclipped", s) == pytest.approx([-1000])
    assert slope(SURROGATES["clip_preclipped"], s) == [0.0]


def test_the_window_moves_with_the_stale_ratio():
    # pi_k / mu = 1.5 and eps .2: q = pi / mu is clipped to [1.3, 1.7]
    mu = -2.0
    s = tokens([mu + LN(2.0), mu + LN(1.6), mu + LN(1.1)], mu + LN(1.5), [1, 1, -1], logp_mu=mu)
    assert value("moving_clip", s) == pytest.approx([1.7, 1.6, -1.3])
    assert slope(SURROGATES["moving_clip"], s) == pytest.approx([0, 1.6, 0])


def test_with_a_fresh_sampler_the_moving_window_is_the_clip():
    s = at_ratio([1.5, 0.5, 1.1], [1, -1, 1])
    assert value("moving_clip", s) == pytest.approx(value("clip", s))


def test_dcpo_gives_unlikely_tokens_more_room():
    # q = .5: upper (1 + sqrt 2.6) / 2 = 1.30623, lower .5 as 1 - .64 / .5 < 0; q = .9: lower (1 + sqrt(1 - .64/.9)) / 2
    s = at_ratio([1.9, 0.3], [1, -1], old=LN(0.5))
    assert value("dcpo", s) == pytest.approx([1.306226, -0.5], abs=1e-6)
    certain = at_ratio([0.3], -1.0, old=LN(0.9))
    assert value("dcpo", certain) == pytest.approx([-(1 + math.sqrt(1 - 0.64 / 0.9)) / 2])
    rare = tokens([-0.1], [-8.0], 1.0)
    assert value("dcpo", rare) == pytest.approx([10.0])


def test_aspo_turns_the_ratio_of_gains_over():
    s = at_ratio([1.1, 0.25, 1.5, 2.0, 5.0, 0.5], [1, 1, 1, -1, -1, -1])
    assert slope(SURROGATES["aspo"], s, low=0.2, high=0.2, cap=3.0) == pytest.approx([1 / 1.1, 3, 0, -2, -3, 0])


def test_tr_grpo_weighs_by_probability():
    # steepness ln 3 / .5: sigmoid is 3/4 at p = .5 and 9/10 at p = 1; 2 (x - .25) = 1 and 1.3
    s = tokens([LN(0.5), 0.0, LN(1e-6)], None, 1.0)
    assert value("tr_grpo", s, steepness=2 * LN(3)) == pytest.approx([1.0, 1.3, 1.0])
    assert value("tr_grpo", s, steepness=2 * LN(3), factors=(0.0, 1.2)) == pytest.approx([1.0, 1.2, 0.5], abs=1e-5)


def test_lp_reg_has_no_lower_bound():
    s = at_ratio([0.1, 0.1, 12.0, 12.0], [1, -1, 1, -1])
    assert value("lp_reg", s) == pytest.approx([0.1, -0.1, 10, -10])
    assert slope(SURROGATES["lp_reg"], s) == pytest.approx([0.1, -0.1, 0, 0])


def bounds(s) -> tuple[float, float]:
    size = s.logp_old.exp() * s.advantage.abs()
    return balanced_bounds(s.log_ratio.detach().exp(), size, s.advantage, 0.4, (0.6, 0.9), (1.2, 3.0), 0.02, 0.05)


def test_bapo_raises_the_upper_bound_first():
    # Gains count .4 min(3, b_high), losses 1: a share of .4 takes b_high >= 1.67, which is 1.7 in steps of .05.
    s = at_ratio([3.0, 1.0], [0.4, -1])
    assert bounds(s) == pytest.approx((0.6, 1.7))
    assert value("bapo", s) == pytest.approx([0.68, -1.0])


def test_bapo_weighs_tokens_by_their_probability():
    # (q_gain .5, q_loss .25) gives gains .25 of .5; the other way round .125 of .625, which no bound mends.
    assert bounds(tokens([LN(0.5), LN(0.25)], None, [0.5, -1.0])) == pytest.approx((0.6, 1.2))
    assert bounds(tokens([LN(0.25), LN(0.5)], None, [0.5, -1.0])) == pytest.approx((0.9, 3.0))


def test_bapo_then_leaves_unlikely_failures_out():
    # No bound finds gains in this batch, so both bounds go to their ends.
    s = at_ratio([0.65, 0.95], [-1, -1])
    assert bounds(s) == pytest.approx((0.9, 3.0))
    assert slope(SURROGATES["bapo"], s) == pytest.approx([0, -0.95])


# Episodes ------------------------------------------------------------------------------------------------------------


def test_gspo_clips_the_geometric_mean():
    # ratios 2 and 1/2 have mean log 0: s = 1, nothing is clipped; 2 and 1 have s = sqrt 2, clipped
    s = at_ratio([2.0, 0.5, 2.0, 1.0], 1.0, lengths=[2, 2], group=[0, 0], outcome=[1, 1])
    assert value("gspo", s) == pytest.approx([1, 1, 1.0004, 1.0004])
    # d s / d log pi = s / 2 at each of the two tokens, counted at both
    assert slope(SURROGATES["gspo"], s) == pytest.approx([1, 1, 0, 0])


def test_gspo_leaves_tokens_without_weight_out_of_the_mean():
    s = at_ratio([2.0, 2.0, 8.0], 1.0, weight=[1.0, 1.0, 0.0])
    assert value("gspo", s, high=10.0)[:2] == pytest.approx([2, 2])


def test_gspo_token_has_the_episodes_ratio_and_the_tokens_gradient():
    s = at_ratio([2.0, 0.5], [1.0, -0.5])
    assert value("gspo_token", s) == pytest.approx([1, -0.5])
    assert slope(SURROGATES["gspo_token"], s) == pytest.approx([1, -0.5])


def test_gmpo_is_the_geometric_mean_of_clipped_ratios():
    # logs 1 and -1: with A > 0 the first is cut to .4, so the mean is -.3; with A < 0 the second, to -.4: mean .3
    gain = tokens([-1.0, -3.0], -2.0, 1.0)
    assert value("gmpo", gain) == pytest.approx([math.exp(-0.3)] * 2)
    assert slope(SURROGATES["gmpo"], gain) == pytest.approx([0, math.exp(-0.3)])
    assert value("gmpo", tokens([-1.0, -3.0], -2.0, -1.0)) == pytest.approx([-math.exp(0.3)] * 2)


def test_vespo_weighs_by_the_product_of_ratios():
    # W = 2 x .75 = 1.5: phi = e^3 1.5^2 e^-4.5 for gains, e^2 1.5^3 e^-3 for losses
    gain = at_ratio([2.0, 0.75], 1.0)
    assert slope(SURROGATES["vespo"], gain) == pytest.approx([1.5**2 * math.exp(-1.5)] * 2)
    assert slope(SURROGATES["vespo"], at_ratio([2.0, 0.75], -1.0)) == pytest.approx([-(1.5**3) * math.exp(-1)] * 2)


# Detached weights ----------------------------------------------------------------------------------------------------


def test_cispo_keeps_the_gradient_of_capped_tokens():
    s = at_ratio([8.0, 0.5, 8.0], [1, 1, -1])
    assert slope(SURROGATES["cispo"], s, cap=5.0) == pytest.approx([5, 0.5, -5])


def test_cispo_refuses_a_cap_that_is_meant_as_an_offset():
    # Trap 26: a cap of 0.2 would scale every gradient by 0.2.
    with pytest.raises(InputError, match=r"at least 1 \(about 5\), got 0.2"):
        SURROGATES["cispo"](at_ratio([1.0], 1.0), cap=0.2)


def test_sapo_fades_out():
    # 4 p (1 - p) r with p = sigmoid(tau (r - 1))
    s = at_ratio([1.0, 2.0, 2.0], [1, 1, -1])
    p, q = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-1.05))
    assert value("sapo", s) == pytest.approx([2, 4 * p, -4 / 1.05 * q])
    assert slope(SURROGATES["sapo"], s) == pytest.approx([1, 8 * p * (1 - p), -8 * q * (1 - q)])


def test_topr_imitates_gains_and_truncates_losses():
    s = at_ratio([0.2, 3.0, 0.2, 3.0], [-1, -1, 1, 1])
    assert slope(SURROGATES["topr"], s, level="token") == pytest.approx([-0.2, -1, 1, 1])


def test_topr_takes_the_product_or_the_mean_of_an_episode():
    s = at_ratio([0.5, 0.5], -1.0)
    assert slope(SURROGATES["topr"], s) == pytest.approx([-0.25, -0.25])
    assert slope(SURROGATES["topr"], s, level="sequence_mean") == pytest.approx([-0.5, -0.5])


@pytest.mark.parametrize(("gap", "kept"), [(0.14, 1.0), (0.16, 0.0)])
def test_dppo_drops_by_the_gap_of_probabilities(gap, kept):
    up, down = 0.3 + gap, 0.5 - gap
    s = tokens([LN(up), LN(up), LN(down), LN(down)], [LN(0.3), LN(0.3), LN(0.5), LN(0.5)], [1, -1, -1, 1])
    expected = [kept * up / 0.3, -up / 0.3, -kept * down / 0.5, down / 0.5]
    assert slope(SURROGATES["dppo_tv"], s) == pytest.approx(expected)
    assert slope(SURROGATES["dppo_tv"], s, form="ratio") == pytest.approx(expected)


def test_dppo_caps_the_weight_of_rare_tokens():
    s = tokens([LN(0.05)], [LN(0.001)], 1.0)
    assert slope(SURROGATES["dppo_tv"], s) == pytest.approx([20])
    assert slope(SURROGATES["dppo_tv"], s, form="ratio") == pytest.approx([50])


def test_dppo_kl_measures_the_binary_divergence():
    # KL((.5, .5) || (.7, .3)) = .5 ln(5/7) + .5 ln(5/3) = .08718
    s = tokens([LN(0.7)] * 2, LN(0.5), [1, -1])
    assert slope(SURROGATES["dppo_kl"], s, high=0.087) == pytest.approx([0, -1.4])
    assert slope(SURROGATES["dppo_kl"], s, high=0.088) == pytest.approx([1.4, -1.4])


def test_ipo_drops_moves_in_either_direction():
    s = tokens([LN(0.75)] * 2 + [LN(0.6)], LN(0.5), [1, -1, 1])
    assert value("ipo", s) == pytest.approx([0, 0, 1.2])


def test_rollout_is_drops_outside_the_band():
    assert value("rollout_is", at_ratio([0.4, 1.5, 2.5], [1, 1, -1])) == pytest.approx([0, 1.5, 0])


@pytest.mark.parametrize(
    ("name", "params", "words"),
    [
        ("clip", {"low": 1.5}, "low of clip"),
        ("two_sided", {"delta": 1.1}, "delta must exceed"),
        ("dual_clip", {"worst": 1.0}, "worst must exceed"),
        ("rec", {"clip": "onesided"}, "one_side"),
        ("topr", {"level": "turn"}, "level"),
        ("dppo_tv", {"form": "rato"}, "ratio"),
        ("rollout_is", {"low": 2.0}, "low of rollout_is"),
        ("rpg", {"divergence": "kl"}, "rkl"),
    ],
)
def test_wrong_parameters_are_refused(name, params, words):
    with pytest.raises(InputError, match=words):
        SURROGATES[name](at_ratio([1.0], 1.0), **params)
