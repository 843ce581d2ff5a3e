"""Interference between tasks (SELF, arXiv 2510.02230)."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.teachers.interference import measure_interference


class Bernoulli:
    """Tasks solved with sigmoid(x . theta), theta shared; an update follows the gradient of log P(success)."""

    def __init__(self, features, rate=1e-3):
        self.x, self.theta, self.rate = np.array(features, dtype=float), np.array([0.3, -0.2]), rate

    def log_success(self):
        return -np.log1p(np.exp(-self.x @ self.theta))

    def gradients(self):
        return self.x / (1 + np.exp(self.x @ self.theta))[:, None]

    def train(self, task):
        self.theta = self.theta + self.rate * self.gradients()[task]

    def get_state(self):
        return self.theta.copy()

    def set_state(self, state):
        self.theta = state.copy()


def test_interference_is_the_product_of_gradients_to_first_order():
    student = Bernoulli([[1.0, 0.0], [-0.5, 1.0], [2.0, 0.5]])
    expected = student.rate * student.gradients() @ student.gradients().T
    theta = student.theta.copy()
    found = measure_interference(student)
    assert found.changes == pytest.approx(expected, rel=2e-3)
    assert (np.sign(found.changes) == np.sign(expected)).all()
    assert (student.theta == theta).all()


def test_two_tasks_that_pull_apart_lose_what_the_other_gains():
    found = measure_interference(Bernoulli([[1.0, 0.0], [-1.0, 0.0]]))
    assert found.own > 0 > found.others
    assert found.negative == 1.0
    assert found.lost == pytest.approx(-found.others)


def test_a_student_without_an_update_loses_nothing():
    student = Bernoulli([[1.0, 0.0], [-1.0, 0.0]], rate=0.0)
    found = measure_interference(student)
    assert (found.changes == 0).all()
    assert (found.negative, found.lost) == (0.0, 0.0)


def test_a_single_task_interferes_with_nothing():
    found = measure_interference(Bernoulli([[1.0, 1.0]]))
    assert (found.others, found.negative, found.lost) == (0.0, 0.0, 0.0)
    assert found.own > 0
