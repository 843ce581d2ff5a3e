"""Bands against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.recipes.stages import CORRECTORS

from ..tokens import tokens  # isort: skip


LN = math.log


def of(name: str, c: list[float], lengths=None, advantage=1.0, params=None, **others) -> list[float]:
    """The factors of tokens with these weights c = pi_old / mu."""
    s = tokens([-1.0] * len(c), -1.0, advantage, lengths, logp_mu=[-1 - LN(x) for x in c], **others)
    return CORRECTORS[name](s, **(params or {})).tolist()


def test_the_geometric_band_judges_the_mean():
    # 2 and 1/2 have mean 1; 1.04 and 1 have mean 1.0198
    assert of("geometric_band", [2.0, 0.5, 1.04, 1.0], [2, 2]) == [1, 1, 0, 0]


def test_the_product_band_judges_the_product():
    assert of("product_band", [1.5, 1.2, 1.5, 1.5], [2, 2]) == [1, 1, 0, 0]


def test_one_impossible_token_drops_the_episode():
    assert of("outlier_token", [1.0, 5e-5, 1.0], [2, 1]) == [0, 0, 1]
    assert of("outlier_token", [1.0, 5e-5], weight=[1.0, 0.0]) == [1, 1]


def test_opsm_drops_failures_that_the_policy_has_left():
    # mean of log mu - log pi: .15, .05 and .15
    s = tokens([-1.2, -1.1, -1.05, -1.2, -1.1], -1.0, [-1, -1, -1, 1, 1], [2, 1, 2], logp_mu=-1.0)
    assert CORRECTORS["opsm"](s, delta=0.1).tolist() == [0, 0, 1, 1, 1]


def test_m2po_drops_the_largest_until_the_mean_square_fits():
    # squares .01, .04, .09, .25: means .01, .025, .0467, so two are kept at .04 and three at .05
    s = tokens([-1.1, -0.8, -1.3, -0.5], -1.0, [-1, 1, -1, 1], logp_mu=-1.0)
    assert CORRECTORS["m2po"](s, limit=0.04).tolist() == [1, 1, 0, 0]
    assert CORRECTORS["m2po"](s, limit=0.05).tolist() == [1, 1, 1, 0]
    assert CORRECTORS["m2po"](s, limit=0.005).tolist() == [0, 0, 0, 0]


def test_m2po_spares_tokens_that_move_back():
    # as in a clip: those that moved against their advantage, or have none, are neither dropped nor counted
    s = tokens([-1.5, -0.5, -0.5, -1.1, -1.3], -1.0, [1, -1, 0, -1, -1], logp_mu=-1.0)
    assert CORRECTORS["m2po"](s, limit=0.04).tolist() == [1, 1, 1, 1, 0]


def test_m2po_treats_equal_tokens_alike():
    s = tokens([-1.1, -1.3, -0.7], -1.0, [-1, -1, 1], logp_mu=-1.0)
    kept = CORRECTORS["m2po"](s, limit=0.05 + 1e-9).tolist()
    assert kept == [1, 0, 0]


def test_two_correctors_multiply():
    parts = {"first": CORRECTORS["geometric_band"], "second": CORRECTORS["truncated_is"]}
    assert of("both", [4.0, 0.25, 1.5], [2, 1], params=parts) == pytest.approx([2.0, 0.25, 0.0])
