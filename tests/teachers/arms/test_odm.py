"""Online data mixing (arXiv 2312.02406)."""

from __future__ import annotations

import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import Outcome, make


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def test_the_exploration_rate_of_odm():
    teacher = arms("odm", n=4)
    assert teacher.exploration(0) == 0.25
    assert teacher.exploration(100) == pytest.approx(math.sqrt(math.log(4) / 400))
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))


def test_one_batch_of_odm_averages_the_importance_weighted_reward_of_each_arm():
    teacher = arms("odm", n=2, payoff="return", alpha=0.9)
    proposals = teacher.propose(60)
    first = [p for p in proposals if p.task == 0][:2]
    teacher.observe([Outcome(p.id, 0, [r]) for p, r in zip(first, (1.0, 0.5))])
    assert teacher.estimates == pytest.approx([0.1 * 0.75 / 0.5, 0.0])
    assert teacher.t == 1
    teacher.t = 100
    now, before = teacher.exploration(100), teacher.exploration(99)
    weights = np.exp(before * teacher.estimates)
    assert teacher.distribution() == pytest.approx((1 - 2 * now) * weights / weights.sum() + now)
