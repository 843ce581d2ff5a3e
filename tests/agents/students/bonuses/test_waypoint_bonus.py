"""Waypoints of the planner and of an agent."""

from __future__ import annotations

import itertools
import json
import sys
from types import ModuleType, SimpleNamespace

import gymnasium as gym
import palaestra  # noqa: F401 registers the environments
import pytest
from palaestra.agents.students.bonuses import make_bonuses
from palaestra.agents.students.bonuses.waypoint_bonus import WaypointBonus, describe_level
from palaestra.errors import InputError
from palaestra.rewards import Step
from palaestra.rewards.steps import waypoint_potentials

WAY = [[4, 0], [4, 3]]


def follow(
    bonus: WaypointBonus, places: list[list[int]], waypoints: list[list[int]], ends: bool = False
) -> list[float]:
    bonus.begin(0, {"positions": places[:1], "waypoints": waypoints})
    return [
        bonus.step_reward_now(
            Step(0, 0, 0.0, {"env": 0.0}, 1, extras={"positions": places[: t + 1]}), 0, ends and t == len(places) - 1
        )
        for t in range(1, len(places))
    ]


def test_the_steps_of_a_way_are_the_differences_of_the_published_potential():
    bonus = WaypointBonus(2.0, 0.9, radius=1.0)
    places = [[0, 0], [1, 0], [2, 1], [3, 0], [4, 1], [4, 2]]
    length = 4 + 3
    potentials = waypoint_potentials(places, WAY, 1.0) / length
    expected = [2 * (0.9 * after - before) for before, after in itertools.pairwise(potentials)]
    assert follow(bonus, places, WAY) == pytest.approx(expected)


def test_a_loop_sums_to_0_and_the_whole_way_to_the_weight_without_discount():
    bonus = WaypointBonus(0.5, 1.0)
    assert sum(follow(bonus, [[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]], WAY)) == pytest.approx(0)
    way = [[0, 0], [2, 0], [4, 0], [4, 2], [4, 3]]
    assert sum(follow(bonus, way, WAY, ends=True)) == pytest.approx(0.5)
    assert sum(follow(bonus, way[:3], WAY)) > 0.25


def test_without_waypoints_the_bonus_is_0():
    assert follow(WaypointBonus(1.0, 0.9), [[0, 0], [1, 0]], []) == [0, 0][:1]


@pytest.fixture
def author(monkeypatch):
    """An agent that is named on the command line as "writer:answer"; ``questions`` are those that it got."""
    said = SimpleNamespace(reply="First (3, 3), then (1, 1).", questions=[])

    def answer(question):
        said.questions.append(question)
        return said.reply

    module = ModuleType("writer")
    module.answer = answer  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "writer", module)
    return said


def doors(text: str):
    (bonus,) = make_bonuses([text], 0.9)
    env = gym.make("palaestra/DoorKey-v0", disable_env_checker=True, size=5, obstacles=0).unwrapped
    bonus.reward.attach([env])
    return bonus.reward, env


def test_an_agent_names_the_waypoints_of_each_level_once(author):
    bonus, env = doors("waypoints(author='writer:answer')")
    assert bonus.needs == {"positions"}
    for seed in (1, 1, 2):
        observation, info = env.reset(seed=seed)
        bonus.begin(observation, info["extras"])
        assert bonus.memory[0]["episode"]["left"][-1] == [1, 1] or env.here().place in ((1, 1), (1, 2))
    assert len(author.questions) == 2
    assert describe_level(env) in author.questions[1]
    assert "#####" in author.questions[0]
    # A run that goes on does not ask again.
    other, _ = doors("waypoints(author='writer:answer')")
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    other.attach([env])
    other.begin(observation, info["extras"])
    assert len(author.questions) == 2


def test_no_words_are_no_bonus_and_no_answer_is_no_reward(author):
    bonus, env = doors("waypoints(author='writer:answer')")
    author.reply = "I do not know."
    observation, info = env.reset(seed=1)
    bonus.begin(observation, info["extras"])
    *_, info = env.step(0)
    step = Step(0, 0, 0.0, {"env": 0.0}, 1, extras=info["extras"])
    assert bonus.step_reward_now(step, observation, False) == 0.0
    author.reply = 7
    observation, info = env.reset(seed=2)
    bonus.begin(observation, info["extras"])
    assert bonus.step_reward_now(step, observation, False) is None


def test_an_agent_needs_a_gridworld_to_name_waypoints_of():
    (bonus,) = make_bonuses(["waypoints(author='random')"], 0.9)
    with pytest.raises(InputError, match="gridworlds only"):
        bonus.reward.attach([gym.make("CartPole-v1")])
