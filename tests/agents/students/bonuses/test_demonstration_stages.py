"""Stages of DoorKey, found in its solver's demonstrations."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses.demonstration_stages import StageBonus, count_things
from palaestra.errors import InputError

SMALL = {"stages": 2, "demonstrations": 6}


def attached(env_id: str = "palaestra/DoorKey-v0", **options) -> tuple[StageBonus, gym.Env]:
    env = gym.make(env_id, disable_env_checker=True, **options).unwrapped
    bonus = StageBonus(1.0, 0.9, **SMALL)
    bonus.attach([env])
    return bonus, env


def test_the_second_stage_of_doors_and_keys_begins_when_the_key_is_picked_up():
    bonus, env = attached(size=5, obstacles=0)
    for seed in range(3):
        observation, info = env.reset(seed=seed)
        bonus.begin(observation, info["extras"])
        values, over = [bonus.value_of(0, observation, {})], False
        while not over:
            observation, _, over, _, info = env.step(env.oracle())
            values.append(bonus.value_of(0, observation, {}))
        (picked,) = [t for t, names in enumerate(info["extras"]["achieved"], start=1) if "key" in str(names)]
        assert np.argmax(np.diff(values)) == picked - 1
        assert max(values[:picked]) < 0.1
        assert min(values[picked:]) > 0.9


def test_things_are_counted():
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0).unwrapped
    env.reset(seed=1)
    # A locked door, a key and a goal; nothing is carried.
    assert count_things(env.here()).tolist() == [0, 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0]
    over = False
    while not over:
        _, _, over, _, _ = env.step(env.oracle())
    assert count_things(env.here()).tolist() == [1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1]


def test_detectors_are_saved():
    bonus, _ = attached(size=5, obstacles=0)
    other = StageBonus(1.0, 0.9, **SMALL)
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    assert other.state_dict() == bonus.state_dict()
    assert other.detectors[1].features.tolist() == bonus.detectors[1].features.tolist()


class Steps(gym.Env):
    """Three cells to the right; without a solver unless it is given one."""

    observation_space = gym.spaces.Box(0, 3, (1,), np.float32)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.at = 0
        return np.array([0.0], np.float32), {}

    def step(self, action):
        self.at += action
        return np.array([self.at], np.float32), 0.0, self.at == 3, False, {"is_success": self.at == 3}


class Solved(Steps):
    def oracle(self):
        return 1


def test_another_environment_is_seen_by_its_observations():
    bonus = StageBonus(1.0, 0.9, **SMALL)
    bonus.attach([Solved()])
    bonus.begin(np.array([0.0], np.float32), {})
    values = [bonus.value_of(0, np.array([x], np.float32), {}) for x in (0, 3)]
    assert values[1] - values[0] > 0.5


def test_without_a_solver_there_are_no_demonstrations():
    with pytest.raises(InputError, match="no solver"):
        StageBonus(1.0, 0.9, **SMALL).attach([Steps()])
    with pytest.raises(InputError, match="4 episodes of the solver 0 were successes of at least 9 states"):
        StageBonus(1.0, 0.9, stages=9, demonstrations=1).attach([Solved()])
