"""Blocks of one arm."""

from __future__ import annotations

from itertools import groupby

import gymnasium as gym
from palaestra.teachers import make


def test_an_arm_stays_for_its_block_and_the_next_is_uniform():
    teacher = make("blocks", gym.spaces.Discrete(3), tasks=4, seed=1)
    arms = [proposal.task for _ in range(100) for proposal in teacher.propose(6)]
    assert all(len(set(arms[place : place + 4])) == 1 for place in range(0, 600, 4))
    drawn = arms[::4]
    assert all(33 <= drawn.count(arm) <= 67 for arm in range(3))
    assert max(len(list(block)) for _, block in groupby(drawn)) > 1
    assert teacher.distribution()[drawn[-1]] in (1.0, 1 / 3)
