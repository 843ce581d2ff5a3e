"""Tabular Q-learning (Watkins 1989) over the observations of several environments.

Each distinct observation is a row of the table, so states with equal observations share a row. Actions must be
Discrete. Only numpy is needed.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np

from ...errors import InputError
from ...schedules import Linear
from ...teachers.students.tabular import observation_key
from .practice import Practice
from .student_config import QConfig

FILE = "table.npz"
_CHOICES = 5


def q_target(r_t: float, v_next: float, terminated: bool, discount: float) -> float:
    """Return r + discount max_a Q(s', a), or r if the step terminated the episode (Sutton and Barto 2018, eq. 6.8).
    Truncation is no termination: the last target of a truncated episode includes ``v_next``, max_a Q(s', a)."""
    return r_t if terminated else r_t + discount * v_next


def table_key(observation: Any) -> bytes:
    """Return a 16-byte hash of an observation of any type; equal observations have equal hashes."""
    return hashlib.blake2b(repr(observation_key(observation)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


class QTable:
    """Table of action values by observation.

    Args:
        actions: number of actions.
        initial: initial value of untried actions.
    """

    def __init__(self, actions: int, initial: float = 0.0):
        self.actions, self.initial = actions, initial
        self.rows: dict[bytes, np.ndarray] = {}

    def row(self, observation: Any) -> np.ndarray:
        """Return the row of an observation, float64[actions]; add a row for a new observation."""
        key = table_key(observation)
        found = self.rows.get(key)
        if found is None:
            found = self.rows[key] = np.full(self.actions, self.initial)
        return found

    def look_up(self, observation: Any) -> np.ndarray:
        """Return the values of an observation, float64[actions], without adding a row."""
        found = self.rows.get(table_key(observation))
        return np.full(self.actions, self.initial) if found is None else found

    def save(self, folder: Path) -> None:
        keys = np.frombuffer(b"".join(self.rows), dtype=np.uint8).reshape(-1, 16)
        values = np.array(list(self.rows.values())).reshape(len(self.rows), self.actions)
        np.savez(folder / FILE, keys=keys, values=values)

    def load(self, folder: Path) -> None:
        with np.load(folder / FILE, allow_pickle=False) as saved:
            self.rows = {key.tobytes(): row.copy() for key, row in zip(saved["keys"], saved["values"], strict=True)}


def greedy_action(values: np.ndarray, rng: np.random.Generator) -> int:
    """Return the index of the largest value; ties are broken at random."""
    best = np.flatnonzero(values == values.max())
    return int(best[0] if len(best) == 1 else best[rng.integers(len(best))])


class QLearning:
    """Learner with an action-value table and epsilon-greedy actions.

    Args:
        config: see `QConfig`.
        practice: as for `PPO`.

    Raises:
        InputError: actions are not Discrete.
    """

    def __init__(self, config: QConfig, practice: Practice):
        space = practice.action_space
        if not isinstance(space, gym.spaces.Discrete):
            raise InputError(f"tabular Q-learning chooses Discrete actions, not {space}; take another learner.")
        self.config, self.practice = config, practice
        self.table = QTable(int(space.n), config.initial)
        self.first = int(space.start)
        self._rng = np.random.default_rng([config.seed, _CHOICES])
        self._explore = Linear(config.explore, config.explore_end)

    def iterate(self, done: float) -> dict[str, float]:
        """Play and learn for `QConfig.iteration` steps; return metrics. ``done``: completed share of the run."""
        config, practice, rng = self.config, self.practice, self._rng
        explore = self._explore(round(1e6 * done), round(1e6 * config.explore_share))
        rows = [self.table.row(observation) for observation in practice.observations]
        errors, trained = 0.0, 0
        for _ in range(config.iteration // config.environments):
            actions = [self._choose(row, explore, rng) for row in rows]
            step = practice.step([self.first + action for action in actions])
            following = [self.table.row(observation) for observation in practice.observations]
            for number, (row, action) in enumerate(zip(rows, actions)):
                if not step.trained[number]:
                    continue
                after = self.table.look_up(step.last[number]) if number in step.last else following[number]
                terminated = bool(step.terminated[number])
                target = q_target(float(step.rewards[number]), float(after.max()), terminated, config.discount)
                error = target - row[action]
                row[action] += config.rate * error
                errors, trained = errors + abs(float(error)), trained + 1
            rows = following
        return {"states": float(len(self.table.rows)), "td_error": errors / max(trained, 1), "explore": explore}

    def _choose(self, values: np.ndarray, explore: float, rng: np.random.Generator) -> int:
        if rng.random() < explore:
            return int(rng.integers(len(values)))
        return greedy_action(values, rng)

    def save_policy(self, folder: Path) -> None:
        """Write the file that is needed to play the policy."""
        self.table.save(folder)

    def save(self, folder: Path) -> dict[str, Any]:
        """Write the state to ``folder``; return the JSON-serializable part, which the caller must store."""
        self.table.save(folder)
        return {"rng": self._rng.bit_generator.state}

    def load(self, folder: Path, state: dict[str, Any]) -> None:
        """Restore the state that `save` wrote to ``folder`` and returned as ``state``."""
        self.table.load(folder)
        self._rng.bit_generator.state = state["rng"]

    def load_policy(self, folder: Path) -> None:
        """Load the policy that `save_policy` wrote."""
        self.table.load(folder)

    def player(self, temperature: float) -> Callable[..., tuple[list[int], list[Any]]]:
        """Return the function by which `StudentAgent` plays; ``temperature`` is ignored."""

        def play(observations: Sequence[Any], states: list[Any], rngs: Sequence[np.random.Generator]) -> Any:
            pairs = zip(observations, rngs, strict=True)
            return [self.first + greedy_action(self.table.look_up(seen), rng) for seen, rng in pairs], states

        return play
