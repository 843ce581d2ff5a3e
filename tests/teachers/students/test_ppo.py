"""The student with a neural policy: a corridor whose length is the task."""

from __future__ import annotations

import sys

import gymnasium as gym
import numpy as np
import pytest
from palaestra.errors import MissingExtra
from palaestra.teachers import make
from palaestra.teachers.students import PPOStudent
from palaestra.teachers.students.ppo import VectorObservation


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


def test_observations_become_numbers_between_0_and_1_without_text():
    env = VectorObservation(Corridor())
    observation, _ = env.reset(options={"params": 4})
    assert observation.tolist() == [0.0, 0.0, 1.0, 0.0]
    assert env.observation_space.contains(observation)


class Runner:
    """A model with the interface of Stable-Baselines3 that always walks right."""

    def __init__(self, env):
        self.env = env

    def learn(self, total_timesteps):
        self.env.reset()
        for _ in range(total_timesteps):
            if any(self.env.step(1)[2:4]):
                self.env.reset()

    def predict(self, observation, deterministic=False):
        return np.array(1), None


def test_a_neural_student_plays_what_its_teacher_proposes():
    env = Corridor()
    teacher = make("random", env.param_space, seed=0)
    student = PPOStudent(env, teacher, model=Runner)
    student.train(60)
    assert teacher.metrics()["observed"] > 10
    observed = teacher.metrics()["observed"]
    assert student.success([1, 5]) == 1.0
    assert teacher.metrics()["observed"] == observed


def test_without_stable_baselines_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "stable_baselines3", None)
    env = Corridor()
    with pytest.raises(MissingExtra, match=r"\[ppo\]"):
        PPOStudent(env, make("random", env.param_space))


def test_ppo_of_stable_baselines_trains():
    env = Corridor()
    teacher = make("random", env.param_space, seed=0)
    student = PPOStudent(env, teacher, n_steps=32, batch_size=32, n_epochs=1)
    student.train(64)
    assert teacher.metrics()["observed"] > 0
    assert 0 <= student.success([1]) <= 1
