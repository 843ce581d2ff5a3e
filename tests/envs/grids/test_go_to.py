"""Stopping beside a door or a thing, and the other small tasks in which one wrong action is the end."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # registers the ids
import pytest
from palaestra.envs.grids.cells import PORTABLE, THINGS
from palaestra.envs.grids.grid_world import DONE, PICK_UP, TOGGLE

assert palaestra


def make(name: str, **kwargs: Any) -> Any:
    return gym.make(f"palaestra/{name}-v0", disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("name", ["GoToDoor", "GoToObject"])
def test_to_stop_elsewhere_or_to_toggle_ends_the_episode(name: str):
    env = make(name)
    for action in (DONE, TOGGLE):
        env.reset(seed=1)
        while env.oracle() == DONE:
            env.reset()
        *ends, info = env.step(action)[1:]
        assert (ends, info["is_success"]) == ([0.0, True, False], False)


@pytest.mark.parametrize("name", ["GoToDoor", "GoToObject"])
def test_the_cost_of_a_solution_counts_the_stop(name: str):
    env = make(name)
    for seed in range(5):
        env.reset(seed=seed)
        cost, steps, over = env.solver_cost(env.here()), 0, False
        while not over:
            over, steps = env.step(env.oracle())[2], steps + 1
        assert steps == cost


def test_a_text_twin_says_that_waiting_is_arriving():
    env = make("GoToDoorText")
    text = env.reset(seed=3)[0]
    assert "Stop beside it with wait" in text
    assert make("GoToDoorText", vocabulary={"wait": "stop"}).reset(seed=3)[0].count("beside it with stop") == 1
    over = False
    while not over:
        action = env.oracle()
        *_, over, _, info = env.step(action)
    assert (action, info["is_success"]) == ("wait", True)


@pytest.mark.parametrize("name", ["Fetch", "PutNear"])
def test_another_thing_picked_up_ends_the_episode(name: str):
    env = make(name, size=6, things=2)
    for seed in range(4):
        env.reset(seed=seed)
        wanted = env.here().task[0]
        others = {code for code in env.here().cells if THINGS[code].kind in PORTABLE} - {wanted}
        if not others:
            continue
        # Walk to the other thing as if it were the one asked for.
        world = env.here()
        env.place_world(world._replace(task=(min(others), *world.task[1:])))
        while env.oracle() != PICK_UP:
            env.step(env.oracle())
        env._world = env.here()._replace(task=world.task)
        *ends, info = env.step(PICK_UP)[1:]
        assert (ends, info["is_success"]) == ([0.0, True, False], False)


def test_the_blue_door_before_the_red_one_is_a_failure():
    env = make("RedBlueDoors")
    env.reset(seed=0)
    env.place_world(env.here()._replace(agent=env.here().task[1] - 1, facing=0))
    assert env.step(TOGGLE)[1:4] == (0.0, True, False)


def test_minigrids_playground_has_no_mission():
    env = make("PlaygroundText", minigrid="MiniGrid-Playground-v0", split="all")
    assert "there is no mission" in env.reset(seed=0)[0]
    native = make("Playground", minigrid="MiniGrid-Playground-v0", split="all")
    assert native.reset(seed=0)[0]["mission"] == ""
    assert [native.step(native.oracle())[1:4] for _ in range(100)][-1] == (0.0, False, True)
