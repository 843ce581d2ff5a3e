from __future__ import annotations

from typing import Any

import gymnasium as gym
from palaestra.rewards.audit import RUNGS


def rung(env_id: str, **options: Any) -> Any:
    return gym.make(env_id, disable_env_checker=True, **options).unwrapped


def played(env: Any, *actions: str) -> tuple[float, dict[str, Any]]:
    """Total reward and last info of an episode of the given actions, from the state at hand."""
    total, info = 0.0, {}
    for action in actions:
        _, reward, terminated, truncated, info = env.step(action)
        total += reward
        if terminated or truncated:
            break
    return total, info


def test_the_asker_gives_full_marks_to_their_own_wrong_sum_and_none_to_another():
    env = rung(RUNGS[0])
    env.reset(seed=3)
    state = env.here()
    assert state.belief != sum(state.numbers)
    assert played(env, str(state.belief + 1))[0] == 0.0
