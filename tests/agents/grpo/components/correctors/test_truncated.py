"""Truncated against numbers worked out by hand."""

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


def test_truncation_by_token_and_by_episode():
    assert of("importance", [0.5, 3.0]) == pytest.approx([0.5, 3.0])
    assert of("truncated_is", [0.5, 3.0]) == pytest.approx([0.5, 2.0])
    assert of("truncated_is", [0.5, 3.0, 4.0], [2, 1], params={"level": "sequence"}) == pytest.approx([1.5, 1.5, 2.0])


def test_no_row_is_dropped_for_its_length():
    # Trap 7: 200 tokens of c = 1.05 have a product of e^9.8; by token the factor stays 1.05, and so does their mean.
    long = [1.05] * 200
    assert of("truncated_is", long) == pytest.approx(long)
    assert of("geometric_band", long, params={"low": 0.9, "high": 1.1}) == [1.0] * 200
    assert of("product_band", long) == [0.0] * 200


def test_masking_by_token_and_by_episode():
    assert of("masked_is", [0.5, 3.0]) == pytest.approx([0.5, 0])
    assert of("masked_is", [1.5, 3.0, 1.2], [2, 1], params={"cap": 3.0, "level": "sequence"}) == pytest.approx(
        [0, 0, 1.2]
    )


def test_icepop_drops_on_both_sides():
    assert of("icepop", [0.4, 0.6, 4.0, 6.0]) == pytest.approx([0, 0.6, 4.0, 0])


def test_normalised_weights_have_mean_one_over_trained_tokens():
    factors = of("normalised_is", [0.5, 1.5, 4.0], weight=[1.0, 1.0, 0.0])
    assert factors[:2] == pytest.approx([0.5, 1.5])
    assert of("normalised_is", [0.5, 4.0]) == pytest.approx([0.4, 1.6])
