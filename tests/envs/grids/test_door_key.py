from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from typing import Any

import gymnasium as gym
import numpy as np
import palaestra
import pytest
from palaestra.envs.grids.cells import WALL
from palaestra.envs.grids.door_key import CLOSED, KEY, LOCKED, OPEN, DoorKeyRules, DoorKeyText, choose_greedy_action
from palaestra.envs.grids.grid_measures import SUPPLIES, find_waypoints, measure_worlds
from palaestra.envs.grids.grid_planner import find_distance
from palaestra.envs.grids.grid_world import DROP, FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE, World, put
from palaestra.rewards import RewardWrapper
from palaestra.rewards import make as make_reward

RULES = DoorKeyRules()
EXPECTED = [("f30bc7c9ad110785", "cf7fc850e261e386"), ("08d1df1b09c81003", "add2fa9a0610f676")]
MAP = "#####\n#>#.#\n#.L.#\n#K#G#\n#####"


def world_of(text: str, facing: int = 0) -> World:
    codes = {"#": WALL, "L": LOCKED, "D": CLOSED, "O": OPEN, "K": KEY, "G": 2}
    rows = text.split("\n")
    cells = bytes(codes.get(sign, 0) for row in rows for sign in row)
    return World(len(rows), cells, "".join(rows).index(">"), facing)


def test_levels_ids_and_observations_are_those_of_the_first_release():
    found = []
    for name in ("DoorKey", "DoorKeyText"):
        digest, ids = hashlib.sha256(), []
        for split in ("train", "test", "all"):
            terse = {"prompt": "terse"} if name == "DoorKeyText" else {}
            env = gym.make(f"palaestra/{name}-v0", split=split, disable_env_checker=True, **terse)
            for seed in range(3):
                seen, info = env.reset(seed=seed)
                ids.append(info["task_id"])
                image = seen["image"].tolist() if isinstance(seen, dict) else seen
                digest.update(json.dumps([image, info["params"]]).encode())
        found.append((ids[0], digest.hexdigest()[:16]))
    assert found == EXPECTED


def test_levels_are_laid_out_as_promised():
    for size, obstacles in ((5, 0), (6, 8), (9, 8), (16, 3)):
        for seed in range(8):
            world = RULES.lay_out(np.random.default_rng(seed), {"size": size, "obstacles": obstacles})
            split = world.cells.index(LOCKED) % size
            assert 2 <= split <= size - 3
            assert world.place[0] < split
            assert world.cells.index(KEY) % size < split
            assert world.cells.count(WALL) - (4 * size - 4) - (size - 3) == obstacles or size < 9
            assert find_distance(RULES, world) < 200


def test_a_shortest_episode_worked_out_by_hand():
    world = world_of("#####\n#>L.#\n#K#.#\n#.#G#\n#####")
    worlds = [world]
    for action in (RIGHT, PICK_UP, LEFT, TOGGLE, FORWARD, FORWARD, RIGHT, FORWARD, FORWARD):
        worlds.append(RULES.advance(worlds[-1], action))
    corner, door, last = [1, 1], [2, 1], [3, 1]
    assert measure_worlds(RULES, worlds, "positions") == [*[corner] * 5, door, last, last, [3, 2], [3, 3]]
    assert measure_worlds(RULES, worlds, "goal_distance") == [float(far) for far in range(9, -1, -1)]
    assert measure_worlds(RULES, worlds, "potentials") == pytest.approx([-d / 9 for d in range(9, -1, -1)])
    assert measure_worlds(RULES, worlds, "achieved") == [[], ["key"], [], ["door"], [], [], [], [], ["goal"]]
    assert measure_worlds(RULES, worlds, "waypoints") == [corner, corner, [3, 3]]
    worlds = [world]
    for action in (RIGHT, PICK_UP, DROP, PICK_UP, LEFT, TOGGLE, TOGGLE, TOGGLE):
        worlds.append(RULES.advance(worlds[-1], action))
    assert measure_worlds(RULES, worlds, "achieved") == [[], ["key"], [], ["key"], [], ["door"], [], []]
    assert measure_worlds(RULES, worlds, "goal_distance") == [9.0, 8.0, 7.0, 8.0, 7.0, 6.0, 5.0, 6.0, 5.0]


