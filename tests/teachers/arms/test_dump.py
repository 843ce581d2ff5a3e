"""DUMP (arXiv 2504.09710)."""

from __future__ import annotations

import json
import math

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import make

HALF = [1.0, 0.0] * 4


def arms(name, n=2, **options):
    return make(name, gym.spaces.Discrete(n), **options)


def resume(teacher, other):
    other.load_state_dict(json.loads(json.dumps(teacher.state_dict())))
    return other


def test_bonuses_of_99_and_0_rollouts_are_0_3035_and_3_0349():
    teacher = arms("dump")
    teacher.visits[:] = [99, 0]
    assert teacher.bonuses() == pytest.approx([0.3035, 3.0349], abs=5e-5)
    assert teacher.distribution() == pytest.approx([0.0, 1.0], abs=1e-9)


def test_equal_counts_and_levels_are_uniform_and_levels_count_by_a_tenth():
    teacher = arms("dump", n=4)
    assert teacher.distribution() == pytest.approx(np.full(4, 0.25))
    teacher.visits[:], teacher.levels[:] = 50, [0.2, 0.1, 0.1, 0.1]
    p = teacher.distribution()
    assert p[0] / p[1] == pytest.approx(math.e)


def test_of_400_advantages_the_last_300_remain():
    teacher = arms("dump")
    for _ in range(25):
        teacher.update(0, [0.5] * 8)  # 200 advantages of 0
    for _ in range(25):
        teacher.update(0, HALF)  # and 200 of 1
    assert teacher.levels[0] == pytest.approx(200 / 300, abs=1e-5)
    assert teacher.visits.tolist() == [400, 0]
    assert resume(teacher, arms("dump")).levels[0] == teacher.levels[0]


def test_groups_may_be_counted_instead_of_rollouts():
    teacher = arms("dump", counts="groups", group=2)
    teacher.update(0, HALF)
    for ret in (1.0, 0.0, 1.0):
        teacher.update(1, ret)
    assert teacher.visits.tolist() == [1, 1]
