"""students/Corridor-v0: a short walk with axes, for tests of students."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from palaestra.envs.param_space import IntAxis, ParamSpace


class Corridor(gym.Env[Any, Any]):
    """Cells 0 to length; the right end gives 1 and ends, the left one 0. Where to begin follows from the seed."""

    param_space = ParamSpace([IntAxis("length", 2, 6)])
    supplies = frozenset({"potentials", "achieved"})

    def __init__(self, split: str = "all", axes: Any = None, limit: int = 20):
        self.split, self.limit = split, limit
        self.param_space = type(self).param_space.restrict(**(axes or {}))
        self.observation_space = gym.spaces.Box(0, 6, (2,), np.float32)
        self.action_space = gym.spaces.Discrete(2, start=3)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        options = options or {}
        given = options.get("params") or {}
        self.params = self.param_space.complete(given, self.np_random, options.get("difficulty"))
        self.cells = [int(self.np_random.integers(1, self.params["length"]))]
        return self._see(), self._tell()

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in (3, 4)
        self.cells.append(self.cells[-1] + (1 if action == 4 else -1))
        won, lost = self.cells[-1] == self.params["length"], self.cells[-1] == 0
        over = len(self.cells) > self.limit
        return self._see(), float(won), won or lost, over, {**self._tell(), "is_success": won, "progress": float(won)}

    def _see(self) -> np.ndarray:
        return np.array([self.cells[-1], self.params["length"]], dtype=np.float32)

    def _tell(self) -> dict[str, Any]:
        length = self.params["length"]
        extras = {
            "potentials": [cell / length - 1 for cell in self.cells],
            "achieved": [["right"] if after > before else [] for before, after in zip(self.cells, self.cells[1:])],
        }
        difficulty = self.param_space.difficulty(self.params)
        return {"params": dict(self.params), "difficulty": difficulty, "task_id": "walk", "extras": extras}


gym.register("students/Corridor-v0", entry_point=Corridor)
