"""A student that plays an environment of few states: tabular Q-learning or SARSA, in numpy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal

import gymnasium as gym
import numpy as np

from ...checks import Declared, keyword_declared, option
from ...errors import InputError


@keyword_declared
class TabularStudent(Declared):
    """Q-learning (Watkins 1989) or SARSA (Rummery and Niranjan 1994) over raw observations.

    Each distinct observation is a row of the table; a Dict is identified by all its entries. States with equal
    observations share a row.

    Attributes:
        table: observation -> float64[actions].

    Raises:
        InputError: actions are not Discrete, or an argument out of range.
    """

    env: gym.Env[Any, Any] = option(
        kw_only=False,
        says='environment with Discrete actions; tasks are passed as ``reset(options={"params": task})``.',
    )
    algorithm: Literal["q", "sarsa"] = option(
        default="q", says='"q" bootstraps from the best next action, "sarsa" from the next action taken.'
    )
    rate: float = option(default=0.2, above=0, high=1, says="step size.")
    discount: float = option(default=0.97, low=0, high=1, says="discount of later rewards.")
    explore: float = option(default=0.1, low=0, high=1, says="share of random actions while learning.")
    initial: float = option(default=0.0, says="initial value of every action.")
    seed: int = option(default=0, says="seed of exploration and of the episodes.")

    def setup(self) -> None:
        actions = self.env.action_space
        if not isinstance(actions, gym.spaces.Discrete):
            raise InputError(f"a tabular student needs Discrete actions, not {actions}.")
        self.actions, self.first = int(actions.n), int(actions.start)
        self.table: dict[Hashable, np.ndarray] = {}
        self._rng = np.random.default_rng(self.seed)

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
        """Return the share of ``tasks`` solved, each played once without learning."""
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
