from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

import pytest
from palaestra.errors import InputError
from palaestra.rewards import Episode, make
from palaestra.rewards.terms.par import TRANSFORMS, clipped_score, min_max_score, par, polynomial_score, sigmoid

Maker = Callable[..., Episode]


def test_par_is_a_half_at_the_reference_and_symmetric_about_it():
    assert par(2.0, [2.0]) == 0.5
    assert par(3.0, [2.0]) == pytest.approx(0.7311, abs=1e-4)
    assert par(1.0, [2.0]) == pytest.approx(0.2689, abs=1e-4)
    assert par(2.7, [2.0]) + par(1.3, [2.0]) == pytest.approx(1.0)


def test_par_is_steepest_at_the_reference_with_slope_a_quarter_of_k():
    slopes = [(par(x + 1e-4, [0.0], k=2.0) - par(x - 1e-4, [0.0], k=2.0)) / 2e-4 for x in (-1.0, 0.0, 1.0)]
    assert max(slopes) == slopes[1] == pytest.approx(0.5, abs=1e-6)


def test_par_averages_over_references():
    assert par(0.0, [1.0, -1.0]) == pytest.approx(0.5)


@pytest.mark.parametrize("name", list(TRANSFORMS))
def test_every_transform_is_monotone_and_within_its_bounds(name: str):
    function, (low, high) = TRANSFORMS[name]
    values = [function(x / 4, [-1.0, 0.5, 2.0]) for x in range(-80, 81)]
    if name != "polynomial":  # a fitted polynomial may bend back at its ends: the method's own weakness
        assert all(b >= a for a, b in pairwise(values))
    assert low <= min(values) <= max(values) <= high


def test_the_alternatives_by_hand():
    assert clipped_score(9.0, [0.0, 2.0]) == 2.0  # mean 1, deviation 1
    assert min_max_score(0.5, [0.0, 2.0]) == 0.25
    assert TRANSFORMS["standardise"][0](3.0, [0.0, 2.0]) == 2.0
    assert TRANSFORMS["tanh"][0](1.5, [1.0]) == math.tanh(0.5)
    assert TRANSFORMS["late-sigmoid"][0](3.0, [0.0]) == 0.5
    assert polynomial_score(1.0, [1.0]) == pytest.approx(0.5, abs=1e-9)


def test_the_sigmoid_does_not_overflow():
    assert [sigmoid(x) for x in (-1e308, 0.0, 1e308)] == [0.0, 0.5, 1.0]


def test_the_term_uses_at_most_the_given_number_of_references(episode: Maker):
    judged = episode(reward_model_score=1.0, reference_scores=[1.0, -99.0])
    assert make("par", most=1)(judged).reward == 0.5
    assert make("par", references=[0.0])(episode(reward_model_score=0.0)).reward == 0.5


def test_a_silent_model_makes_it_invalid_and_no_reference_is_refused(episode: Maker):
    assert not make("par")(episode(reward_model_score=None, reference_scores=[0.0])).valid
    assert not make("par")(episode(reward_model_score=1.0, reference_scores=[None])).valid
    with pytest.raises(InputError, match="at least one"):
        make("par", references=[])
    with pytest.raises(InputError, match="finite"):
        make("par", references=[1.0, float("nan")])


def test_equal_references_centre_and_do_not_scale():
    # The mean of three times 0.1 is not 0.1 in floating point.
    assert TRANSFORMS["standardise"][0](1.1, [0.1] * 3) == pytest.approx(1.0)
