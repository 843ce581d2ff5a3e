"""Boxes of hundreds of axes, in which volumes are smaller than a float can be."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.teachers import Outcome, make

WIDE = gym.spaces.Box(0.0, 1.0, (600,), dtype=np.float64)


@pytest.mark.parametrize(
    "name", ["adr", "complexity-minimax", "horizon", "oracle-window", "reasoning-gym", "riac", "rlve", "spdl"]
)
def test_proposals_come_without_a_density_where_it_is_too_large(name):
    teacher = make(name, WIDE)
    for _ in range(2):
        proposals = teacher.propose(4)
        assert all(WIDE.contains(p.task) for p in proposals)
        teacher.observe([Outcome(p.id, p.task, [0.5]) for p in proposals])
    assert np.isnan([p.prob for p in proposals]).all()
