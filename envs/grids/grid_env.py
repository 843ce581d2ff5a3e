"""`GridEnv`, the native environment of a family of gridworlds: MiniGrid's observations, actions and rewards.

The family's `GridRules` define the layout of levels and the mission; everything else is here. `BlindGrid` plays the
same episodes without observations, for players that ignore them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import gymnasium as gym
import numpy as np

from ..unicode import Unicode
from .grid_measures import SUPPLIES, EpisodeMeasures
from .grid_planner import find_action, find_distance
from .grid_rules import GridRules
from .grid_world import World
from .level_reset import LevelReset, check_horizon
from .minigrid_surface import MiniGridSurface
from .partial_view import VIEW, Viewer
from .tiles import draw_grid

MAX_MISSION = 512
"""Characters of a mission; four of BabyAI's longest clauses take 340."""


class RulesEnv(LevelReset):
    """Common base of `GridEnv` and `BlindGrid`: levels, steps, rewards and the oracle.

    A subclass sets ``rules_class``.

    Args:
        max_steps: steps after which an episode is truncated; None for the family's limit.
        **kwargs: the family's own arguments (`GridRules.arguments`), and those of `LevelReset`.

    Raises:
        InputError: an argument is out of range or unknown.
    """

    rules_class: ClassVar[type[GridRules]] = GridRules

    def __init__(self, *, max_steps: int | None = None, **kwargs: Any):
        own = {name: kwargs.pop(name) for name in self.rules_class.arguments if name in kwargs}
        super().__init__(**kwargs)
        self.rules = self.rules_class(**own)
        self.return_range = self.rules.return_range
        self.action_space = gym.spaces.Discrete(self.rules.actions)
        self._horizon = check_horizon(max_steps)
        self._world: World | None = None
        self.step_count = 0
        self.max_steps = 0

    def last_world(self) -> World | None:
        return self._world

    def generate_episode(self, rng: np.random.Generator, params: dict[str, Any]) -> World:
        return self.draw_world(rng, params)

    def content_of(self, episode: World) -> str:
        return self.rules.content(episode)

    def split_key(self, episode: World) -> str:
        return self.rules.split_key(episode)

    def oracle(self, world: World) -> int:
        """Return the next action on a shortest way from ``world``; without argument, from the current state."""
        return self.rules.steer(world, find_action(self.rules, world))

    def solver_cost(self, episode: World) -> float:
        """Return the length of a shortest solution."""
        return float(find_distance(self.rules, episode))

    def here(self) -> World:
        if self._world is None:
            raise gym.error.ResetNeeded(f"{type(self).__name__} has no world yet; call reset() first.")
        return self._world

    def place_world(self, world: World, steps: int = 0, limit: int | None = None) -> None:
        """Continue from ``world`` as if ``steps`` steps had been taken. The step limit is ``limit`` if given, else the
        constructor's ``max_steps``, else the family's limit for ``world``."""
        self._world, self.step_count = world, steps
        self.max_steps = limit or self._horizon or self.rules.limit(world)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "world": self.here(), "steps": self.step_count, "limit": self.max_steps}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self.place_world(state["world"], state["steps"], state["limit"])

    def advance(self, action: int) -> tuple[tuple[bool, ...], float, bool]:
        """Take a step; return the flags of the subgoals, the reward, and whether the mission ended in a failure."""
        before, rules = self.here(), self.rules
        self._world = after = rules.advance(before, action)
        self.step_count += 1
        flags = rules.flags(after)
        if flags[-1]:
            return flags, 1 - 0.9 * (self.step_count / self.max_steps), False
        failed = rules.fails(before, action, after)
        return flags, rules.penalty if failed else 0.0, failed


