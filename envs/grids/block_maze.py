"""palaestra/BlockMaze-v0: a maze of single blocks with levels as data, to be edited and replayed; and its text twin.

Teachers of levels obtain the generator and the mutation from ``level_functions``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence, Set
from typing import Any

import numpy as np

from ...errors import InputError, shorten
from ..param_space import IntAxis, ParamSpace
from .cells import EMPTY, GOAL, WALL
from .descriptions import AGENT_SIGNS
from .grid_families import define_family
from .grid_rules import GridRules, LevelFunctions, Option
from .grid_world import FORWARD, Canvas, World
from .ways import Ways, enter_unlocked, find_region

MOST_BLOCKS = 200


class BlockMazeRules(GridRules):
    """Reach the goal among blocks that lie anywhere, on a level that is drawn or given.

    Description:
        A square with an outer wall; blocks, agent and goal lie anywhere such that the goal can be reached. A level can
        be given instead, as text: one line a row, # for walls, the outer ones too, . for free cells, one G and one of
        > v < ^ for the agent. It is played unchanged, solvable or not, in every split. Levels of MiniGrid's classes and
        of a user's subclasses that do not override ``step`` are played here (``minigrid=``) with their mission and step
        limit, and may have locked doors and things in the way.

    Parameters:
        size (7 to 15, on request 5 to 25): cells along each side, the outer wall included.
        blocks (0 to 60, on request up to 200): walls inside, at most two fifths of the cells inside.
        level (argument, or in reset's "params"): the level, which then determines size and blocks.

    Termination:
        On reaching the goal. Truncated after 250 steps, or size**2 where that is more, and in text
        after 60 turns, or 8 * size where that is more.

    Source:
        The mazes of Dennis et al. (PAIRED, arXiv 2012.02096) and Parker-Holder et al. (ACCEL, arXiv 2203.01302), with
        up to 60 blocks on 13 x 13 cells.
    """

    param_space = ParamSpace(
        [IntAxis("size", 7, 15, limits=(5, 25)), IntAxis("blocks", 0, 60, limits=(0, MOST_BLOCKS))]
    )
    arguments = ("level",)
    redraws = True

    def __init__(self, level: str | None = None):
        self.level = None if level is None else read_maze(level)

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        canvas = Canvas(params["size"], params["size"])
        free = canvas.free()
        places = [free[i] for i in rng.permutation(len(free)).tolist()]
        agent, goal, *rest = places
        canvas[goal] = GOAL
        # More than half of the cells inside stay free, so that a solvable level is found soon.
        for block in rest[: min(params["blocks"], len(places) * 2 // 5)]:
            canvas[block] = WALL
        return canvas.world(agent, int(rng.integers(4)))

    def read_level(self, params: Mapping[str, Any]) -> tuple[World | None, dict[str, Any]]:
        rest = {name: value for name, value in params.items() if name != "level"}
        world = read_maze(params["level"]) if "level" in params else self.level
        if world is not None:
            blocks = world.cells.count(WALL) - 4 * (world.width - 1)
            return world, {"size": world.width, "blocks": min(blocks, MOST_BLOCKS)}
        return None, rest

    def adopt(self, world: World, env: Any) -> World:
        """Return the level with its mission and step limit. It may lack a goal, and have locked doors and things in the
        way."""
        return world._replace(task=(env.mission, env.max_steps))

    def entry(self, world: World) -> bytes:
        return enter_unlocked(world)

    def region(self, world: World) -> Set[int] | None:
        return find_region(world, self.entry(world)) if world.task else None

    def options(self, world: World) -> Sequence[Option]:
        if not world.task:
            return super().options(world)
        goals = {index for index, code in enumerate(world.cells) if code == GOAL}
        ways = Ways(world, self.entry(world))
        way = ways.clear(goals) if goals and ways.region.isdisjoint(goals) else []
        return way or [Option(FORWARD, goal, ends=True) for goal in sorted(goals)]

    def mission(self, world: World) -> str:
        return world.task[0] if world.task else "reach the goal"

    def limit(self, world: World) -> int:
        return world.task[1] if world.task else max(250, world.width**2)

    def level_functions(self, space: ParamSpace) -> LevelFunctions:
        def generate(rng: np.random.Generator) -> dict[str, str]:
            return {"level": self.draw_map(self.lay_out(rng, space.sample(rng)))}

        def mutate(task: Mapping[str, str], rng: np.random.Generator) -> dict[str, str]:
            while True:
                edited = mutate_level(task, rng)
                with contextlib.suppress(InputError):  # too many or too few blocks for the axes
                    space.validate(self.read_level(edited)[1])
                    return edited

        return generate, mutate

    def turns(self, world: World) -> int:
        return max(60, 8 * world.width)

    def content(self, world: World) -> str:
        return self.draw_map(world)


def read_maze(level: Any) -> World:
    """Read a level from text.

    Raises:
        InputError: the level is not text in the format of `BlockMazeRules`.
    """
    rows = level.strip().split("\n") if isinstance(level, str) else []
    signs, side = "".join(rows), len(rows)
    border = signs[:side] + signs[-side:] + "".join(row[:1] + row[-1:] for row in rows)
    found = [sign for sign in signs if sign in AGENT_SIGNS]
    known = set(signs) <= set("#.G" + AGENT_SIGNS)
    square = 5 <= side <= 25 and all(len(row) == side for row in rows)
    if not (known and square and set(border) == {"#"} and len(found) == 1 and signs.count("G") == 1):
        raise InputError(
            "a level must be text of 5 to 25 equally long lines of as many signs, # (around it, too), ., one G and one "
            f"of > v < ^, not {shorten(repr(level))}."
        )
    codes = {"#": WALL, "G": GOAL}
    cells = bytes(codes.get(sign, EMPTY) for sign in signs)
    return World(side, cells, signs.index(found[0]), AGENT_SIGNS.index(found[0]))


def mutate_level(task: Mapping[str, str], rng: np.random.Generator) -> dict[str, str]:
    """Return a level after one edit: a block added or removed, or (one edit in five) the goal or agent moved."""
    world = read_maze(task["level"])
    cells, agent, side = bytearray(world.cells), world.agent, world.width
    inner = [y * side + x for y in range(1, side - 1) for x in range(1, side - 1)]
    cell = inner[int(rng.integers(len(inner)))]
    while cell == agent or cells[cell] == GOAL:
        cell = inner[int(rng.integers(len(inner)))]
    what = rng.random()
    if what < 0.1:
        cells[cells.index(GOAL)], cells[cell] = EMPTY, GOAL
    elif what < 0.2:
        cells[cell], agent = EMPTY, cell
    else:
        cells[cell] = WALL if cells[cell] == EMPTY else EMPTY
    return {"level": BlockMazeRules().draw_map(World(side, bytes(cells), agent, world.facing))}


BlockMaze, BlockMazeText = define_family(
    BlockMazeRules,
    grid={
        "note": "Going forward all the time meets the goal by chance in a few levels.",
    },
    text={
        "note": "Going forward all the time meets the goal by chance in a few levels.",
    },
)
