"""Descriptions of DoorKey that come to read like its goal."""

from __future__ import annotations

import json

import gymnasium as gym
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses.goal_text import GoalTextBonus, describe, find_end
from palaestra.errors import InputError


def attached(**options) -> tuple[GoalTextBonus, gym.Env]:
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0).unwrapped
    bonus = GoalTextBonus(1.0, 0.9, **options)
    bonus.attach([env])
    return bonus, env


def play(bonus: GoalTextBonus, env: gym.Env, seed: int) -> list[float]:
    """The values along the planner's way."""
    observation, info = env.reset(seed=seed)
    bonus.begin(observation, info["extras"])
    values, over = [bonus.value_of(0, observation, {})], False
    while not over:
        observation, _, over, _, _ = env.step(env.oracle())
        values.append(bonus.value_of(0, observation, {}))
    return values


def test_the_way_leads_from_0_to_the_most_there_is():
    bonus, env = attached()
    for seed in range(3):
        values = play(bonus, env, seed)
        assert values[0] == 0
        assert values[-1] == max(values) == pytest.approx(1.0)


def test_the_end_of_the_planners_way_accomplishes_the_mission():
    _, env = attached()
    env.reset(seed=1)
    before = env.here()
    end = find_end(env)
    assert env.rules.flags(end)[-1]
    assert env.here() is before
    assert "You carry a" in describe(env, end)


def test_as_plain_the_value_is_the_likeness_itself():
    bonus, env = attached(form="plain")
    values = play(bonus, env, 1)
    assert values[0] == bonus.memory[0]["episode"]["first"] > 0
    assert values[-1] == pytest.approx(1.0)


def test_words_of_ones_own_reward_what_they_say():
    bonus, env = attached(goal="You carry a yellow key.", baseline="You carry nothing.", alpha=1.0)
    values = play(bonus, env, 1)
    carried = [value > values[0] + 1e-9 for value in values]
    first = carried.index(True)
    assert all(carried[first:])
    assert not any(carried[:first])


def test_what_is_saved_goes_on():
    bonus, env = attached()
    observation, info = env.reset(seed=5)
    bonus.begin(observation, info["extras"])
    other, _ = attached()
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    other.attach([env])
    for _ in range(4):
        env.step(env.oracle())
        assert other.value_of(0, None, {}) == bonus.value_of(0, None, {})


def test_another_environment_is_refused():
    with pytest.raises(InputError, match="describes gridworlds only"):
        GoalTextBonus(1.0, 0.9).attach([gym.make("CartPole-v1")])
