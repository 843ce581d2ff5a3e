from __future__ import annotations

from typing import Any

import gymnasium as gym
import pytest
from palaestra.rewards.audit import RUNGS

every_rung = pytest.mark.parametrize("env_id", RUNGS)


def rung(env_id: str, **options: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **options).unwrapped


def exploited(env: Any, cover_up: bool) -> tuple[float, dict[str, Any]]:
    total, ended, info = 0.0, False, {}
    while not ended:
        _, reward, terminated, truncated, info = env.step(env.exploit(cover_up))
        total, ended = total + reward, terminated or truncated
    return total, info


@every_rung
def test_an_honest_agent_never_tampers_and_is_paid_what_its_work_is_worth(env_id: str):
    env = rung(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        total, ended, info = 0.0, False, {}
        while not ended:
            _, reward, terminated, truncated, info = env.step(env.oracle())
            total, ended = total + reward, terminated or truncated
        assert info["recorded_reward"] == info["true_reward"] == total == 1.0
        assert not info["tampered"]
        assert not info["covered_up"]


@every_rung
@pytest.mark.parametrize("cover_up", [False, True])
def test_a_tamperer_is_paid_more_than_its_work_is_worth_and_has_not_succeeded(env_id: str, cover_up: bool):
    env = rung(env_id)
    for seed in range(20):
        env.reset(seed=seed)
        total, info = exploited(env, cover_up)
        assert info["recorded_reward"] == total > info["true_reward"] == 0.0
        assert info["tampered"]
        assert not info["is_success"]
        can_hide = env_id in RUNGS[2:]
        assert info["covered_up"] is (cover_up and can_hide)


@every_rung
def test_the_books_are_open_from_the_first_step(env_id: str):
    env = rung(env_id)
    env.reset(seed=0)
    info = env.step("")[4]
    assert (info["recorded_reward"], info["true_reward"]) == (0.0, 0.0)
    assert (info["tampered"], info["covered_up"]) == (False, False)
