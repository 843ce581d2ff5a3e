"""Covariance against numbers worked out by hand."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.components.surrogates.covariance import covariance
from palaestra.agents.grpo.recipes.stages import SURROGATES

from ..tokens import slope, tokens  # isort: skip


LN = math.log


def value(name: str, scored, **params) -> list[float]:
    return SURROGATES[name](scored, **params).value.tolist()


def test_clip_cov_leaves_out_a_token_of_the_band():
    # means 0 and -2; cov = 2, 2, -1, -1, -1, -1 -> the first two are eligible, one of them is left out
    s = tokens([-1.0, -3.0, -1.0, -3.0, -3.0, -1.0], None, [2, -2, -1, 1, 1, -1])
    got = slope(SURROGATES["clip_cov"], s, share=0.2)
    assert sorted(map(abs, got)) == pytest.approx([0, 1, 1, 1, 1, 2])
    assert slope(SURROGATES["clip_cov"], s, share=0.4) == pytest.approx([0, 0, -1, 1, 1, -1])
    assert slope(SURROGATES["clip_cov"], s, smallest=2.5) == pytest.approx([2, -2, -1, 1, 1, -1])


def test_clip_cov_never_touches_a_token_without_weight():
    s = tokens([-1.0, -3.0, -1.0, -3.0], None, [2, -2, -1, 1], weight=[0.0, 1.0, 1.0, 1.0])
    dropped, trained = SURROGATES["clip_cov"](s, smallest=-10, largest=10, share=1.0).stats["cov_dropped"]
    assert (dropped, trained) == (3, 3)


def test_clip_cov_passes_over_what_the_clip_has_stopped_already():
    # around the means 0 and -2, cov = 1, .5, -.5, 2; the first, a gain at ratio 2, is clipped already
    s = tokens([-1.0, -1.5, -1.5, -4.0], [-1.0 - LN(2), -1.5, -1.5, -4.0], [1, 1, -1, -1])
    stats = SURROGATES["clip_cov"](s, low=0.2, high=0.2, share=1.0, smallest=0.4, largest=5.0).stats
    assert stats["cov_dropped"] == (2, 4)


def test_the_means_of_the_covariance_are_over_trained_tokens():
    # without the last token: means 0 and -2, so cov = 1, 1 and both are eligible
    s = tokens([-1.0, -3.0, -9.0], None, [1, -1, 7], weight=[1.0, 1.0, 0.0])
    assert covariance(s.logp, s.advantage, s.trained)[:2].tolist() == pytest.approx([1.0, 1.0])


def test_kl_cov_holds_the_tokens_of_the_highest_covariance():
    # every token moved by .1; around the means 0 and -1.9, cov = 2, 1, -2, -1
    s = tokens([-0.9, -2.9, -0.9, -2.9], [-1.0, -3.0, -1.0, -3.0], [2, -1, -2, 1])
    plain = value("ratio", s)
    assert value("kl_cov", s, share=0.25) == pytest.approx([plain[0] - 0.1, *plain[1:]])
