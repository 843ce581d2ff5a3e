"""Helpers of the test suite: episodes as plain data, and decorators that select the environments of a test."""

from __future__ import annotations

import hashlib
import json
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import MachineryError
from ..measured import Measured, find_measured
from ..question import Question
from ..unicode import Unicode

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


def pytest_generate_tests(metafunc: Any) -> None:
    """Run every test for each of the ``IDS`` of the importing test file to which it applies."""
    if "env_id" in metafunc.fixturenames:
        suits = getattr(metafunc.function, "suits", lambda env_id: True)
        metafunc.parametrize("env_id", [env_id for env_id in metafunc.module.IDS if suits(env_id)])


def only_questions(test: Callable[..., None]) -> Callable[..., None]:
    """Restrict a test to environments that are a `Question`."""
    test.suits = suits(lambda env: isinstance(env.unwrapped, Question))  # type: ignore[attr-defined]
    return test


def only_text(test: Callable[..., None]) -> Callable[..., None]:
    """Restrict a test to environments whose observations are text."""
    test.suits = suits(lambda env: isinstance(env.observation_space, Unicode))  # type: ignore[attr-defined]
    return test


def suits(check: Callable[[Any], bool], missing: bool = True) -> Callable[[str], bool]:
    """Turn a check of environments into a check of ids. An id whose environment cannot be made on this machine suits if
    ``missing``: the test then says what is missing."""

    def is_suited(env_id: str) -> bool:
        try:
            return check(make(env_id))
        except MachineryError:
            return missing

    return is_suited


def lacks_sandbox(env_id: str) -> bool:
    """Return True if the family runs programs, and this machine has no sandbox for them."""
    try:
        make(env_id).close()
    except MachineryError:
        return True
    return False


_SLOW_MODULES = {"sql", "web", "connect_four", "domineering", "memory_stores"}
_SLOW_MODULES |= {"next_segment", "next_token", "othello", "playground"}


def plays_slowly(env_id: str) -> bool:
    """Return True if an episode takes ten milliseconds or more (programs, SQL, web pages, a simulation, a search);
    tests play fewer episodes of such families."""
    inner: Any = make(env_id).unwrapped
    is_slow = not _SLOW_MODULES.isdisjoint(type(inner).__module__.split("."))
    return is_slow or getattr(inner, "needs_sandbox", False) or simulates(env_id)


def seeds(env_id: str, count: int, slow: int, simulated: int) -> range:
    """Return the seeds that a test plays: ``count`` of them, ``slow`` of a family that `plays_slowly`, ``simulated`` of
    one that `simulates`."""
    return range(simulated if simulates(env_id) else slow if plays_slowly(env_id) else count)


def simulates(env_id: str) -> bool:
    """Return True if an episode is a simulation of a thousand steps or more, about a quarter of a second."""
    return "walkers" in type(make(env_id).unwrapped).__module__.split(".")


def solves_all(env_id: str) -> bool:
    """Return True if the solver solves every task, according to the facts of the environment."""
    return min(facts(env_id).solver_rates) == 1.0


def facts(env_id: str) -> Measured:
    """Return the facts of an environment from measured.json; values that its family states override them."""
    return find_measured(env_id, type(make(env_id).unwrapped))


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def plain(value: Any) -> Any:
    """Convert arrays in observations and infos to lists, which compare and print alike everywhere."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def steps(env: gym.Env[Any, Any], policy: Any = None, limit: int = 5000) -> Iterator[Any]:
    """Continue the episode with ``policy`` (None: the oracle) to its end, or for at most ``limit`` steps. Yield
    (action, observation, reward, terminated, truncated, info) of each step."""
    for _ in range(limit):
        action = env.unwrapped.oracle() if policy is None else policy()  # type: ignore[attr-defined]
        step = env.step(action)
        yield action, *step
        if step[2] or step[3]:
            break


def play(env: gym.Env[Any, Any], policy: Any = None, limit: int = 5000) -> list[Any]:
    """Return the `steps` of an episode as plain data."""
    return [(plain(action), plain(seen), *rest) for action, seen, *rest in steps(env, policy, limit)]


def last_step(env: gym.Env[Any, Any]) -> Any:
    """Continue the episode with the oracle to its end, and return its last step."""
    return deque(steps(env), maxlen=1).pop()


def episode(env: gym.Env[Any, Any], seed: int | None, **options: Any) -> list[Any]:
    observation, info = env.reset(seed=seed, options=options or None)
    return [plain(observation), info, *play(env)]


def hash_episodes(ids: Sequence[str]) -> dict[str, str]:
    """Return id -> SHA-256 hash over two whole episodes, one of each split."""
    hashes = {}
    for env_id in ids:
        episodes = [episode(make(env_id, split=split), seed) for split, seed in (("train", 0), ("test", 7))]
        hashes[env_id] = hashlib.sha256(json.dumps(episodes, default=dict).encode()).hexdigest()
    return hashes
