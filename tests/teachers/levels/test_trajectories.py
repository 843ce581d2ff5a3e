"""Measures of a learner on a trajectory, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.levels import trajectories
from palaestra.teachers.levels.scores import LEVEL_SCORES
from palaestra.teachers.levels.trajectories import (
    estimate_advantages,
    negative_advantages,
    td_errors,
    trajectory_extras,
)

REWARDS, VALUES, DONES = [0.0, 1.0], [0.5, 0.8, 9.0], [False, True]  # the 9 lies past the end and must not count


def test_td_errors_and_advantages_by_hand():
    assert td_errors(REWARDS, VALUES, DONES, 0.9) == pytest.approx([0.22, 0.2])
    assert estimate_advantages(REWARDS, VALUES, DONES, 0.9, 0.5) == pytest.approx([0.22 + 0.45 * 0.2, 0.2])
    assert estimate_advantages([0.0, 0.0], [0.5, 0.5, 1.0], [False, False], 1.0, 1.0) == pytest.approx([0.5, 0.5])


def test_advantages_with_lambda_one_are_returns_minus_values_and_stop_at_the_end_of_an_episode():
    rng = np.random.default_rng(0)
    rewards, values = rng.normal(size=6), rng.normal(size=7)
    dones = np.array([0, 0, 1, 0, 0, 1], dtype=bool)
    returns = np.concatenate([np.cumsum(rewards[2::-1])[::-1], np.cumsum(rewards[:2:-1])[::-1]])
    assert estimate_advantages(rewards, values, dones, 1.0, 1.0) == pytest.approx(returns - values[:-1])


def test_every_measurement_by_hand():
    got = trajectory_extras([0.0, 0.0, 1.0], [0.9, 0.2, 0.4, 0.0], [0, 0, 1], 1.0, 0.0)
    # With lambda 0 the advantages are the TD errors -0.7, 0.2, 0.6.
    assert got["value_l1"] == got["one_step_td"] == pytest.approx(0.5)
    assert got["positive_value_loss"] == pytest.approx(0.8 / 3)
    assert got["signed_value_loss"] == pytest.approx(0.1 / 3)
    assert got["mean_value"] == pytest.approx(0.5)
    assert got["negative_advantage"] == pytest.approx(0.7)


@pytest.mark.parametrize(("gamma", "lam"), [(1.0, 1.0), (0.9, 0.95), (0.5, 0.0)])
def test_an_exact_value_function_leaves_nothing(gamma, lam):
    rewards = np.random.default_rng(1).normal(size=8)
    values = np.zeros(9)
    for t in range(7, -1, -1):
        values[t] = rewards[t] + gamma * values[t + 1]
    got = trajectory_extras(rewards, values, [0] * 7 + [1], gamma, lam)
    for name in ("value_l1", "positive_value_loss", "signed_value_loss", "one_step_td", "negative_advantage"):
        assert got[name] == pytest.approx(0.0, abs=1e-12)


def test_negative_advantages_forget_a_surplus_on_the_way():
    # TD errors +0.3, -0.5, 0: from the start the surplus does not make up for the loss that follows.
    values = [0.2, 0.5, 0.0, 0.0]
    assert td_errors([0, 0, 0], values, [0, 0, 1], 1.0) == pytest.approx([0.3, -0.5, 0.0])
    assert negative_advantages([0, 0, 0], values, [0, 0, 1], 1.0, 1.0) == pytest.approx([-0.5, -0.5, 0.0])
    assert estimate_advantages([0, 0, 0], values, [0, 0, 1], 1.0, 1.0) == pytest.approx([-0.2, -0.5, 0.0])


def test_negative_advantages_equal_the_weighted_sum_written_out():
    rng = np.random.default_rng(2)
    rewards, values, gamma, lam = rng.normal(size=7), rng.normal(size=8), 0.9, 0.7
    dones = [0, 0, 0, 1, 0, 0, 0]  # the second episode is cut off and leans on the last value
    deltas = td_errors(rewards, values, dones, gamma)
    for t in range(7):
        end, running, total = (3 if t <= 3 else 6), 0.0, 0.0
        for n in range(end - t + 1):
            running = min(0.0, running + gamma**n * deltas[t + n])
            total += (lam**n if t + n == end else (1 - lam) * lam**n) * running
        assert negative_advantages(rewards, values, dones, gamma, lam)[t] == pytest.approx(total)


def test_what_a_policy_is_unsure_of():
    uniform, certain, between = [[0.25] * 4], [[1.0, 0.0, 0.0, 0.0]], [[0.5, 0.3, 0.2]]
    assert trajectories.normalised_entropy(uniform) == pytest.approx(1.0)
    assert trajectories.normalised_entropy(certain) == 0.0
    assert trajectories.normalised_entropy([[0.5, 0.5, 0.0, 0.0]]) == pytest.approx(math.log(2) / math.log(4))
    assert trajectories.mean_least_confidence(between) == pytest.approx(0.5)
    assert trajectories.mean_margin(between) == pytest.approx(0.2)
    assert trajectories.mean_margin(uniform + certain) == pytest.approx(0.5)


def test_lengths_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="T \\+ 1"):
        td_errors([1.0], [1.0], [True], 1.0)


def test_every_extra_that_a_policy_score_needs_is_measured_here():
    got = trajectory_extras(REWARDS, VALUES, DONES, 0.9, 0.95, [[0.5, 0.5], [1.0, 0.0]])
    needed = {extra for name, score in LEVEL_SCORES.items() if name != "traced" for extra in score.needs}
    assert needed == {"policy_entropy", "least_confidence", "min_margin"}
    assert needed <= set(got)
