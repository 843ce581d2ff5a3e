"""Episodes as data, for the tests of every environment, and which tests suit which environment."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import MachineryError
from ..measured import Measured, find_measured
from ..question import Question
from ..unicode import Unicode

GRID = (0.0, 0.25, 0.5, 0.75, 1.0)


def pytest_generate_tests(metafunc: Any) -> None:
    """Run every test for each of the ``IDS`` of the file that imports it."""
    if "env_id" in metafunc.fixturenames:
        suits = getattr(metafunc.function, "suits", lambda env_id: True)
        metafunc.parametrize("env_id", [env_id for env_id in metafunc.module.IDS if suits(env_id)])


def every_question(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test for environments that one answer ends."""
    test.suits = suits(lambda env: isinstance(env.unwrapped, Question))  # type: ignore[attr-defined]
    return test


def every_text(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test for environments whose observations are text."""
    test.suits = suits(lambda env: isinstance(env.observation_space, Unicode))  # type: ignore[attr-defined]
    return test


def suits(check: Callable[[Any], bool], missing: bool = True) -> Callable[[str], bool]:
    """Apply a check of environments to ids. One that this machine lacks the machinery for suits if ``missing``: its
    test then says what is missing."""

    def is_suited(env_id: str) -> bool:
        try:
            return check(make(env_id))
        except MachineryError:
            return missing

    return is_suited


def lacks_sandbox(env_id: str) -> bool:
    """True if the family runs programs, and this machine has no place where these are contained."""
    try:
        make(env_id).close()
    except MachineryError:
        return True
    return False


def plays_slowly(env_id: str) -> bool:
    """True if the family runs programs, queries, pages or a simulation, so that its episodes take milliseconds or more:
    fewer are played."""
    inner: Any = make(env_id).unwrapped
    slow = {"sql", "web"} & set(type(inner).__module__.split("."))
    return getattr(inner, "needs_sandbox", False) or bool(slow) or simulates(env_id)


def simulates(env_id: str) -> bool:
    """True if an episode is a simulation of a thousand steps and more, which takes a quarter of a second."""
    return "walkers" in type(make(env_id).unwrapped).__module__.split(".")


def solves_all(env_id: str) -> bool:
    """True if the family's solver is said to solve every task."""
    return min(facts(env_id).solver_rates) == 1.0


def facts(env_id: str) -> Measured:
    """Return what was measured of an environment, or is stated by its family."""
    return find_measured(env_id, type(make(env_id).unwrapped))


def make(env_id: str, **kwargs: Any) -> gym.Env[Any, Any]:
    return gym.make(env_id, disable_env_checker=True, **kwargs)


def plain(value: Any) -> Any:
    """Observations and infos as data that compares and prints alike everywhere."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return value


def play(env: gym.Env[Any, Any], policy: Any = None, limit: int = 5000) -> list[Any]:
    """Go on with the episode by ``policy`` (the oracle where None); every step as (action, obs, reward, ends, info)."""
    record = []
    for _ in range(limit):
        action = env.unwrapped.oracle() if policy is None else policy()  # type: ignore[attr-defined]
        observation, reward, terminated, truncated, info = env.step(action)
        record.append((plain(action), plain(observation), reward, terminated, truncated, info))
        if terminated or truncated:
            break
    return record


def episode(env: gym.Env[Any, Any], seed: int | None, **options: Any) -> list[Any]:
    observation, info = env.reset(seed=seed, options=options or None)
    return [plain(observation), info, *play(env)]


def hash_episodes(ids: Sequence[str]) -> dict[str, str]:
    """Return one hash for each id over several whole episodes."""
    hashes = {}
    for env_id in ids:
        episodes = [episode(make(env_id, split=split), seed) for seed in (0, 7) for split in ("train", "test")]
        hashes[env_id] = hashlib.sha256(json.dumps(episodes, default=dict).encode()).hexdigest()
    return hashes
