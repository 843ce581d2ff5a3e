"""Bonus for progress along waypoints that a planner computes or an agent names."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import gymnasium as gym

from ....checks import option
from ....envs.grids.descriptions import describe_map, legend_of
from ....envs.grids.grid_env import GridEnv
from ....envs.grids.vocabulary import make_vocabulary
from ....errors import InputError
from ...waypoint_questions import ask_for_waypoints
from .bonus import register
from .slot_bonus import POTENTIAL, StateBonus

PLANNER = "planner"


@register("waypoints")
class WaypointBonus(StateBonus):
    """Progress along waypoints of the planner or, with author="openai:MODEL", of an agent (KAGI, arXiv 2407.10341, as a
    potential).

    The potential is minus the length of the path through the waypoints not yet reached, divided by the length at the
    start of the episode: with discount 1 the whole way earns ``weight`` in total. Without waypoints the bonus is 0.
    """

    paper = "KAGI, arXiv 2407.10341 (its constants are not published)"
    weight: float = 0.5
    form: str = option(default=POTENTIAL, init=False)
    radius: float = option(default=1.0, low=0, says="distance in cells within which a waypoint counts as reached.")
    author: Any = option(
        default=PLANNER,
        says='"planner": the environment\'s waypoints; or an agent, as for --agent, which is asked once per level.',
    )
    most: int = option(default=8, low=1, unit="waypoints", says="most waypoints that an agent may name.")

    def setup(self) -> None:
        super().setup()
        self.needs = frozenset({"positions", "waypoints"} if self.author == PLANNER else {"positions"})
        self._named: dict[str, list[list[int]] | None] = {}

    def attach(self, envs: Sequence[gym.Env[Any, Any]]) -> None:
        if self.author != PLANNER and not isinstance(envs[0], GridEnv):
            raise InputError(f"an agent names waypoints of gridworlds only, not of {envs[0]}; take author='planner'.")
        super().attach(envs)

    def start_episode(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> Any:
        if self.author == PLANNER:
            waypoints = extras["waypoints"]
        else:
            task = describe_level(self.env_of(slot))
            if task not in self._named:
                (self._named[task],) = ask_for_waypoints(self.author, [task], self.most)
            waypoints = self._named[task]
        if waypoints is None:
            return {"left": None, "length": 0.0}
        left = [list(place) for place in waypoints]
        return {"left": left, "length": self._length(extras["positions"][-1], left)}

    def value_of(self, slot: int, observation: Any, extras: Mapping[str, Any]) -> float | None:
        episode = self.episode_memory(slot)
        if episode["left"] is None:
            return None
        return -self._length(extras["positions"][-1], episode["left"]) / (episode["length"] or 1.0)

    def _length(self, place: Sequence[float], left: list[list[int]]) -> float:
        """Remove the waypoints that are reached from ``left``; return the length of the path through the others."""
        while left and math.dist(place, left[0]) <= self.radius:
            left.pop(0)
        return sum(math.dist(one, other) for one, other in itertools.pairwise([place, *left]))

    def shared(self) -> dict[str, Any]:
        return {"named": dict(self._named)}

    def load_shared(self, state: Mapping[str, Any]) -> None:
        self._named = dict(state["named"])


def describe_level(env: Any) -> str:
    """Return the mission and the map of a gridworld's current state as text for an agent."""
    world, words = env.here(), make_vocabulary("plain", 0, True)
    return f"{env.rules.mission(world)}. On the map {legend_of(world.cells, words)}; the agent is > v < or ^.\n" + (
        describe_map(world, env.viewer, words)
    )
