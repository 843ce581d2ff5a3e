"""What the head of progress learns of a line of states, and that its differences leave the optimum of a small chain."""

from __future__ import annotations

import json

import gymnasium as gym
import numpy as np
import pytest
from palaestra.agents.students.bonuses.progress_head import ProgressHeadBonus
from palaestra.rewards import Step

STATES = 5


class Line(gym.Env):
    """States 0 to 4, of which the last is the end."""

    observation_space = gym.spaces.Discrete(STATES)
    action_space = gym.spaces.Discrete(2)


def make(**options) -> ProgressHeadBonus:
    bonus = ProgressHeadBonus(1.0, 0.9, **{"settle": 20, "batch": 8, "rate": 3e-3, **options})
    bonus.attach([Line()])
    return bonus


def walk(bonus: ProgressHeadBonus, path: list[int]) -> list[float | None]:
    bonus.begin(path[0], {"completion": ()})
    rewards = []
    for state in path[1:]:
        step = Step(0, "", 0.0, {"env": 0.0}, 1, extras={"completion": (0.0, state / (STATES - 1))})
        rewards.append(bonus.step_reward_now(step, state, state == STATES - 1))
    return rewards


def trained(**options) -> ProgressHeadBonus:
    bonus, rng = make(**options), np.random.default_rng(0)
    for _ in range(150):
        path = [0]
        while path[-1] < STATES - 1:
            path.append(max(0, path[-1] + int(rng.choice([-1, 1]))))
        walk(bonus, path)
    return bonus


def test_until_its_features_have_settled_it_gives_nothing():
    assert walk(make(), [0, 1, 2, 1, 2, 3]) == [0.0] * 5


def test_it_learns_the_progress_of_each_state():
    bonus = trained(form="plain")
    predicted = walk(bonus, [0, 1, 2, 3, 4])
    assert predicted == pytest.approx([0.25, 0.5, 0.75, 1.0], abs=0.1)


def test_its_differences_leave_the_optimal_policy_of_a_chain():
    """Each step costs 0.1 and the end pays 1: from every state, forwards is best, with and without."""
    bonus = trained()
    head = {state: bonus.value_of(0, state, {"completion": (0.0, state / 4)}) for state in range(STATES)}

    def best(shaped: bool) -> list[int]:
        values = np.zeros(STATES)
        for _ in range(200):
            q = np.full((STATES, 2), -np.inf)
            for state in range(STATES - 1):
                for action, move in enumerate((-1, 1)):
                    after = min(max(state + move, 0), STATES - 1)
                    end = after == STATES - 1
                    reward = -0.1 + end
                    if shaped:
                        reward += (0.0 if end else 0.9 * head[after]) - head[state]
                    q[state, action] = reward + (0.0 if end else 0.9 * values[after])
            values = np.append(q[:-1].max(1), 0.0)
        return q[:-1].argmax(1).tolist()

    assert best(shaped=True) == best(shaped=False) == [1, 1, 1, 1]


def test_a_state_that_was_saved_goes_on_to_the_same_numbers():
    bonus, other = make(), make()
    path = [0, 1, 2, 1, 2, 3, 2, 3, 2, 1, 0, 1, 2, 3, 2, 1, 2, 3, 2, 3, 2, 1, 0, 1, 2, 3, 4]
    for _ in range(3):
        walk(bonus, path)
    other.load_state_dict(json.loads(json.dumps(bonus.state_dict())))
    assert walk(other, path) == walk(bonus, path)
    assert other.state_dict() == bonus.state_dict()
