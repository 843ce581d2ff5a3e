from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.grids import door_key_world as dk


@pytest.mark.parametrize("difficulty", [0.0, 0.3])
def test_the_twin_without_observations_plays_as_the_grid_does(difficulty: float):
    grid: Any = gym.make("palaestra/DoorKey-v0", difficulty=difficulty, disable_env_checker=True).unwrapped
    twin = grid.blind_twin(difficulty=difficulty)
    rng = np.random.default_rng(0)
    for seed in range(3):
        grid.reset(seed=seed)
        twin.reset(seed=seed)
        ended = False
        while not ended:
            action = int(rng.integers(7)) if rng.random() < 0.9 else int(grid.oracle())
            _, _, terminated, truncated, info = grid.step(action)
            _, _, *ends, other = twin.step(action)
            assert grid.here() == twin.here()
            assert ends == [terminated, truncated]
            assert other["is_success"] is info["is_success"]
            ended = terminated or truncated
    twin.reset(seed=0)
    twin.set_state({**twin.get_state(), "steps": dk.step_limit(twin.here().size) - 1})
    assert twin.step(dk.DONE)[2:4] == (False, True)
