"""Guards read the means that a loss reported."""

from __future__ import annotations

import math

import pytest
from palaestra.agents.grpo.recipes.stages import GUARDS
from palaestra.errors import InputError


@pytest.mark.parametrize(
    ("guard", "statistic", "good", "bad", "params"),
    [
        ("max_kl", "approx_kl", 0.1, 0.11, {"limit": 0.1}),
        ("min_ess", "ess", 0.3, 0.29, {"share": 0.3}),
        ("max_clip_fraction", "clip_fraction", 0.3, 0.31, {"limit": 0.3}),
        ("at_most", "entropy", 2.0, 2.1, {"statistic": "entropy", "limit": 2.0}),
    ],
)
def test_an_update_is_applied_up_to_the_limit(guard, statistic, good, bad, params):
    assert GUARDS[guard]({statistic: good}, **params)
    assert not GUARDS[guard]({statistic: bad}, **params)
    assert not GUARDS[guard]({statistic: math.nan}, **params)


def test_an_update_is_applied_while_the_clip_takes_little_away():
    assert GUARDS["max_clip_bias"]({"clip_correction": 0.1, "raw_surrogate": 1.0}, limit=0.1)
    assert not GUARDS["max_clip_bias"]({"clip_correction": 0.1, "raw_surrogate": 0.9}, limit=0.1)
    assert not GUARDS["max_clip_bias"]({"clip_correction": 1.0, "raw_surrogate": 17.0})


def test_a_statistic_that_nothing_reports_is_named():
    with pytest.raises(
        InputError, match="'clip_fraction', which nothing in this recipe reports; there are approx_kl, ess"
    ):
        GUARDS["max_clip_fraction"]({"ess": 1.0, "approx_kl": 0.0})
