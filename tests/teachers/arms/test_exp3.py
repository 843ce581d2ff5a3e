"""EXP3 and EXP3.S (arXiv 1704.03003)."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import Outcome, make
from palaestra.teachers.arms.exp3 import RewardRescaler


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def exp3s(**options):
    given = {"payoff": "return", "rescale": False, "eta": 0.1, "floor": 0.2}
    return arms("exp3.s", **{**given, **options})


def test_two_steps_of_exp3s_on_two_arms():
    teacher = exp3s()
    teacher.update(0, 1.0)  # alpha_1 = 1: each arm takes the other's weight; 1 / p = 2
    assert teacher.w[1] - teacher.w[0] == pytest.approx(0.2)
    teacher.update(0, 1.0)  # alpha_2 = 1/2: both arms get the mean of both weights
    assert teacher.w[1] - teacher.w[0] == pytest.approx(0.0)
    teacher.update(0, 1.0)  # alpha_3 = 1/3; from equal weights, p = 1/2
    mixed = math.log((2 / 3 * math.exp(0.2) + 1 / 3) / (2 / 3 + math.exp(0.2) / 3))
    assert teacher.w[0] - teacher.w[1] == pytest.approx(mixed)


def test_one_step_of_exp3s_from_unequal_weights():
    teacher = exp3s(sharing=0.25)
    teacher.w[:] = [0.3, -0.1]
    p0 = 0.8 / (1 + math.exp(-0.4)) + 0.1
    v0, v1 = math.exp(0.3 + 0.1 * 0.5 / p0), math.exp(-0.1)
    teacher.update(0, 0.5)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(math.log((0.75 * v0 + 0.25 * v1) / (0.75 * v1 + 0.25 * v0)))


def test_exp3_adds_the_importance_weighted_reward_and_shares_nothing():
    teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.2)
    teacher.update(0, 1.0)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(0.2)
    p0 = 0.8 / (1 + math.exp(-0.2)) + 0.1
    teacher.update(0, 0.5)
    assert teacher.w[0] - teacher.w[1] == pytest.approx(0.2 + 0.05 / p0)


def test_a_reward_is_divided_by_the_probability_at_the_draw_however_late_it_comes():
    teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.0)
    late = next(p for p in teacher.propose(50) if p.task == 0)
    teacher.w[:] = [0.0, -5.0]
    teacher.observe([Outcome(late.id, late.task, [1.0])])
    assert teacher.w[0] - teacher.w[1] == pytest.approx(5.0 + 0.1 / 0.5)


@pytest.mark.parametrize(("importance", "p"), [("mixed", 0.1), ("unmixed", None)])
def test_the_mixed_probability_bounds_the_weight_and_the_unmixed_does_not(importance, p):
    teacher = arms("exp3", payoff="return", rescale=False, eta=1e-3, floor=0.2, importance=importance)
    teacher.w[:] = [-8.0, 0.0]
    unmixed = 1 / (1 + math.exp(8.0))
    teacher.update(0, 1.0)
    expected = 1e-3 / (p + 0.8 * unmixed if p else unmixed)
    assert teacher.w[0] - teacher.w[1] + 8.0 == pytest.approx(expected)


def test_a_floor_of_1_is_uniform():
    teacher = exp3s(floor=1.0)
    teacher.w[:] = [3.0, -3.0]
    assert teacher.distribution().tolist() == [0.5, 0.5]


def test_constant_reward_leaves_exp3s_uniform():
    teacher = arms("exp3.s", n=4, payoff="return", eta=0.5)
    for _ in range(200):
        teacher.update(teacher.sample(), 0.7)
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))


def test_sharing_finds_the_arm_that_becomes_the_best_and_none_does_not():
    shares = {}
    for name, sharing in (("exp3.s", 0.01), ("exp3", 0.0)):
        teacher = arms(name, n=4, payoff="return", rescale=False, eta=0.2, floor=0.1, sharing=sharing)
        for t in range(1200):
            best = 0 if t < 900 else 3
            task = teacher.sample()
            teacher.update(task, float(task == best))
        shares[name] = teacher.distribution()[3]
    assert shares["exp3.s"] > 0.85
    assert shares["exp3"] < 0.1


def test_percentiles_of_the_reservoir_become_minus_1_and_1():
    rescaling, rng = RewardRescaler(1000), np.random.default_rng(0)
    assert rescaling(0.3, rng) == 0.0
    for value in range(101):
        rescaling(float(value), rng)
    rescaling.restore({"seen": 101, "sorted": list(range(101))})
    assert rescaling(50.0, rng) == pytest.approx(0.0, abs=0.02)
    assert [rescaling(x, rng) for x in (0.0, 10.0, 90.0)] == [-1.0, -1.0, 1.0]
    assert rescaling(65.0, rng) == pytest.approx(0.5, abs=0.05)


def test_the_reservoir_is_a_uniform_sample_of_all_rewards():
    kept = []
    for seed in range(40):
        rescaling, rng = RewardRescaler(50), np.random.default_rng(seed)
        for value in range(1000):
            rescaling(float(value), rng)
        assert len(rescaling.save()["sorted"]) == 50
        kept += rescaling.save()["sorted"]
    assert np.mean(kept) == pytest.approx(500, abs=25)
    assert np.mean(np.array(kept) < 200) == pytest.approx(0.2, abs=0.04)


def test_a_reward_may_be_divided_by_what_the_arm_costs():
    for cost, gain in ((None, 0.2), (4.0, 0.05)):
        teacher = arms("exp3", payoff="return", rescale=False, eta=0.1, floor=0.0, per_cost=True)
        proposal = next(p for p in teacher.propose(50) if p.task == 0)
        teacher.observe([Outcome(proposal.id, 0, [1.0], cost=cost)])
        assert teacher.w[0] - teacher.w[1] == pytest.approx(gain)


def test_an_arm_whose_return_changes_is_preferred():
    teacher = arms("exp3.s", n=3, eta=0.1)
    for t in range(600):
        task = teacher.sample()
        teacher.update(task, [0.0, (t % 40) / 40, 1.0][task])
    assert teacher.distribution().argmax() == 1
