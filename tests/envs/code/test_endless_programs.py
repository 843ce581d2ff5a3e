"""That a program which never ends costs the time of one test, in every environment that runs programs."""

from __future__ import annotations

import ast
import time

import gymnasium as gym
import pytest
from palaestra.envs import sandbox
from palaestra.rewards.answers import fenced, program_in

from .sandboxed import needs_sandbox

# What a call may take here, and what a step may, on a busy machine: less than two tests that wait for their end.
SECONDS, STEP = 0.9, 1.7
IDS = sorted(
    name
    for name, spec in gym.registry.items()
    if str(spec.entry_point).startswith("palaestra.envs.code.")
    and getattr(gym.envs.registration.load_env_creator(str(spec.entry_point)), "needs_sandbox", False)
)


def endless(answer: str) -> str:
    """The same program, in which every function, or else the whole, begins with a loop that does not end."""
    tree = ast.parse(program_in(answer))
    loop = ast.parse("while True: pass").body
    bodies = [node.body for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)] or [tree.body]
    for body in bodies:
        body[:0] = loop
    return fenced(ast.unparse(tree))


@needs_sandbox
@pytest.mark.parametrize("name", IDS)
def test_program_without_end_costs_one_limit_and_not_one_a_test(name: str) -> None:
    env = gym.make(name, disable_env_checker=True, difficulty=0.5)
    assert env.unwrapped.limits.seconds < 3  # type: ignore[attr-defined]
    env.close()
    env = gym.make(name, disable_env_checker=True, difficulty=0.5, seconds=SECONDS)
    sandbox.run("")
    took = []
    # A busy machine may take long a few times.
    while not took or (took[-1] > STEP and len(took) < 8):
        env.reset(seed=0)
        action = endless(env.unwrapped.oracle())  # type: ignore[attr-defined]
        begun = time.monotonic()
        _, _, _, _, info = env.step(action)
        took.append(time.monotonic() - begun)
        assert info["reward_valid"]
        assert not info.get("is_success")
    assert took[-1] <= STEP, took
    env.close()
