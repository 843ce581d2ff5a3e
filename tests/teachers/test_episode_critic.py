"""A critic's measurements of an episode."""

from __future__ import annotations

import gymnasium as gym
import pytest
from palaestra.envs.axes import FloatAxis, IntAxis
from palaestra.envs.param_space import ParamSpace
from palaestra.teachers import TeacherWrapper, make
from palaestra.teachers.episode_critic import EpisodeCritic


class Corridor(gym.Env):
    """Walk to the end, `length` steps away, within eight; a step slips with the chance `slip`. What is left is seen."""

    observation_space = gym.spaces.Discrete(9)
    action_space = gym.spaces.Discrete(2)
    param_space = ParamSpace([IntAxis("length", 1, 8), FloatAxis("slip", 0.0, 0.2)])

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.params = (options or {}).get("params", {"length": 4, "slip": 0.0})
        self.seed, self.away, self.left = seed, self.params["length"], 8
        return self.away, {}

    def step(self, action):
        self.left -= 1
        if self.np_random.random() >= self.params["slip"]:
            self.away = min(8, self.away + (-1 if action else 1))
        done = self.away == 0
        return self.away, float(done), done, self.left == 0 and not done, {"is_success": done}


def test_a_critic_measures_an_episode():
    """Two steps right with values 0.5 throughout, gamma 1, lambda 1: TD errors 0 and 0.5, advantages 0.5 and 0.5."""
    critic = EpisodeCritic(lambda seen: [0.5] * len(seen), lambda seen: [[0.25, 0.75]] * len(seen), gamma=1.0, lam=1.0)
    measured = []

    def measure(played):
        measured.append(critic(played))
        return measured[-1]

    env = TeacherWrapper(Corridor(), make("plr", Corridor.param_space, seed=0), measure=measure)
    env.teacher._draw = lambda k: [
        type(d)(d.record, {"length": 2, "slip": 0.0}) for d in type(env.teacher)._draw(env.teacher, k)
    ]
    env.reset()
    env.step(1)
    env.step(1)
    assert measured[0]["value_l1"] == pytest.approx(0.5)
    assert measured[0]["one_step_td"] == pytest.approx(0.25)
    assert measured[0]["mean_value"] == pytest.approx(0.5)
    assert measured[0]["min_margin"] == pytest.approx(0.5)


def test_a_truncated_episode_is_bootstrapped_and_a_terminated_one_is_not():
    """Eight steps left, no reward, values 0.5: every error is 0; had the episode ended, the last would be -0.5."""
    measured = []
    critic = EpisodeCritic(lambda seen: [0.5] * len(seen), gamma=1.0, lam=0.0)
    env = TeacherWrapper(
        Corridor(), make("random", Corridor.param_space), measure=lambda p: measured.append(critic(p)) or {}
    )
    env.reset()
    while not any(env.step(0)[2:4]):
        pass
    assert measured[0]["value_l1"] == pytest.approx(0.0)
