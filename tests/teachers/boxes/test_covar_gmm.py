"""Covar-GMM: the value of a component is its covariance of time and return."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import make
from palaestra.teachers.boxes.gaussian_mixture import GaussianMixture

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)


def two_components(first, second):
    """A mixture over (task, time, return) at tasks 0.2 and 0.8, with the given covariances of time and return."""
    covariances = np.tile(np.diag([1e-4, 0.1, 0.1]), (2, 1, 1))
    for covariance, value in zip(covariances, (first, second)):
        covariance[1, 2] = covariance[2, 1] = value
    return GaussianMixture(np.array([0.5, 0.5]), np.array([[0.2, 0.5, 0.5], [0.8, 0.5, 0.5]]), covariances)


@pytest.mark.parametrize(("absolute", "expected"), [(False, [1.0, 0.0]), (True, [0.25, 0.75])])
def test_falling_returns_count_only_where_asked(absolute, expected):
    teacher = make("covar-gmm", LINE, absolute=absolute)
    teacher._set_mixture(two_components(0.01, -0.03))
    assert teacher.sampler.weights == pytest.approx(expected)


def test_a_pure_cluster_with_rising_return_has_the_utility_of_a_twelfth_of_its_slope():
    # Cov(t, a t) = a / 12 for uniform t.
    teacher = make("covar-gmm", LINE, components=(1,))
    for i in range(250):
        teacher.update(np.array([0.5]), 0.6 * i / 250)
    assert teacher._utility(teacher.mixture) == pytest.approx([0.6 / 12], rel=1e-3)


def test_all_tasks_come_from_the_half_in_which_the_return_rises():
    teacher = make("covar-gmm", LINE, components=(2, 3), random_share=0.0)
    for p, i in zip(teacher.propose(250), range(250)):
        teacher.update(p.task, i / 250 if p.task[0] < 0.5 else 0.2)
    assert np.mean([p.task[0] < 0.5 for p in teacher.propose(500)]) > 0.9


def test_no_covariance_anywhere_makes_the_choice_uniform():
    teacher = make("covar-gmm", LINE)
    teacher._set_mixture(two_components(0.0, -0.1))
    assert teacher.sampler.weights == pytest.approx([0.5, 0.5])


def test_the_toy_student_is_taught_far_better_than_at_random(mastered):
    # 13 % after 5,000 episodes in the reference; random 0.
    assert 0.07 < mastered("covar-gmm", 5000) < 0.25
