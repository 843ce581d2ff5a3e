"""Extras of gridworlds, computed from the worlds of an episode: positions, distances, subgoals, potentials.

Native environments and text twins supply the same. Distances come from the planner's tables.
"""

from __future__ import annotations

import itertools
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
        name: "positions": the cell [x, y] of the agent in each state; "waypoints": the cells on a shortest way from
            state 0 from which something is picked up, dropped or toggled, and the one where the way ends;
            "goal_distance": the fewest actions from each state to the end of the mission, the limit of steps where it
            cannot be accomplished any more; "potentials": minus that as a share of the distance of state 0;
            "achieved": for each of the K steps the names of the subgoals that it achieved.
    """
    match name:
        case "positions":
            return [list(world.place) for world in worlds]
        case "waypoints":
            return find_waypoints(rules, worlds[0])
        case "goal_distance":
            return _measure_distances(rules, worlds)
        case "potentials":
            distances = _measure_distances(rules, worlds)
            return [-distance / max(distances[0], 1.0) for distance in distances]
        case "achieved":
            flags = [rules.flags(world) for world in worlds]
            return [
                [subgoal for subgoal, was, now in zip(rules.subgoals, before, after) if now and not was]
                for before, after in itertools.pairwise(flags)
            ]
    raise KeyError(name)


def _measure_distances(rules: GridRules, worlds: Sequence[World]) -> list[float]:
    distances = [0 if rules.flags(world)[-1] else find_distance(rules, world) for world in worlds]
    return [float(far if far < FAR else rules.limit(worlds[0])) for far in distances]


def find_waypoints(rules: GridRules, world: World) -> list[list[int]]:
    """Return the cells from which a shortest way picks up, drops and toggles, and the one where it ends."""
    found: list[list[int]] = []
    for _ in range(rules.limit(world)):
        if rules.flags(world)[-1]:
            break
        action = find_action(rules, world)
        if action in (PICK_UP, DROP, TOGGLE):
            found.append(list(world.place))
        world = rules.advance(world, action)
    return [*found, list(world.place)]
