"""Levels as tables: the same as playing them."""

from __future__ import annotations

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.envs.grids.grid_model import identify, model_level
from palaestra.envs.grids.grid_planner import find_distance
from palaestra.errors import InputError
from palaestra.rewards.audit.mdp import action_values


def level(env_id: str, seed: int, **axes):
    env = gym.make(env_id, disable_env_checker=True, **axes).unwrapped
    env.reset(seed=seed)
    return env


@pytest.mark.parametrize(("env_id", "axes"), [("palaestra/DoorKey-v0", {"size": 5}), ("palaestra/LavaGap-v0", {})])
def test_a_level_is_played_as_its_table_says(env_id, axes):
    env = level(env_id, 3, **axes)
    model = model_level(env.rules, env.here(), 0.9)
    rng, end = np.random.default_rng(0), len(model.index)
    state = model.index[identify(env.here())]
    for _ in range(300):
        action = int(rng.integers(env.rules.actions))
        _, reward, over, truncated, info = env.step(action)
        expected = model.reward[state, action]
        assert (reward > 0, reward < 0) == (expected > 0, expected < 0)
        assert model.progress[state, action] == pytest.approx(info["progress"])
        state = int(model.mdp.transitions[state, action].argmax())
        assert state == (end if over else model.index[identify(env.here())])
        if over or truncated:
            env.reset(seed=3)
            state = model.index[identify(env.here())]


def test_the_optimal_value_is_the_planners_distance():
    env = level("palaestra/DoorKey-v0", 1, size=5)
    model = model_level(env.rules, env.here(), 0.9)
    values = action_values(model.mdp, model.reward).max(1)
    distance = find_distance(env.rules, env.here())
    assert values[model.index[identify(env.here())]] == pytest.approx(0.9 ** (distance - 1))


def test_every_state_of_a_level_has_the_same_model():
    env = level("palaestra/DoorKey-v0", 1, size=5)
    one = model_level(env.rules, env.here(), 0.9)
    env.step(0)
    two = model_level(env.rules, env.here(), 0.9)
    assert one.index == two.index
    assert (one.mdp.transitions == two.mdp.transitions).all()


def test_a_level_that_is_too_large_is_refused():
    env = level("palaestra/DoorKey-v0", 1, size=5)
    with pytest.raises(InputError, match="more than 100 states"):
        model_level(env.rules, env.here(), 0.9, most=100)
