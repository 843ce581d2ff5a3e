"""Episodes of an environment's solver as lists of observations, actions and rewards, and the code of their actions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ..oracle import has_solver

_TRIES = 4
"""Most episodes of the solver per wanted one; a scripted solver may fail."""
_MOST_STEPS = 10_000


@dataclass(frozen=True)
class SolvedEpisode:
    """Successful episode of a solver: T + 1 observations, T actions, T rewards; ``terminated`` is False if the episode
    was truncated."""

    observations: list[Any]
    actions: list[Any]
    rewards: list[float]
    terminated: bool


def require_solver(env: gym.Env[Any, Any]) -> None:
    """Raise InputError if an environment has no solver."""
    if not has_solver(env):
        raise InputError(f"demonstrations need a solver, and {env} has none; take another learner.")


def record_demonstrations(
    env: gym.Env[Any, Any], count: int, key: Sequence[int], levels: Sequence[int] = ()
) -> list[SolvedEpisode]:
    """Play ``count`` successful episodes of the environment's solver.

    Args:
        key: numbers from which the episodes' seeds are derived.
        levels: seeds to play instead, in turn.

    Raises:
        InputError: the environment has no solver, or it fails in three of four episodes.
    """
    require_solver(env)
    solve, found = env.get_wrapper_attr("oracle"), []
    for number in range(_TRIES * count):
        seed = (
            levels[number % len(levels)] if levels else int(np.random.SeedSequence([*key, number]).generate_state(1)[0])
        )
        observation, info = env.reset(seed=seed)
        observations, actions, rewards, terminated, truncated = [observation], [], [], False, False
        while not (terminated or truncated) and len(actions) < _MOST_STEPS:
            actions.append(solve())
            observation, reward, terminated, truncated, info = env.step(actions[-1])
            observations.append(observation)
            rewards.append(float(reward))
        # An environment that reports no success has no failures to leave out.
        if info.get("is_success", True):
            found.append(SolvedEpisode(observations, actions, rewards, bool(terminated)))
        if len(found) == count:
            return found
    raise InputError(
        f"of {_TRIES * count} episodes of the solver {len(found)} were successes; {count} are wanted: ask for fewer "
        "demonstrations."
    )


class ActionCode:
    """Actions of a space as arrays: int64[n] counted from 0, or float32[n, d] scaled to [-1, 1].

    Attributes:
        choices: number of Discrete actions; None for a Box.
        shape: shape of one action.
    """

    def __init__(self, space: Any):
        discrete = isinstance(space, gym.spaces.Discrete)
        self.space = space
        self.choices: int | None = int(space.n) if discrete else None
        self.shape: tuple[int, ...] = tuple(space.shape)

    def from_env(self, actions: Sequence[Any]) -> np.ndarray:
        """Encode n actions of the environment."""
        if self.choices is not None:
            return np.asarray(actions, dtype=np.int64) - int(self.space.start)
        low, high = self.space.low, self.space.high
        return (2.0 * (np.asarray(actions) - low) / (high - low) - 1.0).astype(np.float32)

    def to_env(self, actions: np.ndarray) -> list[Any]:
        """Return n actions of the environment."""
        if self.choices is not None:
            return [int(action) + int(self.space.start) for action in actions]
        low, high = self.space.low, self.space.high
        return list(np.clip(low + (actions + 1.0) / 2.0 * (high - low), low, high).astype(self.space.dtype))


def action_code(space: gym.Space[Any]) -> ActionCode:
    """Return the code of an action space.

    Raises:
        InputError: the space is neither Discrete nor a bounded Box of one dimension.
    """
    bounded = isinstance(space, gym.spaces.Box) and len(space.shape) == 1 and space.is_bounded()
    if not (bounded or isinstance(space, gym.spaces.Discrete)):
        raise InputError(f"demonstrated actions must be Discrete or of a bounded Box of one dimension, not {space}.")
    return ActionCode(space)
