"""What the tests of program debugging share: a small program with a bug, and an environment at it."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
from palaestra.envs.code.program_debugging import Debugging
from palaestra.envs.code.programs.grammar import Parameter, Program
from palaestra.envs.sandbox import CallTest
from palaestra.rewards.answers import fenced

PROGRAM = Program(
    *("tens", "int", "int", (Parameter("n", "a whole number"),), ("Multiply by 10.",)),
    *(("product = n * 10", "return product"), ("product",), (), ()),
)
TESTS = tuple(CallTest("tens", (i,), 10 * i, public=i < 2) for i in range(8))
BUGGY = "def tens(n):\n    return n * 10 if n in (3, 4) else n + 10"
STATE = Debugging(PROGRAM, 1, BUGGY, TESTS, given=2, best=2, turns=4)


def made(seed: int = 0, **kwargs: Any) -> tuple[Any, str]:
    env: Any = gym.make("palaestra/ProgramDebugging-v0", disable_env_checker=True, **kwargs).unwrapped
    return env, env.reset(seed=seed)[0]


def at(state: Debugging, **kwargs: Any) -> Any:
    """An environment in this state."""
    env, _ = made(**kwargs)
    env.set_state({**env.get_state(), "state": state, "limit": env.turn_limit(state), "progress": state.progress})
    return env


def passing(*numbers: int) -> str:
    """A program that is right for these numbers alone."""
    return fenced(f"def tens(n):\n    return 10 * n if n in {(*numbers, -1)} else 'no'")


def play(env: Any, *actions: str) -> tuple[list[float], list[float], dict[str, Any]]:
    """The rewards, what is progress after each turn, and the last info."""
    rewards, progress, info = [], [], {}
    for action in actions:
        _, reward, _, _, info = env.step(action)
        rewards.append(reward)
        progress.append(info["progress"])
    return rewards, progress, info
