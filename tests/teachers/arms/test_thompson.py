"""Thompson sampling (arXiv 2510.26374, 2305.10718)."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import Outcome, make

HALF = [1.0, 0.0] * 4


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def test_thompson_aims_at_the_arm_solved_half_of_the_time():
    teacher, rng = arms("thompson", n=3), np.random.default_rng(0)
    for _ in range(30):
        proposals = teacher.propose(8)
        chance = [0.02, 0.5, 0.98]
        teacher.observe([Outcome(p.id, p.task, (rng.random(8) < chance[p.task]).astype(float)) for p in proposals])
    assert np.mean([p.task == 1 for p in teacher.propose(300)]) > 0.9


def test_thompson_draws_each_arm_as_often_as_its_posterior_wins():
    teacher, rng = arms("thompson", n=2, seed=1), np.random.default_rng(0)
    teacher.rates.alpha[:], teacher.rates.beta[:] = [5.0, 2.0], [5.0, 8.0]
    draws = np.abs(rng.beta([5.0, 2.0], [5.0, 8.0], size=(100_000, 2)) - 0.5)
    wins = np.mean(draws[:, 0] < draws[:, 1])
    assert np.mean([p.task == 0 for p in teacher.propose(4000)]) == pytest.approx(wins, abs=0.03)


def test_decay_bounds_the_evidence_a_posterior_holds():
    teacher = arms("thompson", decay=0.75)
    for _ in range(200):
        teacher.update(0, HALF)
    assert teacher.rates.alpha[0] + teacher.rates.beta[0] == pytest.approx(2 + 8 / 0.25)


def test_many_arms_share_posterior_draws_and_a_batch_repeats_none_within_one():
    teacher = arms("thompson-progress", n=5000)
    assert len({p.task for p in teacher.propose(64)}) == 64
    assert len(arms("thompson-progress", n=2).propose(9)) == 9


def test_progress_posterior_in_numbers_and_the_return_of_uncertainty():
    teacher = arms("thompson-progress", payoff="return", gamma=0.5, scale=0.2)
    teacher.update(0, 1.0)
    teacher.update(0, 0.5)
    assert teacher.counts.tolist() == [1.5, 0.0]
    assert teacher.sums.tolist() == [1.0, 0.0]
    for _ in range(20):
        teacher.update(1, 0.5)
    assert teacher.counts[0] < 1e-5
    draws = teacher._scores(20_000)
    assert draws.std(0) == pytest.approx([0.2, 0.2 / math.sqrt(teacher.counts[1] + 1)], rel=0.03)
