from __future__ import annotations

from dataclasses import replace
from typing import Any

import gymnasium as gym
import numpy as np
import pytest
from palaestra.envs.grids import door_key_world as dk
from palaestra.envs.grids.door_key_measures import SUPPLIES, find_waypoints, goal_distance, measure_worlds
from palaestra.rewards import RewardWrapper, make

# A room of 5 x 5: the agent at the top left faces east, the key below it, the door in the middle, the goal below right.
WORLD = dk.World(
    5,
    frozenset({(x, y) for x in range(5) for y in range(5) if x in (0, 2, 4) or y in (0, 4)} - {(2, 1)}),
    door=(2, 1),
    goal=(3, 3),
    lock="locked",
    key=(1, 2),
    agent=(1, 1),
    facing=0,
)


def follow(world: dk.World, actions: list[int]) -> list[dk.World]:
    worlds = [world]
    for action in actions:
        worlds.append(dk.apply_action(worlds[-1], action))
    return worlds


def test_a_shortest_episode_worked_out_by_hand():
    right, forward, left = dk.RIGHT, dk.FORWARD, dk.LEFT
    worlds = follow(WORLD, [right, dk.PICK_UP, left, dk.TOGGLE, forward, forward, right, forward, forward])
    corner, door, last = [1, 1], [2, 1], [3, 1]
    assert measure_worlds(worlds, "positions") == [*[corner] * 5, door, last, last, [3, 2], [3, 3]]
    assert measure_worlds(worlds, "goal_distance") == [9.0, 8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0, 0.0]
    assert measure_worlds(worlds, "potentials") == pytest.approx([-d / 9 for d in range(9, -1, -1)])
    assert measure_worlds(worlds, "achieved") == [[], ["key"], [], ["door"], [], [], [], [], ["goal"]]
    assert measure_worlds(worlds, "waypoints") == [corner, corner, [3, 3]]


def test_taking_the_key_again_is_achieved_again_and_closing_the_door_achieves_nothing():
    worlds = follow(WORLD, [dk.RIGHT, dk.PICK_UP, dk.DROP, dk.PICK_UP, dk.LEFT, dk.TOGGLE, dk.TOGGLE, dk.TOGGLE])
    assert measure_worlds(worlds, "achieved") == [[], ["key"], [], ["key"], [], ["door"], [], []]
    assert measure_worlds(worlds, "goal_distance") == [9.0, 8.0, 7.0, 8.0, 7.0, 6.0, 5.0, 6.0, 5.0]


def test_distances_are_those_of_a_shortest_plan_wherever_random_actions_lead():
    rng = np.random.default_rng(0)
    for size, obstacles in ((5, 0), (8, 3), (12, 8)):
        for _ in range(4):
            world = dk.generate_world(rng, size, obstacles)
            for action in rng.integers(0, 6, size=60).tolist():
                world = dk.apply_action(world, action)
                assert goal_distance(world) == len(dk.find_shortest_plan(world))


def test_an_open_door_with_the_key_in_the_way_is_measured_too():
    world = replace(WORLD, lock="open", key=(3, 1), agent=(1, 1))
    assert goal_distance(world) == len(dk.find_shortest_plan(world)) == 6


def test_waypoints_lead_to_the_goal_in_the_order_of_the_plan():
    world = dk.generate_world(np.random.default_rng(3), 10, 4)
    key, door, goal = find_waypoints(world)
    assert abs(key[0] - world.key[0]) + abs(key[1] - world.key[1]) == 1  # type: ignore[index]
    assert abs(door[0] - world.door[0]) + abs(door[1] - world.door[1]) == 1
    assert goal == list(world.goal)


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
    assert (len(wanted["positions"]), len(wanted["achieved"]), len(wanted["completion"])) == (5, 4, 4)
    while not (step := env.step(env.oracle()))[2]:
        pass
    extras = step[4]["extras"]
    assert [name for names in extras["achieved"] for name in names] == ["key", "door", "goal"]
    assert (extras["goal_distance"][-1], extras["completion"][-1]) == (0.0, 1.0)


@pytest.mark.parametrize("env_id", ["palaestra/DoorKey-v0", "palaestra/DoorKeyText-v0"])
@pytest.mark.parametrize(
    ("reward", "total"), [("subgoals", 0.3), ("progress-penalties", 1.0), ("potential", 1.0), ("waypoints", 1.0)]
)
def test_rewards_on_the_way_read_what_the_families_supply(env_id: str, reward: str, total: float):
    env = RewardWrapper(gym.make(env_id, size=5, disable_env_checker=True), make(reward))
    env.reset(seed=1)
    while not (step := env.step(env.unwrapped.oracle()))[2]:  # type: ignore[attr-defined]
        pass
    assert step[4]["reward_terms"][reward] == pytest.approx(total)
