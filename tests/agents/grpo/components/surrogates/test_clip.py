"""Clip against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.components.surrogates.clip import clipped_surrogate, moving_clip
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def at_ratio(ratios: list[float], advantage, **others):
    """Tokens with these ratios, of a policy that gives each of them probability ``p`` (e^-2 by default)."""
    old = others.pop("old", -2.0)
    return tokens([old + LN(r) for r in ratios], [old] * len(ratios), advantage, **others)


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


def test_a_fresh_row_in_the_moving_window_is_plain_clipping():
    import torch

    logp, old = torch.tensor([-0.5, -1.5, -1.0]), torch.tensor([-1.0, -1.0, -1.0])
    advantage = torch.tensor([1.0, -1.0, 2.0])
    moving, _ = moving_clip(logp, old, old, advantage)
    assert torch.equal(moving, clipped_surrogate(logp, old, advantage)[0])
