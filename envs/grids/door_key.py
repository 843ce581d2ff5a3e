"""palaestra/DoorKey-v0: a key, the locked door that it opens, and a goal behind it; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import EMPTY, ENTERABLE, GOAL, WALL, code_of
from .grid_families import define_family
from .grid_rules import GridRules, Option
from .grid_world import FORWARD, LEFT, PICK_UP, RIGHT, TOGGLE, Canvas, Cell, World
from .vocabulary import ACTION_NAMES

KEY, LOCKED, CLOSED, OPEN = (
    code_of("key", "yellow"),
    *(code_of("door", "yellow", s) for s in ("locked", "closed", "open")),
)
_RING: tuple[Cell, ...] = ((1, 0), (1, 1), (0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1))


class DoorKeyRules(GridRules):
    """Find the key, open the door, reach the goal.

    Description:
        A wall with a locked door splits a square room. The key lies on the agent's side, the goal in the far corner of
        the other side. Extra walls are added where the room stays solvable.

    Parameters:
        size (5 to 16, on request up to 40): cells along each side, the outer wall included.
        obstacles (0 to 8, on request up to 40): extra walls, as many as fit without cutting a room in two.

    Termination:
        On reaching the goal. Truncated after 10 * size**2 steps, MiniGrid's limit, and in text after size**2 turns, 1.6
        to 8 times as many as the shortest way takes.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-DoorKey``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 16, limits=(5, 40)), IntAxis("obstacles", 0, 8, limits=(0, 40))])
    subgoals = ("key", "door", "goal")

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        split = int(rng.integers(2, size - 2))
        door = (split, int(rng.integers(1, size - 2)))
        goal = (size - 2, size - 2)
        canvas = Canvas(size, size)
        canvas.column(split, 0, size)
        canvas[door], canvas[goal] = LOCKED, GOAL
        room = [(x, y) for x in range(1, split) for y in range(1, size - 1)]
        agent, key = (room[i] for i in rng.choice(len(room), 2, replace=False).tolist())
        canvas[key] = KEY
        _add_obstacles(rng, canvas, agent, params["obstacles"])
        return canvas.world(agent, int(rng.integers(4)))

    def mission(self, world: World) -> str:
        return "use the key to open the door and then get to the goal"

    def limit(self, world: World) -> int:
        return 10 * world.width**2

    def turns(self, world: World) -> int:
        return world.width**2

    def flags(self, world: World) -> tuple[bool, ...]:
        return world.carried == KEY, LOCKED not in world.cells, world.cells[world.agent] == GOAL

    def options(self, world: World) -> Sequence[Option]:
        # A key dropped behind the open door that blocks the way is picked up again.
        fetch = [Option(PICK_UP, world.cells.index(KEY))] if KEY in world.cells else []
        return [*fetch, *super().options(world)]

    def content(self, world: World) -> str:
        return self.draw_map(world)


def _add_obstacles(rng: np.random.Generator, canvas: Canvas, agent: Cell, count: int) -> None:
    """Add walls where all other cells stay connected, the door counted as free: each room is then connected, and
    touches the door."""
    free = [(x, y) for y in range(1, canvas.height - 1) for x in range(1, canvas.width - 1) if canvas[x, y] != WALL]
    for i in rng.permutation(len(free)).tolist() if count else ():
        if count == 0:
            break
        if free[i] != agent and canvas[free[i]] == EMPTY:
            canvas[free[i]] = WALL
            if _keeps_neighbours_connected(canvas, free[i]) or _is_connected(canvas):
                count -= 1
            else:
                canvas[free[i]] = EMPTY


def _keeps_neighbours_connected(canvas: Canvas, cell: Cell) -> bool:
    """Return True if the free cells around ``cell`` stay connected without it, a quick test before searching the
    room."""
    x, y = cell
    ring = [canvas[x + dx, y + dy] != WALL for dx, dy in _RING]
    # Connected free cells form one run around the cell, so that a run begins at most once.
    return sum(here and not before for here, before in zip(ring, ring[-1:] + ring)) <= 1


def _is_connected(canvas: Canvas) -> bool:
    free = {index for index, code in enumerate(canvas.cells) if code != WALL}
    edge = [free.pop()]
    while edge:
        here = edge.pop()
        for step in (1, canvas.width, -1, -canvas.width):
            if here + step in free:
                free.discard(here + step)
                edge.append(here + step)
    return not free


def choose_greedy_action(world: World) -> int:
    """Return the next action of a one-step greedy player: it turns and moves to reduce the distance to the key, then
    the door, then the goal; if no move does, it makes any possible move."""
    width, cells = world.width, world.cells
    door = next(cells.index(code) for code in (LOCKED, CLOSED, OPEN) if code in cells)
    if cells[door] == LOCKED and world.carried != KEY:
        target, use = cells.index(KEY), PICK_UP
    elif cells[door] != OPEN:
        target, use = door, TOGGLE
    else:
        target, use = door if world.agent % width < door % width else cells.index(GOAL), FORWARD
    if world.ahead == target:
        return use

    def distance(index: int) -> int:
        return abs(target % width - index % width) + abs(target // width - index // width)

    def gain(facing: int) -> int:
        there = world.agent + (1, width, -1, -width)[facing]
        # A blocked direction is worse than any free one.
        return distance(world.agent) - distance(there) if there == target or ENTERABLE[cells[there]] else -2

    facing = world.facing
    best = max((facing, facing + 1, facing + 3, facing + 2), key=lambda way: gain(way % 4)) % 4
    if best == facing:
        return FORWARD
    return LEFT if (facing - 1) % 4 == best else RIGHT


DoorKey, DoorKeyText = define_family(
    DoorKeyRules,
    grid={
        "note": "The limit is so long that random actions get there in a part of the smaller rooms.",
    },
    text={
        "heuristic_action": lambda env, episode: ACTION_NAMES[choose_greedy_action(episode.world)],
        "coloured": False,
        "legend": "Take the key K, open the door L, reach the goal G. # is wall, . is free, D a closed and O an open "
        "door; you are > v < or ^.",
        "note": "Heading straight for key, door and goal succeeds mostly, which does not fall with difficulty, as the "
        "rooms are open except for a few walls.",
    },
)
