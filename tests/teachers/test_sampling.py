"""Draws from distributions over a list."""

import numpy as np
import pytest
from palaestra.teachers.sampling import draw_without_replacement


def test_draws_in_turn_follow_the_weights_that_are_left():
    rng, firsts, seconds = np.random.default_rng(0), np.zeros(3), np.zeros(3)
    for _ in range(4000):
        (first, second), probs = draw_without_replacement(np.log([1.0, 2.0, 5.0]), 2, rng)
        weights = np.array([1.0, 2.0, 5.0])
        assert probs == pytest.approx([weights[first] / 8, weights[second] / (8 - weights[first])])
        firsts[first] += 1
        seconds[second] += first == 2
    assert firsts / 4000 == pytest.approx([1 / 8, 2 / 8, 5 / 8], abs=0.03)
    assert seconds / firsts[2] == pytest.approx([1 / 3, 2 / 3, 0], abs=0.04)


def test_weights_of_zero_come_last_and_have_no_probability():
    drawn, probs = draw_without_replacement(np.array([-np.inf, 0.0, -np.inf, 3.0]), 4, np.random.default_rng(0))
    assert set(drawn[:2]) == {1, 3}
    assert np.isnan(probs).tolist() == [False, False, True, True]
    assert probs[1] == 1


def test_weights_far_below_the_largest_still_have_an_order():
    drawn, probs = draw_without_replacement(np.array([-5000.0, 0.0, -9000.0]), 3, np.random.default_rng(0))
    assert drawn.tolist() == [1, 0, 2]
    assert probs[0] == 1
