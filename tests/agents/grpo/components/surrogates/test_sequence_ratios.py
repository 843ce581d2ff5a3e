"""Sequence against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


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
