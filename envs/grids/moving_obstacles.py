"""palaestra/MovingObstacles-v0: reach the goal among moving balls; and its text twin."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import EMPTY, GOAL, WALL, code_of
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import DONE, FORWARD, LEFT, RIGHT, Canvas, World, apply_action

BALL = code_of("ball", "blue")
_AROUND = tuple((dx, dy) for dy in (-1, 0, 1) for dx in (-1, 0, 1))


class MovingObstaclesRules(GridRules):
    """Reach the goal in a room with moving balls, without running into one.

    Description:
        A square without inner walls, seen through. Before each step every ball moves to a random free cell next to its
        own, diagonally too. The agent starts in the upper left corner, facing east; the goal is in the far corner. The
        balls' moves are drawn at the reset, so that a restored snapshot continues as the episode did.

    Parameters:
        size (5 to 10, on request up to 20): cells along each side, the outer wall included.
        obstacles (1 to 5, on request up to 10): balls, at most size / 2 + 1, or else size / 2, as in MiniGrid.

    Termination:
        On reaching the goal, and on walking into a wall or a ball, a failure. Truncated after 4 * size**2 steps,
        MiniGrid's limit. Distances do not count the balls, as they move.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Dynamic-Obstacles``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 10, limits=(5, 20)), IntAxis("obstacles", 1, 5, limits=(1, 10))])
    see_through = True
    actions = FORWARD + 1
    penalty = -1.0

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size, count = params["size"], params["obstacles"]
        canvas = Canvas(size, size)
        canvas[size - 2, size - 2] = GOAL
        count = count if count <= size / 2 + 1 else size // 2
        free = [cell for cell in canvas.free() if cell != (1, 1)]
        balls = [free[i] for i in rng.permutation(len(free))[:count].tolist()]
        for ball in balls:
            canvas[ball] = BALL
        moves = rng.bytes(count * 4 * size**2)
        return canvas.world((1, 1), 0, task=moves, memo=(0, tuple(canvas.index(ball) for ball in balls)))

    def adopt(self, world: World, env: Any) -> World:
        balls = tuple(index for index, code in enumerate(world.cells) if code == BALL)
        return world._replace(task=env.np_random.bytes(len(balls) * env.max_steps), memo=(0, balls))

    def mission(self, world: World) -> str:
        return "get to the green goal square"

    def limit(self, world: World) -> int:
        return 4 * world.width**2

    def advance(self, world: World, action: int) -> World:
        step, balls = world.memo
        moves = world.task[step * len(balls) : (step + 1) * len(balls)]
        return self.roll(world, action, [lambda free, move=move: free[move * len(free) >> 8] for move in moves])

    def roll(self, world: World, action: int, choices: Sequence[Callable[[list[int]], int]]) -> World:
        """Return the next state after each ball has moved. ``choices`` has for each ball a function that picks one of
        the free cells around it."""
        width, cells, agent, facing, carried, task, (step, balls) = world
        grid, moved = bytearray(cells), list(balls)
        for place, choose in enumerate(choices):
            at = moved[place]
            free = [at + dx + dy * width for dx, dy in _AROUND]
            free = [index for index in free if grid[index] == EMPTY and index != agent]
            if free:
                moved[place] = choose(free)
                grid[at], grid[moved[place]] = EMPTY, BALL
        return apply_action(World(width, bytes(grid), agent, facing, carried, task, (step + 1, tuple(moved))), action)

    def fails(self, before: World, action: int, after: World) -> bool:
        return action == FORWARD and before.cells[before.ahead] in (WALL, BALL)

    def still(self, world: World) -> World:
        width, cells, agent, facing, carried, *_ = world
        return World(width, cells.replace(bytes((BALL,)), bytes((EMPTY,))), agent, facing, carried)

    def steer(self, world: World, action: int) -> int:
        if action == DONE or (action == FORWARD and world.cells[world.ahead] == BALL):
            # Only turning is safe in the meantime.
            return LEFT if world.memo[0] % 4 < 2 else RIGHT
        return action

    def content(self, world: World) -> str:
        """Return the map and a digest of the moves."""
        return f"{self.draw_map(world)}\n{hashlib.blake2b(world.task, digest_size=8).hexdigest()}"


MovingObstacles, MovingObstaclesText = define_family(MovingObstaclesRules)
