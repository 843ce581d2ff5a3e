"""The moving window of ALP-GMM's authors."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.teachers import Outcome, as_cube, make
from palaestra.teachers.boxes.ladder import from_hardness

CHAINS = ParamSpace([IntAxis("length", 1, 5), FloatAxis("time", 1.0, 3.0, harder="down")])


def observe(teacher, ret, count=1, level=None, n=1):
    """Outcomes with ``n`` equal returns of ``count`` tasks, of one level only where it is given."""
    for _ in range(10_000):
        if not count:
            return
        p = teacher.propose(1)[0]
        if level is None or p.task == level:
            teacher.observe([Outcome(p.id, p.task, [ret] * n)])
            count -= 1
    raise AssertionError(f"level {level} is never proposed")


def test_the_window_moves_by_one_step_after_fifty_good_tasks():
    space = gym.spaces.Box(np.zeros(2), np.array([3.0, 6.0]), dtype=np.float64)
    teacher = make("oracle-window", space, return_range=(-150.0, 350.0), step=(1 / 30, -1 / 30))
    assert teacher.low == pytest.approx([0.0, 5 / 6])
    observe(teacher, 231.0, 49)
    assert teacher.low == pytest.approx([0.0, 5 / 6])
    observe(teacher, 231.0, 1)
    assert teacher.low * [3, 6] == pytest.approx([0.1, 4.8])  # the authors' +0.1 of height and -0.2 of spacing
    observe(teacher, 230.0, 50)
    assert teacher.low * [3, 6] == pytest.approx([0.1, 4.8])  # 230 is not above 230


def test_the_window_stays_inside_and_tasks_stay_in_the_window():
    teacher = make("oracle-window", CHAINS, step=0.3, tasks=1)
    observe(teacher, 1.0, 20)
    assert teacher.low == pytest.approx(from_hardness(as_cube(CHAINS), np.array([5 / 6, 1.0])))
    points = np.array([CHAINS.to_unit(p.task) for p in teacher.propose(200)])
    assert (points[:, 0] == 1.0).all()
    assert (points[:, 1] <= 1 / 6).all()
    assert teacher.propose(1)[0].prob == pytest.approx(36.0)
