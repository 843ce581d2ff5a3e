"""`DoorKeyMoves`: the tasks and steps of DoorKey without MiniGrid and without observations, for blind players.

MiniGrid renders the agent's view at each step, which takes a hundred times as long as the step. Success rates of random
and repeated actions are measured here instead. A test checks that both agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium as gym
import numpy as np

from ..task_env import TaskEnv
from . import door_key_world as dk


class DoorKeyMoves(TaskEnv):
    """The worlds of `DoorKey` under the same seeds, parameters and limit of steps; observations are always 0."""

    param_space = dk.PARAM_SPACE

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.observation_space = gym.spaces.Discrete(1)
        self.action_space = gym.spaces.Discrete(dk.DONE + 1)
        self._world: dk.World | None = None
        self._steps = 0

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> dk.World:
        return dk.generate_world(rng, params["size"], params["obstacles"])

    def content_of(self, episode: dk.World) -> str:
        return dk.render_map(episode)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        self._world, self._steps = self.begin(seed, options), 0
        return 0, self.task_info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.require_running()
        self._world = world = dk.apply_action(self.here(), int(action))
        self._steps += 1
        solved = world.solved
        truncated = not solved and self._steps >= dk.step_limit(world.size)
        self._ended = solved or truncated
        return 0, float(solved), solved, truncated, {"is_success": solved}

    def here(self) -> dk.World:
        if self._world is None:
            raise gym.error.ResetNeeded(f"{type(self).__name__} has no world yet; call reset() first.")
        return self._world

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "world": self.here(), "steps": self._steps}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._world, self._steps = state["world"], state["steps"]
