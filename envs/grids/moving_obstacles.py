"""palaestra/MovingObstacles-v0: reach the goal among moving balls; and its text twin.

In our levels the balls' moves are drawn at the reset; in MiniGrid's they are those that its generator draws for them.
"""

from __future__ import annotations

import functools
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
TRIES = 101
"""Places that MiniGrid draws for a ball in a step before it leaves the ball where it is."""


class MovingObstaclesRules(GridRules):
    """Reach the goal in a room with moving balls, without running into one.

    Description:
        A square without inner walls. Before each step every ball moves to a random free cell next to its own,
        diagonally too. The agent starts in the upper left corner, facing east, and sees through walls; the goal is in
        the far corner. The balls' moves are drawn at the reset, so that a restored snapshot continues as the episode
        did.

    Parameters:
        size (5 to 10, on request up to 20): cells along each side, the outer wall included.
        obstacles (1 to 5, on request up to 10): balls; more than size / 2 + 1 are reduced to size // 2, as in MiniGrid.

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
        # MiniGrid moves the balls in the order in which it has placed them.
        balls = tuple(int(ball.cur_pos[1]) * world.width + int(ball.cur_pos[0]) for ball in env.obstacles)
        state = env.np_random.bit_generator.state
        task = (*state["state"].values(), state["has_uint32"], state["uinteger"])
        _draws_of(task)[:] = env.np_random.integers(0, 3, size=200).tolist()
        env.np_random.bit_generator.state = state
        return world._replace(task=task, memo=(0, balls, 0))

    def end_episode(self, world: World, env: Any) -> None:
        _restore(env.np_random, world.task).integers(0, 3, size=world.memo[2])

    def mission(self, world: World) -> str:
        return "get to the green goal square"

    def limit(self, world: World) -> int:
        return 4 * world.width**2

    def advance(self, world: World, action: int) -> World:
        if not isinstance(world.task, bytes):
            return _roll_as_minigrid(world, action)
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

    def without_motion(self, world: World) -> World:
        width, cells, agent, facing, carried, *_ = world
        return World(width, cells.replace(bytes((BALL,)), bytes((EMPTY,))), agent, facing, carried)

    def steer(self, world: World, action: int) -> int:
        if action == DONE or (action == FORWARD and world.cells[world.ahead] == BALL):
            # Only turning is safe in the meantime.
            return LEFT if world.memo[0] % 4 < 2 else RIGHT
        return action

    def content(self, world: World) -> str:
        """Return the map and a digest of the moves."""
        moves = world.task if isinstance(world.task, bytes) else repr(world.task).encode()
        return f"{self.draw_map(world)}\n{hashlib.blake2b(moves, digest_size=8).hexdigest()}"


def _roll_as_minigrid(world: World, action: int) -> World:
    """Return the next state after each ball has moved to the first free one of the places that MiniGrid draws for it.

    The world's task is the state of MiniGrid's generator after the reset, and the last item of its memo the number of
    draws from it so far.
    """
    width, cells, agent, facing, carried, task, (step, balls, start) = world
    draws = _draws_of(task)
    while True:
        grid, moved, drawn = bytearray(cells), list(balls), start
        try:
            for place, at in enumerate(balls):
                for _ in range(TRIES):
                    there = at + draws[drawn] - 1 + (draws[drawn + 1] - 1) * width
                    drawn += 2
                    if grid[there] == EMPTY and there != agent:
                        moved[place] = there
                        grid[at], grid[there] = EMPTY, BALL
                        break
        except IndexError:
            draws[:] = _restore(np.random.default_rng(0), task).integers(0, 3, size=2 * drawn + 200).tolist()
            continue
        memo = step + 1, tuple(moved), drawn
        return apply_action(World(width, bytes(grid), agent, facing, carried, task, memo), action)


@functools.lru_cache(maxsize=64)
def _draws_of(state: tuple[int, ...]) -> list[int]:
    """Return the cached list of the numbers (0, 1 or 2) that a generator draws from a state on; at first it is empty,
    and callers fill it in place."""
    return []


def _restore(rng: np.random.Generator, state: tuple[int, ...]) -> np.random.Generator:
    """Set a PCG64 generator to (state, inc, has_uint32, uinteger) and return the generator."""
    number, increment, left, half = state
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": number, "inc": increment},
        "has_uint32": left,
        "uinteger": half,
    }
    return rng


MovingObstacles, MovingObstaclesText = define_family(MovingObstaclesRules)
