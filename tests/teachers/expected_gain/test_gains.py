"""The gain of a place and its standard error."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.expected_gain.gains import add_return, ages_within, fit_gains, sum_moments

SCALES = np.array([8.0, 32.0, 128.0, 512.0])


def one_place(returns, scales=SCALES):
    returns = np.asarray(returns, dtype=float)
    ages = np.arange(len(returns))[::-1].astype(float)
    return fit_gains(sum_moments(ages, returns, np.zeros(len(returns), int), 1, scales))


def test_the_gain_of_a_straight_rise_is_its_step_at_any_scale():
    for scale in SCALES:
        found = one_place(0.2 + 0.01 * np.arange(60), scales=np.array([scale]))
        assert found.gain[0] == pytest.approx(0.01, rel=1e-6)


def test_a_fall_is_a_negative_gain_of_the_same_value():
    up, down = one_place(0.01 * np.arange(60)), one_place(0.6 - 0.01 * np.arange(60))
    assert down.gain[0] == pytest.approx(-up.gain[0])
    assert down.value[0] == pytest.approx(up.value[0])


def test_two_places_fitted_by_hand():
    # Without decay, ages 2, 1, 0 and returns 0, 1, 1: slope 1/2, residuals 1/6 -1/3 1/6, so 1/6 in squares; the flat
    # place has none. Pooled over 6 outcomes 1/36; divided by n - 1 = 2 and by 4 times the spread 2.
    ages, places = np.array([2.0, 1.0, 0.0] * 2), np.repeat([0, 1], 3)
    returns = np.array([0.0, 1.0, 1.0, 0.5, 0.5, 0.5])
    found = fit_gains(sum_moments(ages, returns, places, 2, np.array([1e9])))
    assert found.gain == pytest.approx([0.5, 0.0], abs=1e-6)
    assert found.variance == pytest.approx([(1 / 6 + 1 / 36) / 16, (1 / 36) / 16], rel=1e-6)
    assert found.level == pytest.approx([2 / 3, 0.5])


def test_adding_one_at_a_time_equals_the_sums_over_all():
    rng = np.random.default_rng(0)
    places, returns = rng.integers(3, size=200), rng.random(200)
    sums = np.zeros((4, 6, 3))
    for place, ret in zip(places, returns):
        add_return(sums, int(place), float(ret), np.exp(-1 / SCALES))
    assert sums == pytest.approx(sum_moments(ages_within(places, 3), returns, places, 3, SCALES))


def test_ages_count_the_later_outcomes_of_the_same_place():
    assert ages_within(np.array([0, 1, 0, 0, 1]), 2).tolist() == [2, 1, 1, 0, 0]


def test_the_stated_error_is_that_of_the_slope_on_a_long_history():
    rng = np.random.default_rng(1)
    found = [one_place(rng.normal(0.5, 0.1, 200), scales=np.array([16.0])) for _ in range(400)]
    stated = np.sqrt(np.mean([f.variance[0] for f in found]))
    assert stated == pytest.approx(np.std([f.gain[0] for f in found]), rel=0.15)


def test_a_place_that_has_come_to_a_standstill_is_seen_at_a_short_scale():
    returns = np.r_[np.linspace(0, 1, 100), np.ones(60)]
    assert abs(one_place(returns).gain[0]) < 1e-4
    assert one_place(returns, scales=SCALES[-1:]).gain[0] > 0.003  # the long scale alone is late


def test_a_coin_flip_loses_its_value_by_being_tried():
    rng = np.random.default_rng(2)
    flips = (rng.random(2000) < 0.5).astype(float)
    values = [one_place(flips[:n]).value[0] for n in (10, 40, 160, 2000)]
    assert values == sorted(values, reverse=True)
    assert values[2] < values[0] / 300
    assert values[3] < 1e-3**2


def test_equal_returns_have_no_value_however_they_are_rounded():
    assert one_place(np.full(300, 0.1)).value[0] == 0.0


def test_noise_alone_proves_no_gain():
    rng = np.random.default_rng(3)
    proven = [one_place((rng.random(300) < 0.4).astype(float)).proven[0] for _ in range(200)]
    assert np.mean(np.array(proven) > 0) < 0.02
    assert one_place(0.01 * np.arange(60)).proven[0] == pytest.approx(0.01, rel=0.05)
