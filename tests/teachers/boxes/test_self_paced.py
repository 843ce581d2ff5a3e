"""SPDL: closed forms of its optimisation, the trust region, and a student that is led to the target."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers import make
from palaestra.teachers.boxes.self_paced import (
    Gaussian,
    ReturnRegression,
    best_within,
    kl_divergence,
    move_by_threshold,
    move_by_weight,
)

LINE = gym.spaces.Box(0.0, 1.0, (1,), dtype=np.float64)
SQUARE = gym.spaces.Box(0.0, 1.0, (2,), dtype=np.float64)
TINY = 1e-3


def gaussian(mean, std):
    return Gaussian(np.array(mean, float), np.log(np.array(std, float)))


def quadratic(centre, curvature):
    """E[-curvature (x - centre)^2], which is known exactly."""

    def value(p):
        away, variance = p.mean - centre, np.exp(2 * p.log_std)
        return (
            float(-curvature * (away**2 + variance).sum()),
            -2 * curvature * away,
            -2 * curvature * variance,
        )

    return value


def slopes(functional, p, epsilon=1e-6):
    """Numerical gradients by mean and log_std."""
    rows = []
    for name in ("mean", "log_std"):
        row = []
        for i in range(len(p.mean)):
            ends = []
            for sign in (1, -1):
                parts = {"mean": p.mean.copy(), "log_std": p.log_std.copy()}
                parts[name][i] += sign * epsilon
                ends.append(functional(Gaussian(**parts))[0])
            row.append((ends[0] - ends[1]) / (2 * epsilon))
        rows.append(row)
    return rows


def test_divergence_by_hand_and_its_gradients():
    p, q = gaussian([0.3], [0.1]), gaussian([0.5], [0.2])
    assert kl_divergence(p, q)[0] == pytest.approx(math.log(2) + (0.01 + 0.04) / 0.08 - 0.5)
    p, q = gaussian([0.3, 0.6], [0.1, 0.4]), gaussian([0.5, 0.2], [0.2, 0.3])
    assert np.array(kl_divergence(p, q)[1:]) == pytest.approx(
        np.array(slopes(lambda g: kl_divergence(g, q), p)), abs=1e-5
    )
    assert kl_divergence(p, p)[0] == 0.0


def test_the_expected_value_is_that_of_a_sample_and_its_gradients_are_right():
    rng = np.random.default_rng(0)
    tasks = rng.random((60, 2))
    model = ReturnRegression(tasks, np.sin(3 * tasks[:, 0]) * tasks[:, 1])
    p = gaussian([0.4, 0.6], [0.15, 0.1])
    sample = p.mean + p.std * rng.standard_normal((20_000, 2))
    assert model.expectation(p)[0] == pytest.approx(model(sample).mean(), abs=5e-3)
    assert np.array(model.expectation(p)[1:]) == pytest.approx(np.array(slopes(model.expectation, p)), abs=1e-6)


def test_values_far_from_all_tasks_are_the_mean_and_near_them_the_returns():
    model = ReturnRegression(np.array([[0.0], [1.0]]), np.array([0.2, 0.8]), length=0.05, ridge=1e-9)
    assert model(np.array([[0.0], [0.5], [1.0]])) == pytest.approx([0.2, 0.5, 0.8], abs=1e-6)


def test_the_weighted_optimum_of_a_quadratic_value_is_the_closed_form():
    # Maximise -c ((m - a)^2 + s^2) - alpha KL(N(m, s^2) || N(t, T^2)):
    # 1/s^2 = 1/T^2 + 2c/alpha, m = (2 c a + alpha t / T^2) / (2 c + alpha / T^2).
    a, c, t, width, alpha = 0.2, 3.0, 0.8, 0.25, 0.7
    old = gaussian([0.5], [0.3])
    p = move_by_weight(quadratic(a, c), gaussian([t], [width]), old, 50.0, alpha, TINY)
    assert p.mean[0] == pytest.approx((2 * c * a + alpha * t / width**2) / (2 * c + alpha / width**2), abs=1e-4)
    assert p.std[0] == pytest.approx((1 / width**2 + 2 * c / alpha) ** -0.5, rel=1e-3)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.8])
def test_the_trust_region_is_filled_to_a_thousandth_where_the_optimum_lies_beyond(epsilon):
    old, target = gaussian([0.2, 0.3], [0.1, 0.05]), gaussian([0.9, 0.7], [0.2, 0.1])
    for p in (
        move_by_weight(quadratic(0.9, 1.0), target, old, epsilon, 0.0, TINY),
        move_by_weight(quadratic(0.9, 1.0), target, old, epsilon, 10.0, TINY),
        move_by_threshold(quadratic(0.5, 1.0), target, old, epsilon, -9.0, TINY),
    ):
        assert kl_divergence(p, old)[0] == pytest.approx(epsilon, abs=1e-3)


@pytest.mark.parametrize("epsilon", [0.3, 1.5])
def test_a_constrained_optimum_satisfies_the_conditions_of_karush_kuhn_and_tucker(epsilon):
    old, target = gaussian([0.3, 0.3], [0.1, 0.2]), gaussian([0.6, 0.3], [0.9, 0.3])

    def nearness(p):
        value, by_mean, by_log_std = kl_divergence(p, target)
        return -value, -by_mean, -by_log_std

    p = best_within(nearness, old, epsilon, old, TINY)
    pull, push = (np.concatenate(f(p)[1:]) for f in (nearness, lambda g: kl_divergence(g, old)))
    assert pull @ push / np.linalg.norm(pull) / np.linalg.norm(push) == pytest.approx(1.0, abs=1e-5)


def test_steps_arrive_at_the_target_and_stay():
    target, p = gaussian([0.7, 0.2], [0.25, 0.1]), gaussian([0.1, 0.9], [0.1, 0.1])
    kls = [kl_divergence(p, target)[0]]
    for _ in range(60):
        p = move_by_weight(quadratic(0.0, 0.0), target, p, 0.1, 1.0, TINY)
        kls.append(kl_divergence(p, target)[0])
    assert (np.diff(kls) <= 1e-6).all()
    assert p.mean == pytest.approx(target.mean, abs=1e-2)
    assert p.std == pytest.approx(target.std, rel=5e-2)


def test_the_threshold_bounds_mean_squared_plus_variance_for_a_value_of_minus_x_squared():
    target, p, delta = gaussian([0.9], [0.1]), gaussian([0.05], [0.05]), -0.09
    for _ in range(40):
        p = move_by_threshold(quadratic(0.0, 1.0), target, p, 0.2, delta, TINY)
        assert p.mean[0] ** 2 + p.std[0] ** 2 <= -delta + 1e-9
    assert p.mean[0] ** 2 + p.std[0] ** 2 == pytest.approx(-delta, abs=2e-3)
    # Of what is allowed, nothing is nearer to the target.
    angles = np.linspace(0.01, 1.56, 400)
    circle = [kl_divergence(gaussian([0.3 * math.cos(a)], [0.3 * math.sin(a)]), target)[0] for a in angles]
    assert kl_divergence(p, target)[0] == pytest.approx(min(circle), rel=5e-3)


def test_below_the_threshold_the_value_is_raised():
    target, p = gaussian([0.9], [0.1]), gaussian([0.6], [0.1])
    moved = move_by_threshold(quadratic(0.0, 1.0), target, p, 0.1, -0.09, TINY)
    assert moved.mean[0] < 0.57
    assert quadratic(0.0, 1.0)(moved)[0] > quadratic(0.0, 1.0)(p)[0] + 0.04


def test_standard_deviations_stay_above_their_least():
    p = gaussian([0.3], [0.1])
    for _ in range(30):
        p = best_within(quadratic(0.3, 5.0), p, 0.5, p, 0.04)
    assert p.std[0] == pytest.approx(0.04, rel=1e-6)


def led(name, episodes, able, **options):
    """Kullback-Leibler divergence to the target after ``episodes`` of a student that earns ``able(x, i)``."""
    teacher = make(name, SQUARE, **options)
    for i in range(episodes):
        task = teacher.sample()
        teacher.update(task, able(task, i))
    return teacher


@pytest.mark.parametrize("name", ["spdl", "spdl-delta"])
def test_a_student_who_can_do_everything_is_led_to_the_target(name):
    teacher = led(name, 4000, lambda x, i: 1.0)
    assert teacher.metrics()["kl_to_target"] < 0.2


def test_a_student_who_can_do_nothing_hard_is_kept_where_half_succeeds():
    teacher = led("spdl-delta", 1000, lambda x, i: float(x.max() < 0.4))
    successes = [float(p.task.max() < 0.4) for p in teacher.propose(2000)]
    assert 0.35 < np.mean(successes) < 0.75
    assert teacher.metrics()["kl_to_target"] > 0.5


def test_no_return_gives_no_weight_to_the_target():
    teacher = led("spdl", 500, lambda x, i: 0.0)
    assert teacher.current.mean == pytest.approx([0.1, 0.1], abs=1e-6)
    assert led("spdl", 500, lambda x, i: 1.0, offset=10).current.mean == pytest.approx([0.1, 0.1], abs=1e-6)


def test_a_value_estimator_takes_the_place_of_returns():
    asked = []

    def estimator(tasks):
        asked.append(len(tasks))
        return [10.0 * float(task[0]) for task in tasks]

    teacher = make("spdl", LINE, value_estimator=estimator, return_range=(0.0, 10.0), zeta=1e-6, memory=80)
    for _ in range(300):
        teacher.update(teacher.sample(), 0.0)
    assert asked == [50, 80, 80, 80, 80, 80]
    assert teacher.current.mean[0] > 0.3
    short = make("spdl", LINE, value_estimator=lambda tasks: [1.0], update_rate=2)
    short.update(np.ones(1), 0.0)
    with pytest.raises(InputError, match="give one each"):
        short.update(np.ones(1), 0.0)


def test_stated_densities_are_those_of_the_draws():
    teacher = make("spdl", SQUARE, initial=(0.1, (0.1, 0.3)))
    proposals = teacher.propose(5000)
    inside = [p for p in proposals if p.task.max() < 0.4]
    # The mean of 1 / density over draws from a set is its area.
    assert sum(1 / p.prob for p in inside) / 5000 == pytest.approx(0.16, abs=0.02)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "beta"},
        {"zeta": 0.0},
        {"delta": 2.0},
        {"max_kl": 0.0},
        {"update_rate": 0},
        {"initial": (1.5, 0.1)},
        {"target": (0.5, 0.0)},
        {"target": ((0.1, 0.1, 0.1), 0.1)},
        {"least_std": -1.0},
        {"memory": 1},
    ],
)
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InputError, match=next(iter(options))):
        make("spdl", SQUARE, **options)