def test_a_key_in_the_way_behind_the_open_door_is_picked_up_again():
    world = world_of("#####\n#>OK#\n#.#.#\n#.#G#\n#####")
    assert find_distance(RULES, world) == 6
    assert find_waypoints(RULES, world) == [[2, 1], [3, 3]]


def test_a_locked_door_needs_its_key():
    world = world_of("#####\n#K#.#\n#>L.#\n#.#G#\n#####")
    assert RULES.advance(world, TOGGLE) is world
    opened = RULES.advance(world._replace(carried=KEY), TOGGLE)
    assert opened.cells == put(world.cells, world.ahead, OPEN)
    assert RULES.advance(opened, TOGGLE).cells == put(world.cells, world.ahead, CLOSED)
    assert find_distance(RULES, world_of("#####\n#.#K#\n#>L.#\n#.#G#\n#####")) > 10**6


def test_the_greedy_player_heads_for_the_key_first():
    assert choose_greedy_action(world_of(MAP)) == RIGHT


def test_plan_survives_a_door_left_closed_and_a_key_dropped():
    env: Any = gym.make("palaestra/DoorKey-v0", size=8, disable_env_checker=True).unwrapped
    env.reset(seed=2)
    while LOCKED in env.here().cells:
        env.step(env.oracle())
    for action in (TOGGLE, LEFT, DROP):
        env.step(action)
    info: dict[str, Any] = {"is_success": False}
    for _ in range(60):
        _, _, terminated, _, info = env.step(env.oracle())
        if terminated:
            break
    assert info["is_success"]


def test_random_actions_hardly_ever_reach_the_goal_within_the_turns_the_prompt_tells():
    env, rng, won = DoorKeyText(size=5), np.random.default_rng(0), 0
    for seed in range(40):
        prompt, _ = env.reset(seed=seed)
        assert "You have 25 turns." in prompt
        while not env._ended:
            won += env.step(env.random_action(env.here(), rng))[4]["is_success"]
    assert won <= 2


@pytest.mark.parametrize("env_id", ["palaestra/DoorKey-v0", "palaestra/DoorKeyText-v0"])
def test_both_families_supply_one_entry_a_state_or_step_also_after_a_snapshot(env_id: str):
    env: Any = gym.make(env_id, size=5, disable_env_checker=True).unwrapped
    _, info = env.reset(seed=2)
    assert env.supplies >= SUPPLIES
    assert (len(info["extras"]["positions"]), info["extras"]["achieved"]) == (1, [])
    first = [env.step(env.oracle())[4] for _ in range(3)]
    snapshot = env.get_state()
    wanted = env.step(env.oracle())[4]["extras"]
    env.set_state(snapshot)
    assert env.step(env.oracle())[4]["extras"] == wanted
    assert [len(info["extras"]["goal_distance"]) for info in first] == [2, 3, 4]
    while not (step := env.step(env.oracle()))[2]:
        pass
    extras = step[4]["extras"]
    assert [name for names in extras["achieved"] for name in names] == ["key", "door", "goal"]
    assert (extras["goal_distance"][-1], extras["completion"][-1]) == (0.0, 1.0)


@pytest.mark.parametrize(
    ("reward", "total"), [("subgoals", 0.3), ("progress-penalties", 1.0), ("potential", 1.0), ("waypoints", 1.0)]
)
def test_rewards_on_the_way_read_what_the_families_supply(reward: str, total: float):
    env = RewardWrapper(gym.make("palaestra/DoorKey-v0", size=5, disable_env_checker=True), make_reward(reward))
    env.reset(seed=1)
    while not (step := env.step(env.unwrapped.oracle()))[2]:  # type: ignore[attr-defined]
        pass
    assert step[4]["reward_terms"][reward] == pytest.approx(total)


def test_without_minigrid_grids_play_and_only_pictures_name_the_extra():
    program = """
import sys
sys.modules["minigrid"] = None
import gymnasium as gym, palaestra
for name in ("DoorKey", "DoorKeyText"):
    env = gym.make(f"palaestra/{name}-v0", render_mode="rgb_array")
    env.reset(seed=0)
    env.step(env.unwrapped.oracle())
    try:
        env.render()
    except palaestra.errors.MissingExtra as error:
        print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.count("pip install 'palaestra[grid]'") == 2


def test_importing_palaestra_loads_nothing_heavy():
    program = "import sys, palaestra; print([m for m in ('minigrid', 'torch', 'sympy', 'pygame') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert "palaestra/DoorKey-v0" in palaestra.envs.ids()
