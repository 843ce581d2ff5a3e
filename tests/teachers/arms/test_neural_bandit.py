"""The neural bandit (arXiv 2310.02905): its gradients, its uncertainty in closed form, and what it finds."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import FiniteTasks, make
from palaestra.teachers.arms.neural_bandit import Network


def bandit(n=6, **options):
    return make("neural-bandit", gym.spaces.Discrete(n), **{"payoff": "return", "initial": 0, **options})


@pytest.mark.parametrize("hidden", [0, 5])
def test_gradients_are_those_of_finite_differences(hidden):
    rng = np.random.default_rng(0)
    network, x = Network(3, hidden, rng), rng.standard_normal((4, 3))
    if not hidden:
        network.theta = rng.standard_normal(3)
    gradients, theta = network.gradients(x), network.theta
    for i in range(len(theta)):
        network.theta = theta + 1e-6 * np.eye(len(theta))[i]
        above = network.values(x)
        network.theta = theta - 1e-6 * np.eye(len(theta))[i]
        assert gradients[:, i] == pytest.approx((above - network.values(x)) / 2e-6, abs=1e-6)
    network.theta = theta
    weights, per_parameter = rng.random(4), rng.random(len(theta))
    assert network.gradients(x, weights) == pytest.approx(weights @ gradients)
    assert network.weighted_norms(x, per_parameter) == pytest.approx(gradients**2 @ per_parameter)


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_before_data_the_variance_is_nu_times_the_squared_norm_of_the_gradient(covariance):
    teacher = bandit(hidden=4, covariance=covariance, nu=3.0, regularisation=0.2)
    g = teacher.network.gradients(teacher._x)
    assert teacher.predictions()[1] == pytest.approx(3.0 * (g**2).sum(1))


def test_a_linear_model_is_linucb():
    teacher = bandit(hidden=0, covariance="full", regularisation=0.5, nu=2.0)
    for arm in (0, 0, 3, 5):
        teacher.update(arm, 0.4)
    x = np.stack([np.linspace(-1, 1, 6), np.ones(6)], axis=1)
    u = 0.5 * np.eye(2) + sum(np.outer(x[arm], x[arm]) for arm in (0, 0, 3, 5))
    assert teacher.predictions()[1] == pytest.approx(0.5 * 2.0 * np.einsum("np,pq,nq->n", x, np.linalg.inv(u), x))


@pytest.mark.parametrize("covariance", ["diagonal", "full"])
def test_the_uncertainty_of_an_arm_never_grows_while_it_is_observed(covariance):
    teacher = bandit(hidden=3, covariance=covariance, refit=1000)
    variances = []
    for _ in range(20):
        variances.append(teacher.predictions()[1][2])
        teacher.update(2, 0.5)
    assert (np.diff(variances) < 0).all()


def test_within_a_batch_a_taken_arm_counts_as_if_observed():
    teacher = bandit(hidden=0, covariance="full", refit=1000)
    mean, variance = teacher.predictions()
    chosen = [p.task for p in teacher.propose(8)]
    assert set(chosen[:2]) == {0, 5}  # the two ends have the largest norms
    again = bandit(hidden=0, covariance="full", refit=1000)
    again.update(0, 0.0)
    assert again.predictions()[1][0] == pytest.approx(variance[0] / (1 + variance[0] / 0.1))
    assert len(set(chosen)) == 6
    assert mean.tolist() == [0.0] * 6


@pytest.mark.parametrize(("rule", "hidden"), [("ucb", 32), ("ts", 32), ("ucb", 0)])
def test_it_finds_the_best_of_many_arms_by_what_is_alike(rule, hidden):
    features = np.random.default_rng(0).random((400, 2))
    reward_of = np.clip(features[:, 0] * 0.9 + 0.05, 0, 1)
    tasks = FiniteTasks(list(range(400)), features=features)
    teacher = make("neural-bandit", tasks, payoff="return", rule=rule, hidden=hidden, nu=0.1, refit=8)
    for _ in range(240):
        task = teacher.sample()
        teacher.update(task, reward_of[task])
    assert np.mean([reward_of[p.task] for p in teacher.propose(20)]) > 0.8  # the mean over all arms is 0.5


def test_the_first_proposals_are_uniform():
    teacher = bandit(n=50, initial=40, hidden=0)
    tasks = [p.task for p in teacher.propose(30)]
    assert len(set(tasks)) > 15
    assert teacher._left == 10
    teacher.propose(30)
    assert teacher._left == 0


def test_the_authors_own_training_starts_anew_at_each_observation():
    options = {"refit": 1, "steps": 3, "warm": False, "hidden": 4}
    teacher = bandit(**options)
    start = teacher.network.theta.copy()
    for _ in range(4):
        teacher.update(1, 0.9)
    moved = np.abs(teacher.network.theta - start).max()
    assert 0 < moved <= 3 * teacher.rate * 1.01  # Adam moves no parameter by more than its rate a step
    warm = bandit(**{**options, "warm": True})
    for _ in range(4):
        warm.update(1, 0.9)
    assert np.abs(warm.network.theta - start).max() > moved


def test_a_saved_bandit_predicts_the_same_numbers():
    teacher, other = bandit(refit=5, memory=7), bandit(refit=5, memory=7, seed=4)
    for i in range(18):
        teacher.update(i % 6, i / 18)
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    for one in (teacher, other):
        for i in range(7):
            one.update(i % 4, 0.3)
    assert teacher.predictions()[0].tolist() == other.predictions()[0].tolist()
    assert teacher.predictions()[1].tolist() == other.predictions()[1].tolist()


def test_uncertainty_returns_where_evidence_fades():
    fading, lasting = bandit(hidden=0, gamma=0.8, refit=1000), bandit(hidden=0, refit=1000)
    for teacher in (fading, lasting):
        for _ in range(50):
            teacher.update(0, 0.5)
    assert fading.predictions()[1][0] == pytest.approx(0.1 * 2 / (0.1 + 1 / 0.2), rel=1e-3)
    assert lasting.predictions()[1][0] == pytest.approx(0.1 * 2 / 50.1)


@pytest.mark.parametrize(
    "options",
    [
        {"rule": "greedy"},
        {"hidden": -1},
        {"covariance": "none"},
        {"covariance": "full", "hidden": 300},
        {"regularisation": 0.0},
        {"nu": math.inf},
        {"refit": 0},
        {"memory": 0},
        {"gamma": 0.0},
        {"payoff": "loss"},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        bandit(**options)
