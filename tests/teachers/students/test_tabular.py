"""The tabular student: a corridor whose length is the task."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import InputError
from palaestra.teachers.students import TabularStudent


class Corridor(gym.Env):
    """Walk right ``length`` times; 1 at the end, 0 on the way; action 0 walks left."""

    def __init__(self):
        self.action_space = gym.spaces.Discrete(2)
        self.observation_space = gym.spaces.Dict(
            place=gym.spaces.Box(0, 10, (1,), dtype=np.float32), side=gym.spaces.Discrete(3), words=gym.spaces.Text(5)
        )
        self.param_space = gym.spaces.Discrete(5, start=1)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.length, self.at, self.steps = (options or {}).get("params", 1), 0, 0
        return self._observe(), {}

    def step(self, action):
        self.at, self.steps = max(self.at + (1 if action == 1 else -1), 0), self.steps + 1
        done = self.at == self.length
        return self._observe(), float(done), done, self.steps >= 40, {"is_success": done}

    def _observe(self):
        return {"place": np.array([self.at], dtype=np.float32), "side": self.length % 3, "words": "x"}


@pytest.mark.parametrize("algorithm", ["q", "sarsa"])
def test_a_tabular_student_learns_to_walk(algorithm):
    student = TabularStudent(Corridor(), algorithm=algorithm, discount=0.9, explore=0.2, seed=0)
    for _ in range(200):
        student.episode(3)
    assert student.success([3] * 20) == 1.0


def test_q_values_converge_to_the_discounted_return():
    student = TabularStudent(Corridor(), rate=0.5, discount=0.9, explore=0.5, seed=0)
    for _ in range(600):
        student.episode(3)
    start = next(iter(student.table.values()))
    assert start[1] == pytest.approx(0.9**2, abs=1e-3)  # the reward comes with the third step
    assert start[0] == pytest.approx(0.9**3, abs=1e-2)


def test_one_step_of_each_rule():
    # One step from the goal of length 1: target 1 for either rule, and a rate of 0.2 of it.
    for algorithm in ("q", "sarsa"):
        student = TabularStudent(Corridor(), algorithm=algorithm, rate=0.2, explore=0.0, seed=0)
        while student.episode(1)[0] == 0:
            pass
        assert max(values.max() for values in student.table.values()) == pytest.approx(0.2)


def test_evaluation_leaves_the_table_alone():
    student = TabularStudent(Corridor(), seed=0)
    student.success([2, 3])
    assert student.table == {}


def test_a_tabular_student_refuses_continuous_actions():
    env = Corridor()
    env.action_space = gym.spaces.Box(0.0, 1.0, (1,))
    with pytest.raises(InputError, match="Discrete actions"):
        TabularStudent(env)
