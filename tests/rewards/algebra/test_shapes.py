from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from palaestra.rewards.algebra import (
    Clip,
    GeometricMean,
    Saturate,
    Sum,
)

from .conftest import Read, episode, reward_of  # isort: skip


def test_a_clip_cuts_both_ends():
    clip = Clip(Read("x"), -1, 1)
    assert [reward_of(clip, x=x) for x in (-3.0, 0.5, 3.0)] == [-1.0, 0.5, 1.0]
    assert clip.bounds == (-1.0, 1.0)


def test_a_clip_of_several_terms_shows_its_correction():
    verdict = Clip(Sum(a=Read("x"), b=Read("y")))(episode(x=1.0, y=2.0))
    assert dict(verdict.terms) == {"a": 1.0, "b": 2.0, "clip": -2.0}


@given(st.floats(-5, 20), st.floats(-5, 20))
def test_saturation_keeps_the_order_and_stays_below_its_ceiling(x: float, y: float):
    bend = Saturate(Read("x"), level=0.5, room=0.5)
    low, high = sorted((x, y))
    assert reward_of(bend, x=low) <= reward_of(bend, x=high) <= 1.0


def test_saturation_changes_nothing_up_to_its_level_and_halves_the_slope_at_ln_2():
    bend = Saturate(Read("x"), level=0.5, room=0.5)
    assert reward_of(bend, x=0.5) == 0.5
    assert reward_of(bend, x=0.5 + 0.5 * math.log(2)) == pytest.approx(0.75)


def test_the_geometric_mean_of_16_and_25_is_20_and_any_zero_is_zero():
    mean = GeometricMean(a=Read("x", low=0), b=Read("y", low=0))
    assert reward_of(mean, x=16.0, y=25.0) == pytest.approx(20.0)
    assert reward_of(mean, x=0.0, y=25.0) == 0.0


def test_weights_of_a_geometric_mean_are_exponents():
    mean = GeometricMean(weights={"a": 3.0}, a=Read("x", low=0), b=Read("y", low=0))
    assert reward_of(mean, x=16.0, y=1.0) == pytest.approx(8.0)
