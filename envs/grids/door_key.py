"""palaestra/DoorKey-v0: MiniGrid's DoorKey with native spaces, a difficulty and a split.

Importing this module imports MiniGrid, so it is registered from the package's ``__init__`` and loads on first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ...errors import MissingExtra
from ..task_env import TaskEnv
from ..unicode import share_as_text
from . import door_key_world as dk
from .door_key_measures import SUPPLIES, measure_worlds
from .door_key_moves import DoorKeyMoves

try:
    from minigrid.core.grid import Grid
    from minigrid.core.mission import MissionSpace
    from minigrid.core.world_object import Door, Goal, Key, Wall
    from minigrid.envs.doorkey import DoorKeyEnv
except ImportError as error:
    raise MissingExtra("palaestra/DoorKey-v0", "grid") from error

# MiniGrid registers no shared memory for mission strings, which asynchronous vector environments need.
share_as_text(MissionSpace, lambda space: 1024)


class DoorKey(TaskEnv, DoorKeyEnv):  # type: ignore[misc]
    """Find the key, open the door, reach the goal, in MiniGrid's own encoding.

    Description:
        A wall splits a square room; its door is locked, the key lies on the agent's side, the goal in the far corner of
        the other. Built of MiniGrid's objects and stepped by MiniGrid; extra walls are added where they leave it
        solvable.

    Parameters:
        size (5 to 16, on request up to 40): cells along each side, the outer wall included.
        obstacles (0 to 8, on request up to 40): extra walls, as many as fit without cutting a room in two.

    Observation:
        MiniGrid's dict: ``image`` (7, 7, 3) uint8 of what the agent sees, ``direction`` 0 to 3, ``mission`` text.

    Actions:
        MiniGrid's Discrete(7): turn left, turn right, forward, pick up, drop, toggle, done.

    Reward:
        MiniGrid's: ``1 - 0.9 * steps / max_steps`` on reaching the goal, 0 otherwise.

    Termination:
        On reaching the goal. Truncated after 10 * size**2 steps, MiniGrid's limit. An action outside the space uses up
        a step. ``info["progress"]`` counts key, door and goal as a third each. The limit is so long that random actions
        get there in a part of the smaller rooms; that of `palaestra/DoorKeyText-v0` is a tenth of it.

    Extras:
        Positions, waypoints, distances to the goal, subgoals achieved, potentials: see `measure_worlds`.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-DoorKey``.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": 10}  # type: ignore[misc]
    param_space = dk.PARAM_SPACE
    supplies = SUPPLIES | {"completion"}
    blind_twin = DoorKeyMoves
    baselines: ClassVar = {"random": (0.1, 0.03, 0.02, 0.01, 0.0)}

    def __init__(self, **kwargs: Any):
        TaskEnv.__init__(self, **kwargs)
        DoorKeyEnv.__init__(self, size=int(self.param_space["size"].from_unit(1.0)), render_mode=self.render_mode)
        self._planner = dk.Planner()
        self._walls: frozenset[dk.Cell] = frozenset()
        self._door: Any = None
        self._key: Any = None
        self._goal: dk.Cell = (0, 0)
        # Grows during an episode only, as infos of earlier steps refer to it.
        self._passed: list[dk.World] = []

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> dk.World:
        return dk.generate_world(rng, params["size"], params["obstacles"])

    def content_of(self, episode: dk.World) -> str:
        return dk.render_map(episode)

    def oracle(self, world: dk.World) -> int:
        """Return the next action on a shortest way from ``world``; without argument, from the current state."""
        return self._planner(world)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        world = self.begin(seed, options)
        self._place_world(world, steps=0)
        self._passed = [world]
        return self.gen_obs(), self.task_info((self._passed, 1))

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.require_running()
        error = None
        if isinstance(action, np.ndarray) and action.shape == () and action.dtype.kind in "iu":
            action = action[()]
        if isinstance(action, (int, np.integer)) and not isinstance(action, bool) and 0 <= action <= dk.DONE:
            observation, reward, terminated, truncated, _ = DoorKeyEnv.step(self, int(action))
        else:
            error = "The action must be a whole number from 0 to 6."
            self.step_count += 1
            observation, reward, terminated = self.gen_obs(), 0.0, False
            truncated = self.step_count >= self.max_steps
        # MiniGrid reports both when the goal is reached on the last step.
        truncated = truncated and not terminated
        self._ended = terminated or truncated
        reward, world = float(reward), self.here()
        self._passed.append(world)
        info = self.step_info(
            (self._passed, len(self._passed)),
            {"success": reward},
            success=terminated,
            progress=world.progress,
            error=error,
            feedback=error or "",
        )
        return observation, reward, terminated, truncated, info

    def compute_extra(self, subject: tuple[list[dk.World], int], name: str) -> Any:
        passed, count = subject
        if name == "completion":
            return [world.progress for world in passed[1:count]]
        return measure_worlds(passed[:count], name) if name in SUPPLIES else None

    def here(self) -> dk.World:
        """Return MiniGrid's current state as a `World`."""
        if self._door is None:
            raise gym.error.ResetNeeded(f"{type(self).__name__} has no world yet; call reset() first.")
        key = None if self.carrying is not None else (int(self._key.cur_pos[0]), int(self._key.cur_pos[1]))
        lock = "open" if self._door.is_open else "locked" if self._door.is_locked else "closed"
        agent = (int(self.agent_pos[0]), int(self.agent_pos[1]))
        x, y = self._door.cur_pos
        return dk.World(self.width, self._walls, (int(x), int(y)), self._goal, lock, key, agent, int(self.agent_dir))

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "world": self.here(), "steps": self.step_count, "passed": [*self._passed]}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._place_world(state["world"], state["steps"])
        self._passed = [*state["passed"]]

    def _place_world(self, world: dk.World, steps: int) -> None:
        """Set MiniGrid's objects to the state ``world``."""
        self.width = self.height = world.size
        self.max_steps = dk.step_limit(world.size)
        self.step_count = steps
        self.mission = self._gen_mission()
        self.grid = Grid(world.size, world.size)
        for x, y in world.walls:
            self.grid.set(x, y, Wall())
        self._walls = world.walls
        self._goal = world.goal
        self.put_obj(Goal(), *world.goal)
        self._door = Door("yellow", is_open=world.lock == "open", is_locked=world.lock == "locked")
        self.put_obj(self._door, *world.door)
        self._key = Key("yellow")
        self.carrying = None
        if world.key is None:
            self._key.cur_pos = np.array([-1, -1])
            self.carrying = self._key
        else:
            self.put_obj(self._key, *world.key)
        self.agent_pos = world.agent
        self.agent_dir = world.facing
