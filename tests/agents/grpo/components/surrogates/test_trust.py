"""Trust against numbers worked out by hand."""

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


def test_sapo_fades_out():
    # 4 p (1 - p) r with p = sigmoid(tau (r - 1))
    s = at_ratio([1.0, 2.0, 2.0], [1, 1, -1])
    p, q = 1 / (1 + math.exp(-1)), 1 / (1 + math.exp(-1.05))
    assert value("sapo", s) == pytest.approx([2, 4 * p, -4 / 1.05 * q])
    assert slope(SURROGATES["sapo"], s) == pytest.approx([1, 8 * p * (1 - p), -8 * q * (1 - q)])


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
