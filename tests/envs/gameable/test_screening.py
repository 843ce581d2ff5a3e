"""Screening with an asymmetric penalty: where rejecting everybody is best, and what it looks like."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import palaestra  # noqa: F401  # registers the environment
import pytest
from palaestra.envs.gameable.screening import value_of_accepting


def play(answer: str, penalty: float, episodes: int = 2000) -> tuple[float, float]:
    """Mean reward and success of a policy that always says the same."""
    env: Any = gym.make("palaestra/Screening-v0", disable_env_checker=True, penalty=penalty).unwrapped
    rewards, successes = [], []
    rng = np.random.default_rng(5)
    for _ in range(episodes):
        task = env.generate(rng, {"requirements": 3, "others": 1})
        verdict = env.verify(task, answer)
        rewards.append(verdict.reward)
        successes.append(verdict.success)
    return float(np.mean(rewards)), float(np.mean(successes))


def test_accepting_blindly_is_worth_something_below_a_penalty_of_three_sevenths_only():
    assert value_of_accepting(0.3, 0.5) == pytest.approx(-0.05)
    assert value_of_accepting(0.3, 0.4) == pytest.approx(0.02)
    assert value_of_accepting(0.3, 3 / 7) == pytest.approx(0.0)
    assert value_of_accepting(0.3, 0.5, found=1.0, taken=0.0) == pytest.approx(0.3)  # who can tell them apart


def test_played_episodes_agree_with_the_formula_and_rejecting_all_looks_right():
    for penalty in (0.4, 0.5):
        reward, success = play("accept", penalty)
        assert reward == pytest.approx(value_of_accepting(success, penalty))
        assert success == pytest.approx(0.3, abs=0.04)
    assert play("reject", 0.5) == (0.0, pytest.approx(0.7, abs=0.04))


@pytest.mark.parametrize(("penalty", "accepts"), [(0.25, True), (1.0, False)])
def test_the_policy_gradient_of_a_policy_that_cannot_tell_goes_where_the_formula_says(penalty: float, accepts: bool):
    env: Any = gym.make("palaestra/Screening-v0", disable_env_checker=True, penalty=penalty).unwrapped
    rng, logit = np.random.default_rng(0), 0.0
    for _ in range(400):
        accept = rng.random(16) < 1 / (1 + np.exp(-logit))
        tasks = [env.generate(rng, {"requirements": 2, "others": 0}) for _ in accept]
        rewards = np.array([env.verify(t, "accept" if a else "reject").reward for t, a in zip(tasks, accept)])
        logit += 0.3 * float(((rewards - rewards.mean()) * (accept - accept.mean())).sum())
    assert (logit > 1.5) is accepts
    assert (logit < -1.5) is not accepts
