"""Adaptive against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.components.surrogates.adaptive import balanced_bounds
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


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
