"""`WebTaskEnv`: what is found at once equals what takes longer, on every site."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import palaestra  # noqa: F401  # registers the ids
import pytest
from palaestra.envs.task_env import TaskEnv
from palaestra.envs.web.browsers.commands import read_command

IDS = ["palaestra/Shop-v0", "palaestra/Forum-v0", "palaestra/WebAcross-v0"]


def make(env_id: str, **kwargs: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **kwargs).unwrapped


@pytest.mark.parametrize("env_id", IDS)
def test_the_bound_of_turns_never_exceeds_their_limit(env_id: str):
    env = make(env_id)
    for seed in range(40):
        env.reset(seed=seed, options={"difficulty": seed % 5 / 4})
        assert env.least_turn_limit(env.here()) <= env.turn_limit(env.here())


@pytest.mark.parametrize("env_id", IDS)
def test_an_episode_is_truncated_by_the_plan_and_not_by_the_bound(env_id: str):
    env = make(env_id)
    for seed in range(5):
        env.reset(seed=seed)
        limit, turns, truncated = env.turn_limit(env.here()), 0, False
        other = make(env_id)
        other.reset(seed=seed)
        # A snapshot has the limit itself.
        assert other.get_state()["limit"] == limit
        while not truncated:
            truncated = env.step("scroll sideways")[3]
            turns += 1
        assert turns == limit


@pytest.mark.parametrize("action", ["click [12]", "press [3] Enter", "press [3] Space", "scroll down", "back"])
def test_actions_that_are_read_at_once_have_no_other_reading(action: str):
    env = make(IDS[0])
    plain, *others = TaskEnv.read_action(env, action)[0]
    assert env.read_action(action) == ([plain], None) == ([action], None)
    assert all(isinstance(read_command(other), str) or read_command(other) == read_command(action) for other in others)
