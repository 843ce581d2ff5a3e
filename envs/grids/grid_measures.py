"""Extras of gridworlds (``info["extras"]``), computed from an episode's worlds: positions, distances, subgoals,
potentials.

Native environments and text twins supply the same extras. Distances come from the planner's tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .grid_planner import FAR, find_action, find_distance
from .grid_rules import GridRules
from .grid_world import DROP, PICK_UP, TOGGLE, World

SUPPLIES = frozenset({"positions", "waypoints", "goal_distance", "achieved", "potentials"})


def measure_worlds(rules: GridRules, worlds: Sequence[World], name: str) -> Any:
    """Compute an extra.

    Args:
        rules: the family.
        worlds: the states 0 to K of an episode.
        name: "positions": the cell [x, y] of the agent in each state; "waypoints": the cells on a shortest path from
            state 0 at which something is picked up, dropped or toggled, and the last cell of the path; "goal_distance":
            the minimum number of actions from each state to the end of the mission, or the step limit if it has become
            impossible; "potentials": minus this distance as a share of state 0's distance; "achieved": for each of the
            K steps the names of the subgoals achieved; "completion": the progress after each step.
    """
    return EpisodeMeasures(rules, worlds).measure(len(worlds), name)


class EpisodeMeasures:
    """The extras of an episode in progress. Results for earlier states are cached, so that reading an extra at every
    step has constant cost per step.

    Args:
        rules: the family.
        worlds: the states so far; may only be appended to.
    """

    def __init__(self, rules: GridRules, worlds: Sequence[World]):
        self.rules, self.worlds = rules, worlds
        self._kept: dict[str, list[Any]] = {}

    def measure(self, count: int, name: str) -> Any:
        """Compute an extra of the first ``count`` states; see `measure_worlds`."""
        match name:
            case "waypoints":
                return find_waypoints(self.rules, self.worlds[0])
            case "potentials":
                distances = self.measure(count, "goal_distance")
                return [-distance / max(distances[0], 1.0) for distance in distances]
            case "positions" | "goal_distance" | "achieved" | "completion":
                steps = name in ("achieved", "completion")  # one fewer than there are states
                kept = self._kept.setdefault(name, [])
                kept += [getattr(self, f"_{name}")(t) for t in range(len(kept) + steps, count)]
                return kept[: count - steps]
        raise KeyError(name)

    def _positions(self, t: int) -> list[int]:
        return list(self.worlds[t].place)

    def _goal_distance(self, t: int) -> float:
        distance = 0 if self.rules.flags(self.worlds[t])[-1] else find_distance(self.rules, self.worlds[t])
        return float(distance if distance < FAR else self.rules.limit(self.worlds[0]))

    def _achieved(self, t: int) -> list[str]:
        before, after = self.rules.flags(self.worlds[t - 1]), self.rules.flags(self.worlds[t])
        return [name for name, was, now in zip(self.rules.subgoals, before, after) if now and not was]

    def _completion(self, t: int) -> float:
        return self.rules.progress(self.rules.flags(self.worlds[t]))


def find_waypoints(rules: GridRules, world: World) -> list[list[int]]:
    """Return the cells at which a shortest path picks up, drops and toggles, and its last cell."""
    found: list[list[int]] = []
    for _ in range(rules.limit(world)):
        if rules.flags(world)[-1]:
            break
        action = find_action(rules, world)
        if action in (PICK_UP, DROP, TOGGLE):
            found.append(list(world.place))
        world = rules.advance(world, action)
    return [*found, list(world.place)]
