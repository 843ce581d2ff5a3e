from __future__ import annotations

import subprocess
import sys
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.grids import door_key_world as dk


def test_grid_and_text_play_the_same_worlds():
    grid, text = gym.make("palaestra/DoorKey-v0").unwrapped, gym.make("palaestra/DoorKeyText-v0").unwrapped
    for seed in range(5):
        grid.reset(seed=seed)
        text.reset(seed=seed)
        assert grid.here() == text.here().world  # type: ignore[attr-defined]


def test_grid_pays_what_minigrid_pays():
    env = gym.make("palaestra/DoorKey-v0", size=6, obstacles=0).unwrapped
    env.reset(seed=0)
    env.step("nonsense")
    steps, reward = 1, 0.0
    while not reward:
        reward = float(env.step(env.oracle())[1])  # type: ignore[attr-defined]
        steps += 1
    # The nonsense counts as a step; the limit is 10 * 6 * 6.
    assert reward == pytest.approx(1 - 0.9 * steps / 360)


def test_grid_is_truncated_at_minigrids_limit():
    env = gym.make("palaestra/DoorKey-v0", size=5).unwrapped
    env.reset(seed=0)
    ends = [env.step(dk.DONE)[2:4] for _ in range(250)]
    assert ends == [(False, False)] * 249 + [(False, True)]


def test_plan_survives_a_door_left_closed_and_a_key_dropped():
    env = gym.make("palaestra/DoorKey-v0", size=8).unwrapped
    env.reset(seed=2)
    while env.here().lock == "locked":  # type: ignore[attr-defined]
        env.step(env.oracle())  # type: ignore[attr-defined]
    env.step(dk.TOGGLE)
    env.step(dk.LEFT)
    env.step(dk.DROP)
    info: dict[str, Any] = {}
    for _ in range(60):
        _, _, terminated, _, info = env.step(env.oracle())  # type: ignore[attr-defined]
        if terminated:
            break
    assert info["is_success"]


def test_without_minigrid_the_grid_names_its_extra_and_the_text_still_works():
    program = """
import sys
sys.modules["minigrid"] = None
import gymnasium as gym, palaestra
gym.make("palaestra/DoorKeyText-v0").reset(seed=0)
try:
    gym.make("palaestra/DoorKey-v0")
except palaestra.errors.MissingExtra as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "pip install 'palaestra[grid]'" in done.stdout


def test_importing_palaestra_loads_nothing_heavy():
    program = "import sys, palaestra; print([m for m in ('minigrid', 'torch', 'sympy', 'pygame') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "palaestra/DoorKey-v0" in palaestra.envs.ids()
