from __future__ import annotations

from collections import deque
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401
import pytest
from palaestra.envs.grids.grid_planner import FAR, find_action, find_distance
from palaestra.envs.grids.grid_rules import GridRules
from palaestra.envs.grids.grid_world import World


def search(rules: GridRules, world: World) -> int:
    """The fewest actions to the end, by a search through all states."""
    far, queue = {world: 0}, deque([world])
    while queue:
        here = queue.popleft()
        for action in range(rules.actions):
            after = rules.advance(here, action)
            if rules.flags(after)[-1]:
                return far[here] + 1
            if after not in far and not rules.fails(here, action, after):
                far[after] = far[here] + 1
                queue.append(after)
    return FAR


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("DoorKey", {"size": 5, "obstacles": 0}),
        ("LavaGap", {"size": 7, "rivers": 3, "hazard": "lava"}),
        ("MultiRoom", {"rooms": 3, "room_size": 4}),
        ("HallwayMemory", {"half": 3}),
        ("DeceptiveMaze", {"pockets": 1, "depth": 3}),
        ("BlockMaze", {"size": 8, "blocks": 10}),
    ],
)
def test_distances_are_those_of_a_search_wherever_actions_lead(name: str, params: dict[str, Any]):
    env: Any = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **params).unwrapped
    rng = np.random.default_rng(0)
    for seed in range(2):
        env.reset(seed=seed)
        for step in range(24):
            if step % 6 == 0:
                assert find_distance(env.rules, env.here()) == search(env.rules, env.here())
            action = int(rng.integers(env.action_space.n)) if rng.random() < 0.5 else env.oracle()
            if any(env.step(action)[2:4]):
                break


@pytest.mark.parametrize("name", ["Unlock", "KeyCorridor", "HiddenKey", "ObstructedMaze", "BabyAI"])
def test_each_action_of_the_planner_brings_the_end_nearer(name: str):
    env: Any = gym.make(f"palaestra/{name}-v0", disable_env_checker=True, difficulty=1.0).unwrapped
    for seed in range(4):
        env.reset(seed=seed)
        left = find_distance(env.rules, env.here())
        while not env._ended:
            env.step(find_action(env.rules, env.here()))
            now = 0 if env._ended else find_distance(env.rules, env.here())
            assert now < left
            left = now


def test_no_solution_of_a_small_task_is_much_shorter():
    env: Any = gym.make("palaestra/Unlock-v0", disable_env_checker=True, task="pickup", room_size=5, distractors=0)
    for seed in range(2):
        env.reset(seed=seed)
        world, rules = env.unwrapped.here(), env.unwrapped.rules
        # The key is put down at one of two places only.
        assert search(rules, world) <= find_distance(rules, world) <= search(rules, world) + 5


def test_moving_things_do_not_count_as_walls():
    env: Any = gym.make("palaestra/MovingObstacles-v0", disable_env_checker=True, size=6, obstacles=3).unwrapped
    env.reset(seed=0)
    # Three steps east, a turn, three steps south.
    assert env.solver_cost(env.here()) == 7
