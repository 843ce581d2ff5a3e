"""The world of DoorKey without any framework: layout, dynamics and planner, shared by the grid and the text family.

The layout and the dynamics are those of MiniGrid's DoorKey (Chevalier-Boisvert et al., arXiv 2306.13831): a wall splits
a square room, its one door is locked, the key lies on the agent's side and the goal in the far corner of the other.
Only the extra walls are added. A `World` is a frozen value; `apply_action` returns the next one. A test compares it
with MiniGrid step by step.
"""

from __future__ import annotations

import functools
from collections import deque
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..param_space import IntAxis, ParamSpace

Cell = tuple[int, int]
Lock = Literal["locked", "closed", "open"]

# MiniGrid's numbering of actions and directions (x grows to the east, y to the south).
LEFT, RIGHT, FORWARD, PICK_UP, DROP, TOGGLE, DONE = range(7)
DIRECTIONS = ("east", "south", "west", "north")
STEPS: tuple[Cell, ...] = ((1, 0), (0, 1), (-1, 0), (0, -1))
_RING: tuple[Cell, ...] = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))

PARAM_SPACE = ParamSpace([IntAxis("size", 5, 16, limits=(5, 40)), IntAxis("obstacles", 0, 8, limits=(0, 40))])


@dataclass(frozen=True, slots=True)
class World:
    """One state of the world.

    Args:
        size: cells along each side, the outer wall included.
        walls: all wall cells, the outer ones too.
        door: position of the door.
        goal: position of the goal.
        lock: state of the door.
        key: position of the key, or None when the agent carries it.
        agent: position of the agent.
        facing: index into `DIRECTIONS`.
    """

    size: int
    walls: frozenset[Cell]
    door: Cell
    goal: Cell
    lock: Lock
    key: Cell | None
    agent: Cell
    facing: int

    def __deepcopy__(self, memo: object) -> World:
        """Return the world itself, which is immutable."""
        return self

    @property
    def ahead(self) -> Cell:
        """The cell in front of the agent."""
        dx, dy = STEPS[self.facing]
        return self.agent[0] + dx, self.agent[1] + dy

    @property
    def solved(self) -> bool:
        return self.agent == self.goal

    @property
    def progress(self) -> float:
        """Thirds: the key taken (or no longer needed), the door unlocked, the goal reached."""
        if self.solved:
            return 1.0
        if self.lock != "locked":
            return 2 / 3
        return 1 / 3 if self.key is None else 0.0


def step_limit(size: int) -> int:
    """Return MiniGrid's limit of steps."""
    return 10 * size**2


def generate_world(rng: np.random.Generator, size: int, obstacles: int) -> World:
    """Draw a solvable start. As many of the ``obstacles`` extra walls are placed as leave each room connected."""
    split = int(rng.integers(2, size - 2))
    door = (split, int(rng.integers(1, size - 2)))
    goal = (size - 2, size - 2)
    border = {(x, y) for x in range(size) for y in range(size) if x in (0, size - 1) or y in (0, size - 1)}
    walls = (border | {(split, y) for y in range(size)}) - {door}
    room = [(x, y) for x in range(1, split) for y in range(1, size - 1)]
    agent, key = (room[i] for i in rng.choice(len(room), 2, replace=False).tolist())
    walls = _add_obstacles(rng, walls, size, {agent, key, goal, door}, obstacles)
    return World(size, frozenset(walls), door, goal, "locked", key, agent, int(rng.integers(4)))


def _add_obstacles(rng: np.random.Generator, walls: set[Cell], size: int, kept: set[Cell], count: int) -> set[Cell]:
    free = [(x, y) for y in range(1, size - 1) for x in range(1, size - 1) if (x, y) not in walls]
    for i in rng.permutation(len(free)).tolist() if count else ():
        if count == 0:
            break
        # If all free cells are connected, the door counted as free, then each room is connected and touches the door.
        if free[i] not in kept and (
            _keeps_neighbours_connected(walls, free[i]) or _is_connected(walls | {free[i]}, size)
        ):
            walls = walls | {free[i]}
            count -= 1
    return walls


def _keeps_neighbours_connected(walls: set[Cell], cell: Cell) -> bool:
    """Return whether the free cells around ``cell`` stay connected without it, a quick test before searching the
    room."""
    x, y = cell
    ring = [(x + dx, y + dy) not in walls for dx, dy in _RING]
    # Connected free cells form one run around the cell, so that a run begins at most once.
    return sum(here and not before for here, before in zip(ring, ring[-1:] + ring)) <= 1


def _is_connected(walls: set[Cell], size: int) -> bool:
    free = {(x, y) for x in range(1, size - 1) for y in range(1, size - 1)} - walls
    edge = [next(iter(free))]
    free.discard(edge[0])
    while edge:
        x, y = edge.pop()
        for dx, dy in STEPS:
            neighbour = (x + dx, y + dy)
            if neighbour in free:
                free.discard(neighbour)
                edge.append(neighbour)
    return not free


