"""A student that plays an environment of few states: tabular Q-learning or SARSA, in numpy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from ...checks import check_choice, check_count, check_share
from ...errors import InputError


class TabularStudent:
    """Q-learning (Watkins 1989) or SARSA (Rummery and Niranjan 1994) over raw observations.

    Each observation is a row of the table; a Dict counts with all its entries. States with equal observations share a
    row.

    Args:
        env: with discrete actions; tasks are passed as ``reset(options={"params": task})``.
        algorithm: "q" bootstraps from the best next action, "sarsa" from the one taken.
        rate: step size, in (0, 1].
        discount: in [0, 1].
        explore: share of random actions while learning.
        initial: value of actions that were never tried.
        seed: seed of exploration and of the episodes.

    Attributes:
        table: observation -> float64[actions].

    Raises:
        InputError: actions are not Discrete, or an argument out of range.
    """

    def __init__(
        self,
        env: gym.Env[Any, Any],
        *,
        algorithm: Literal["q", "sarsa"] = "q",
        rate: float = 0.2,
        discount: float = 0.97,
        explore: float = 0.1,
        initial: float = 0.0,
        seed: int = 0,
    ):
        if not isinstance(env.action_space, gym.spaces.Discrete):
            raise InputError(f"a tabular student needs Discrete actions, not {env.action_space}.")
        check_choice("algorithm", algorithm, ("q", "sarsa"))
        check_count("seed", seed, low=0)
        self.env, self.algorithm, self.initial = env, algorithm, float(initial)
        self.rate = check_share("rate", rate, positive=True)
        self.discount, self.explore = check_share("discount", discount), check_share("explore", explore)
        self.actions, self.first = int(env.action_space.n), int(env.action_space.start)
        self.table: dict[Hashable, np.ndarray] = {}
        self._rng = np.random.default_rng(seed)

    def episode(self, task: Any, *, learn: bool = True) -> tuple[float, bool]:
        """Play ``task`` once; return the sum of rewards, and ``info["is_success"]`` (by default: the sum is positive).

        Without ``learn`` there is no exploration and no update; ties are still broken at random.
        """
        explore = self.explore if learn else 0.0
        observation, info = self.env.reset(seed=int(self._rng.integers(2**31)), options={"params": task})
        values, total = self._values(observation, learn), 0.0
        action = self._action(values, explore)
        while True:
            observation, reward, terminated, truncated, info = self.env.step(self.first + action)
            total += float(reward)
            following = self._values(observation, learn)
            next_action = self._action(following, explore)
            if learn:
                ahead = following.max() if self.algorithm == "q" else following[next_action]
                # Bootstrap after a truncation; the value after a termination is 0.
                target = float(reward) + (0.0 if terminated else self.discount * ahead)
                values[action] += self.rate * (target - values[action])
            if terminated or truncated:
                return total, bool(info.get("is_success", total > 0))
            values, action = following, next_action

    def success(self, tasks: Sequence[Any]) -> float:
        """Share of ``tasks`` solved, each played once without learning."""
        return sum(self.episode(task, learn=False)[1] for task in tasks) / len(tasks)

    def _values(self, observation: Any, keep: bool) -> np.ndarray:
        key = observation_key(observation)
        values = self.table.get(key)
        if values is None:
            values = np.full(self.actions, self.initial)
            if keep:
                self.table[key] = values
        return values

    def _action(self, values: np.ndarray, explore: float) -> int:
        if explore and self._rng.random() < explore:
            return int(self._rng.integers(self.actions))
        best = np.flatnonzero(values == values.max())
        return int(best[self._rng.integers(len(best))])


def observation_key(observation: Any) -> Hashable:
    """Return a hashable key, equal for equal observations of any type."""
    if isinstance(observation, Mapping):
        return tuple((name, observation_key(observation[name])) for name in sorted(observation))
    if isinstance(observation, np.ndarray):
        return observation.shape, observation.tobytes()
    if isinstance(observation, tuple | list):
        return tuple(map(observation_key, observation))
    return observation.item() if isinstance(observation, np.generic) else observation