class GridEnv(MiniGridSurface, RulesEnv):
    """Base of native gridworlds; `define_family` makes one of a `GridRules`.

    Args:
        agent_view_size: cells along the side of the agent's view: an odd number of at least 3; None for 7, or for the
            view size of the MiniGrid id in ``minigrid``. For sizes other than 7, MiniGrid's code makes observations and
            pictures, which is slower and needs MiniGrid (palaestra[grid]).
        see_through_walls: True if walls hide nothing; None for the default of the family or of the MiniGrid id.
        tile_size, highlight, agent_pov: for pictures: pixels per cell, True to highlight the agent's view, and True to
            draw nothing but that view.
        screen_size: size of MiniGrid's window; ignored, as there is no window here.
        **kwargs: see `RulesEnv`.

    Raises:
        InputError: an argument is out of range or unknown.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array", "ansi"], "render_fps": 10}  # type: ignore[misc]
    supplies = SUPPLIES | {"completion"}

    def __init__(
        self,
        *,
        agent_view_size: int | None = None,
        see_through_walls: bool | None = None,
        tile_size: int = 32,
        highlight: bool = True,
        agent_pov: bool = False,
        screen_size: int | None = 640,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        if agent_view_size is None:
            agent_view_size = VIEW if self._levels is None else int(self._levels.env.agent_view_size)
        self.set_view(agent_view_size, tile_size, highlight, agent_pov)
        self.screen_size = screen_size
        self.observation_space = gym.spaces.Dict(
            {
                "image": gym.spaces.Box(0, 255, (self.agent_view_size, self.agent_view_size, 3), np.uint8),
                "direction": gym.spaces.Discrete(4),
                "mission": Unicode(MAX_MISSION),
            }
        )
        if see_through_walls is None:
            see_through_walls = self.sees_through()
        self.viewer = Viewer(see_through_walls)
        self.mission = ""
        # Only ever appended to during an episode, as infos of earlier steps refer to it.
        self._passed: list[World] = []
        self._measures = EpisodeMeasures(self.rules, self._passed)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        world = self.begin(seed, options)
        self.place_world(world, limit=self._horizon or self._level_limit)
        self._keep([world])
        info = self.task_info((self._measures, 1))
        if (shown := self.rules.shown_first(world)) is world:
            return self.gen_obs(), info
        self._world = shown
        try:
            return self.gen_obs(), info
        finally:
            self._world = world

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.require_running()
        if type(action) is not int:
            if isinstance(action, np.ndarray) and action.shape == () and action.dtype.kind in "iu":
                action = action[()]
            action = int(action) if isinstance(action, (int, np.integer)) and not isinstance(action, bool) else -1
        error = None
        if 0 <= action < self.rules.actions:
            flags, reward, failed = self.advance(action)
        else:
            error = f"The action must be a whole number from 0 to {self.rules.actions - 1}."
            self.step_count += 1
            flags, reward, failed = self.rules.flags(self.here()), 0.0, False
        terminated = flags[-1] or failed
        # MiniGrid reports both ends when an episode terminates on its last step.
        truncated = self.step_count >= self.max_steps and (self._levels is not None or not terminated)
        # After a failure, stepping continues from that state, as in MiniGrid, for wrappers in which the agent does not
        # die.
        self._ended = flags[-1] or truncated
        self._passed.append(self._world)  # type: ignore[arg-type]
        info = self.step_info(
            (self._measures, len(self._passed)),
            {"failure" if failed else "success": reward},
            success=flags[-1],
            progress=self.rules.progress(flags),
            error=error,
            feedback=error or "",
        )
        return self.gen_obs(), reward, terminated, truncated, info

    def gen_obs(self) -> dict[str, Any]:
        """Return MiniGrid's observation of the current state."""
        world = self.here()
        if self.agent_view_size != VIEW:
            return self.compute_obs()
        return {"image": self.viewer.image(world), "direction": world.facing, "mission": self.mission}

    def place_world(self, world: World, steps: int = 0, limit: int | None = None) -> None:
        super().place_world(world, steps, limit)
        self.mission = self.rules.mission(world)

    def compute_extra(self, subject: tuple[EpisodeMeasures, int], name: str) -> Any:
        measures, count = subject
        return measures.measure(count, name) if name in SUPPLIES or name == "completion" else None

    def _keep(self, worlds: list[World]) -> None:
        self._passed = worlds
        self._measures = EpisodeMeasures(self.rules, worlds)

    def get_state(self) -> dict[str, Any]:
        return {**super().get_state(), "passed": [*self._passed]}

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._keep([*state["passed"]])

    def draw(self, episode: World) -> np.ndarray:
        return draw_grid(episode, self.viewer)

    def render(self) -> Any:
        if self.render_mode == "rgb_array":
            return self.get_frame(self.highlight, self.tile_size, self.agent_pov)
        return self.rules.draw_map(self.here()) if self.render_mode == "ansi" else None


class BlindGrid(RulesEnv):
    """The episodes of a `GridEnv` under the same seeds, parameters and limits; observations are always 0."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.observation_space = gym.spaces.Discrete(1)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[int, dict[str, Any]]:
        self.place_world(self.begin(seed, options), limit=self._horizon or self._level_limit)
        return 0, self.task_info()

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.require_running()
        flags, reward, failed = self.advance(int(action))
        terminated = flags[-1] or failed
        truncated = self.step_count >= self.max_steps and not terminated
        self._ended = terminated or truncated
        return 0, reward, terminated, truncated, {"is_success": flags[-1]}