def apply_action(world: World, action: int) -> World:
    """Return the world after one of MiniGrid's seven actions; an action without effect returns ``world`` itself."""
    ahead = world.ahead
    if action == LEFT:
        return replace(world, facing=(world.facing - 1) % 4)
    if action == RIGHT:
        return replace(world, facing=(world.facing + 1) % 4)
    if action == FORWARD and can_enter(world, ahead):
        return replace(world, agent=ahead)
    if action == PICK_UP and world.key == ahead:
        return replace(world, key=None)
    if action == DROP and world.key is None and ahead not in world.walls | {world.door, world.goal}:
        return replace(world, key=ahead)
    if action == TOGGLE and ahead == world.door:
        if world.lock != "locked":
            return replace(world, lock="open" if world.lock == "closed" else "closed")
        if world.key is None:
            return replace(world, lock="open")
    return world


def can_enter(world: World, cell: Cell) -> bool:
    """Return whether the agent could step onto ``cell``."""
    return cell not in world.walls and cell != world.key and (cell != world.door or world.lock == "open")


_SearchState = tuple[Cell, int, Cell | None, Lock]


def find_shortest_plan(world: World) -> list[int]:
    """Find a shortest list of actions to the goal by breadth-first search; empty where the goal cannot be reached."""
    walls, door, goal = world.walls, world.door, world.goal
    # Only agent, facing, key and lock change.
    start: _SearchState = (world.agent, world.facing, world.key, world.lock)
    parents: dict[_SearchState, tuple[_SearchState, int]] = {}
    seen, queue = {start}, deque([start])
    while queue:
        here = queue.popleft()
        agent, facing, key, lock = here
        if agent == goal:
            actions = []
            while here != start:
                here, action = parents[here]
                actions.append(action)
            return actions[::-1]
        dx, dy = STEPS[facing]
        ahead = (agent[0] + dx, agent[1] + dy)
        after: list[tuple[int, _SearchState]] = []
        # Neither closing an open door nor dropping the key ever helps; both would only enlarge the search.
        if ahead == key:
            after.append((PICK_UP, (agent, facing, None, lock)))
        elif ahead == door and lock != "open":
            if lock == "closed" or key is None:
                after.append((TOGGLE, (agent, facing, key, "open")))
        elif ahead not in walls:
            after.append((FORWARD, (ahead, facing, key, lock)))
        after.append((LEFT, (agent, (facing - 1) % 4, key, lock)))
        after.append((RIGHT, (agent, (facing + 1) % 4, key, lock)))
        for action, there in after:
            if there not in seen:
                seen.add(there)
                parents[there] = here, action
                queue.append(there)
    return []


def greedy_action(world: World) -> int:
    """Return the next action of a player that looks one step ahead: it turns and moves to reduce the distance to the
    key, then the door, then the goal; where nothing does, it moves where it can."""
    if world.lock == "locked" and world.key is not None:
        target, use = world.key, PICK_UP
    elif world.lock != "open":
        target, use = world.door, TOGGLE
    else:
        target, use = world.door if world.agent[0] < world.door[0] else world.goal, FORWARD
    if world.ahead == target:
        return use
    x, y = world.agent

    def gain(facing: int) -> int:
        dx, dy = STEPS[facing]
        there = (x + dx, y + dy)
        # A blocked direction is worse than any that can be entered.
        near = abs(target[0] - x) + abs(target[1] - y) - abs(target[0] - there[0]) - abs(target[1] - there[1])
        return near if there == target or can_enter(world, there) else -2

    best = max((world.facing, world.facing + 1, world.facing + 3, world.facing + 2), key=lambda way: gain(way % 4)) % 4
    if best == world.facing:
        return FORWARD
    return LEFT if (world.facing - 1) % 4 == best else RIGHT


class Planner:
    """Next actions on a shortest way; a plan is kept as long as the world follows it."""

    def __init__(self) -> None:
        self._next: dict[World, int] = {}

    def __call__(self, world: World) -> int:
        if world not in self._next:
            self._next = {}
            at = world
            for action in find_shortest_plan(world):
                self._next[at] = action
                at = apply_action(at, action)
        return self._next.get(world, DONE)


def render_map(world: World) -> str:
    """Render the map as lines of text: # wall, K key, L D O door (locked, closed, open), G goal, > v < ^ agent, .
    nothing."""
    size = world.size
    signs = list(_render_walls(size, world.walls))
    marks = [(world.goal, "G"), (world.door, {"locked": "L", "closed": "D", "open": "O"}[world.lock])]
    if world.key is not None:
        marks.append((world.key, "K"))
    for (x, y), sign in (*marks, (world.agent, ">v<^"[world.facing])):
        signs[y * (size + 1) + x] = sign
    return "".join(signs)


@functools.lru_cache(maxsize=64)
def _render_walls(size: int, walls: frozenset[Cell]) -> str:
    """Render the map with walls only, cached since consecutive worlds share it."""
    return "\n".join(["".join(["#" if (x, y) in walls else "." for x in range(size)]) for y in range(size)])
