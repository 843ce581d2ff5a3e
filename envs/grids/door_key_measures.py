"""Extras of DoorKey, computed from the worlds that an episode has passed: positions, distances, subgoals, potentials.

Both the grid and the text family supply them. Distances are exact: they are read from tables, one for each place of the
key and state of the door, made by a search back from the goal.
"""

from __future__ import annotations

import functools
import heapq
import itertools
from collections.abc import Sequence
from typing import Any

from . import door_key_world as dk
from .door_key_world import Cell, Lock, World

SUPPLIES = frozenset({"positions", "waypoints", "goal_distance", "achieved", "potentials"})
Pose = tuple[Cell, int]
"""The cell of the agent, and the direction that it faces."""


def measure_worlds(worlds: Sequence[World], name: str) -> Any:
    """Compute an extra.

    Args:
        worlds: the states 0 to K of an episode.
        name: "positions": the cell [x, y] of the agent in each state; "waypoints": the cells on a shortest way from
            state 0 from which the key is taken and the door opened, and the goal; "goal_distance": the fewest actions
            from each state to the goal; "potentials": minus that as a share of the distance of state 0; "achieved":
            for each of the K steps those of the subgoals "key", "door" and "goal" that it achieved.
    """
    match name:
        case "positions":
            return [list(world.agent) for world in worlds]
        case "waypoints":
            return find_waypoints(worlds[0])
        case "goal_distance":
            return [goal_distance(world) for world in worlds]
        case "potentials":
            first = goal_distance(worlds[0])
            return [-goal_distance(world) / first for world in worlds]
        case "achieved":
            return [list_achieved(before, after) for before, after in itertools.pairwise(worlds)]
    raise KeyError(name)


def list_achieved(before: World, after: World) -> list[str]:
    """List the subgoals that one step achieved."""
    took = before.key is not None and after.key is None
    opened = before.lock == "locked" and after.lock != "locked"
    names = {"key": took, "door": opened, "goal": after.solved and not before.solved}
    return [name for name, achieved in names.items() if achieved]


def find_waypoints(world: World) -> list[list[int]]:
    """Return the cells from which a shortest plan takes the key and opens the door, and the goal."""
    found = []
    for action in dk.find_shortest_plan(world):
        if action in (dk.PICK_UP, dk.TOGGLE):
            found.append(list(world.agent))
        world = dk.apply_action(world, action)
    return [*found, list(world.goal)]


def goal_distance(world: World) -> float:
    """Return the fewest actions to the goal."""
    table = _tabulate_distances(world.walls, world.door, world.goal, world.key, world.lock)
    return float(table[world.agent, world.facing])


@functools.lru_cache(maxsize=256)
def _tabulate_distances(
    walls: frozenset[Cell], door: Cell, goal: Cell, key: Cell | None, lock: Lock
) -> dict[Pose, int]:
    """Return the fewest actions to the goal from each pose, given where the key is and how the door stands."""
    # Poses with their distances: on the goal, and those from which the next action takes the key or opens the door.
    ends: list[tuple[int, Pose]] = [(0, (goal, facing)) for facing in range(4)]
    uses: list[tuple[Cell, Cell | None, Lock]] = [] if key is None else [(key, None, lock)]
    if lock == "closed" or (lock == "locked" and key is None):
        uses.append((door, key, "open"))
    for (x, y), key_after, lock_after in uses:
        after = _tabulate_distances(walls, door, goal, key_after, lock_after)
        for facing, (dx, dy) in enumerate(dk.STEPS):
            pose = (x - dx, y - dy), facing
            if pose in after:
                ends.append((after[pose] + 1, pose))
    found: dict[Pose, int] = {}
    heapq.heapify(ends)
    while ends:
        far, pose = heapq.heappop(ends)
        if pose in found:
            continue
        found[pose] = far
        (x, y), facing = pose
        dx, dy = dk.STEPS[facing]
        before = [((x, y), (facing + 1) % 4), ((x, y), (facing + 3) % 4)]
        if (x, y) != key and ((x, y) != door or lock == "open"):
            before.append(((x - dx, y - dy), facing))
        for other in before:
            if other not in found and other[0] not in walls:
                heapq.heappush(ends, (far + 1, other))
    return found
