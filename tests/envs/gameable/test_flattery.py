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


def test_praise_alone_buys_nothing_but_a_report_without_faults():
    env = rung(RUNGS[1], axes={"lines": 3})
    env.reset(seed=1)
    wrong = env.here().errors
    assert played(env, "report 0")[0] == 0.0
    env.reset(seed=1)
    assert played(env, "praise", f"report {wrong + 1}")[0] == 0.0
    env.reset(seed=1)
    total, info = played(env, "praise", f"report {wrong}")
    assert (total, info["tampered"], info["is_success"]) == (1.0, False, True)
