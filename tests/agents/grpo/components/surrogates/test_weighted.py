"""Weighted against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.recipes.stages import SURROGATES
from palaestra.errors import InputError

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


def test_cispo_keeps_the_gradient_of_capped_tokens():
    s = at_ratio([8.0, 0.5, 8.0], [1, 1, -1])
    assert slope(SURROGATES["cispo"], s, cap=5.0) == pytest.approx([5, 0.5, -5])


def test_cispo_refuses_a_cap_that_is_meant_as_an_offset():
    # Trap 26: a cap of 0.2 would scale every gradient by 0.2.
    with pytest.raises(InputError, match=r"at least 1 \(about 5\), got 0.2"):
        SURROGATES["cispo"](at_ratio([1.0], 1.0), cap=0.2)


def test_topr_imitates_gains_and_truncates_losses():
    s = at_ratio([0.2, 3.0, 0.2, 3.0], [-1, -1, 1, 1])
    assert slope(SURROGATES["topr"], s, level="token") == pytest.approx([-0.2, -1, 1, 1])


def test_topr_takes_the_product_or_the_mean_of_an_episode():
    s = at_ratio([0.5, 0.5], -1.0)
    assert slope(SURROGATES["topr"], s) == pytest.approx([-0.25, -0.25])
    assert slope(SURROGATES["topr"], s, level="sequence_mean") == pytest.approx([-0.5, -0.5])


def test_one_sided_rec_with_importance_weights_is_the_clip_token_by_token():
    s = at_ratio([1.5, 1.1, 0.5, 1.5, 0.9, 0.5], [1, 1, 1, -1, -1, -1])
    assert slope(SURROGATES["rec"], s) == pytest.approx(slope(SURROGATES["clip"], s))


def test_ring_keeps_what_two_sided_drops():
    s = at_ratio([0.3, 0.5, 3.5, 1.0], [1, 1, -1, 1])
    assert slope(SURROGATES["rec"], s, clip="two_side", weight="none") == pytest.approx([0, 0, 0, 1])
    assert slope(SURROGATES["rec"], s, clip="ring", weight="none") == pytest.approx([1, 0, -1, 1])


def test_red_weighs_by_the_exponential_of_the_advantage():
    s = at_ratio([1.0, 1.0], [1, -1])
    assert slope(SURROGATES["rec"], s, clip="none", weight="advantage") == pytest.approx([math.e, -1 / math.e])


def test_asymre_is_a_shifted_baseline():
    s, lower = at_ratio([1.2, 0.7], [0.5, -0.5]), at_ratio([1.2, 0.7], [0.6, -0.4])
    assert slope(SURROGATES["asymre"], s, shift=0.1) == pytest.approx(slope(SURROGATES["reinforce"], lower))


def test_opmd_halves_the_policy_gradient_at_tau_one():
    assert slope(SURROGATES["opmd"], at_ratio([3.0], 1.0), tau=1.0) == pytest.approx([0.5])
