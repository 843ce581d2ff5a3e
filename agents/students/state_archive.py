"""Archive of the states reached in a level, with the best path to each (Go-Explore, arXiv 1901.10995, section 2.1).

States with the same key (`cell_of`) form a cell. For each cell the archive keeps the actions that lead to it, the sum
of their rewards, and how often the cell was reached and how often chosen for exploration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import gymnasium as gym
import numpy as np

from ...envs.grids.grid_world import World
from ...errors import InputError
from ...teachers.levels.archive import count_weights
from .tabular_q import table_key

SEEN_WEIGHT = 0.1
"""Weight of the term for reached counts in `StateArchive.weights`, from the released code; for chosen counts it is 1.
"""


@dataclass
class Reached:
    """Cell of an archive.

    Attributes:
        way: actions that lead to the cell from the start of the level.
        reward: sum of the rewards of these actions.
        state: result of the environment's ``get_state`` in the cell; None, after loading, until the cell is revisited.
    """

    way: list[Any]
    reward: float
    state: Any = field(default=None, repr=False)


def cell_of(env: gym.Env[Any, Any], observation: Any) -> bytes:
    """Return the key of the cell of a state: a hash of a gridworld's state without the agent's direction; in other
    environments, of the observation."""
    here = getattr(env.unwrapped, "here", None)
    world = here() if here is not None else None
    if isinstance(world, World):
        return table_key(repr((world.cells, world.agent, world.carried, world.memo)))
    return table_key(observation)


class StateArchive:
    """Archive of one level.

    Args:
        env: an environment with ``get_state`` and ``set_state``; the archives of a run share it.
        level: seed of the level.
        power: exponent of the counts: the probability of choosing a cell is proportional to 1 / (chosen + 1)^power +
            0.1 / (reached + 1)^power.

    Attributes:
        cells: the cells, in the order of discovery.
        solution: the actions of the best successful episode: highest reward, then shortest.

    Raises:
        InputError: the environment cannot be set to a state.
    """

    def __init__(self, env: gym.Env[Any, Any], level: int, power: float = 0.5):
        if not hasattr(env.unwrapped, "set_state"):
            raise InputError(f"{env} cannot be set to an earlier state, which go-explore needs; take another learner.")
        self.env, self.level, self.power = env, level, power
        self.cells: list[Reached] = []
        self.solution: list[Any] | None = None
        self.solution_reward = -np.inf
        self._number: dict[bytes, int] = {}
        self._counts = np.zeros((64, 2), dtype=np.int64)  # chosen, met

    def explore(self, actions: int, draw: Callable[[], Any], rng: np.random.Generator) -> int:
        """Choose a cell, restore its state, and take ``actions`` actions from there, unless the episode ends before.

        Args:
            draw: draws an action.
            rng: random generator for choosing the cell.

        Returns:
            The number of actions taken; actions for returning to the cell are not counted.
        """
        if not self.cells:
            observation, _ = self.env.reset(seed=self.level)
            self._meet(cell_of(self.env, observation), [], 0.0)
        reached = self._choose(rng)
        self._return_to(reached)
        way, earned = [*reached.way], reached.reward
        for taken in range(1, actions + 1):
            way.append(draw())
            observation, reward, terminated, truncated, info = self.env.step(way[-1])
            earned += float(reward)
            if not info.get("reward_valid", True):
                return taken
            if terminated or truncated:
                found, best = self.solution, self.solution_reward
                if info.get("is_success") and (found is None or (earned, -len(way)) > (best, -len(found))):
                    self.solution, self.solution_reward = [*way], earned
                return taken
            self._meet(cell_of(self.env, observation), way, earned)
        return actions

    def weights(self) -> np.ndarray:
        """Return the sampling weights of the cells, float64[cells]."""
        chosen, met = self._counts[: len(self.cells)].T
        return count_weights(chosen, 1.0, self.power) + count_weights(met, SEEN_WEIGHT, self.power)

    def _choose(self, rng: np.random.Generator) -> Reached:
        total = np.cumsum(self.weights())
        number = min(int(np.searchsorted(total, rng.random() * total[-1], side="right")), len(total) - 1)
        self._counts[number, 0] += 1
        return self.cells[number]

    def _return_to(self, reached: Reached) -> None:
        inner: Any = self.env.unwrapped
        self.env.reset(seed=self.level)
        if reached.state is not None:
            inner.set_state(reached.state)
            return
        for action in reached.way:
            self.env.step(action)
        reached.state = inner.get_state()

    def _meet(self, key: bytes, way: Sequence[Any], earned: float) -> None:
        """Count a visit to a cell; store ``way`` if it is the first, earns more, or earns the same and is shorter."""
        inner: Any = self.env.unwrapped
        number = self._number.setdefault(key, len(self.cells))
        if number == len(self.cells):
            self.cells.append(Reached([*way], earned, inner.get_state()))
            if number == len(self._counts):
                self._counts = np.concatenate([self._counts, np.zeros_like(self._counts)])
        else:
            known = self.cells[number]
            if (earned, -len(way)) > (known.reward, -len(known.way)):
                known.way, known.reward, known.state = [*way], earned, inner.get_state()
                self._counts[number] = 0
        self._counts[number, 1] += 1

    def state_dict(self) -> dict[str, Any]:
        """Return paths and counts as JSON-serializable values; environment states are not saved, but found again by
        replaying the paths."""
        return {
            "keys": [key.hex() for key in self._number],
            "ways": [cell.way for cell in self.cells],
            "rewards": [cell.reward for cell in self.cells],
            "counts": self._counts[: len(self.cells)].tolist(),
            "solution": self.solution,
            "solution_reward": None if self.solution is None else self.solution_reward,
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Restore a state returned by `state_dict`."""
        self.cells = [Reached(list(way), float(earned)) for way, earned in zip(state["ways"], state["rewards"])]
        self._number = {bytes.fromhex(key): number for number, key in enumerate(state["keys"])}
        self._counts = np.zeros((max(64, len(self.cells)), 2), dtype=np.int64)
        self._counts[: len(self.cells)] = np.array(state["counts"], dtype=np.int64).reshape(-1, 2)
        self.solution = state["solution"]
        self.solution_reward = -np.inf if self.solution is None else float(state["solution_reward"])
