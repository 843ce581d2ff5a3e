"""palaestra/Fetch-v0: pick up one of several things, and no other; and its text twin."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..param_space import IntAxis, ParamSpace
from .cells import COLOURS, code_of, name_thing
from .grid_families import define_family
from .grid_rules import GridRules, Option
from .grid_world import PICK_UP, Canvas, World

SYNTAXES = ("get a", "go get a", "fetch a", "go fetch a", "you must fetch a")


class FetchRules(GridRules):
    """Pick up the thing asked for; to pick up another one is a failure.

    Description:
        A square without inner walls, with keys and balls of six colours. Two things may be alike; then either is right.
        The agent sees through walls.

    Parameters:
        size (5 to 8, on request up to 16): cells along each side, the outer wall included.
        things (2 to 5, on request up to 12): number of things, at most as many as half of the cells inside.

    Termination:
        On picking up a thing; one that was not asked for is a failure. Truncated after 5 * size**2 steps, MiniGrid's
        limit, and in text after 5 * size turns. A random walk picks up the right one of a few things by chance, which
        does not fall much with difficulty.

    Source:
        MiniGrid (Chevalier-Boisvert et al., arXiv 2306.13831), ``MiniGrid-Fetch``.
    """

    param_space = ParamSpace([IntAxis("size", 5, 8, limits=(5, 16)), IntAxis("things", 2, 5, limits=(2, 12))])
    subgoals = ("thing",)
    see_through = True
    redraws = True
    advice = "The first thing picked up ends the episode."

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        canvas = Canvas(params["size"], params["size"])
        free = canvas.free()
        agent, *places = [free[i] for i in rng.permutation(len(free))[: 1 + min(params["things"], len(free) // 2)]]
        for place in places:
            kind = ("key", "ball")[int(rng.integers(2))]
            canvas[place] = code_of(kind, COLOURS[int(rng.integers(len(COLOURS)))])
        target = canvas[places[int(rng.integers(len(places)))]]
        task = (target, SYNTAXES[int(rng.integers(len(SYNTAXES)))])
        return canvas.world(agent, int(rng.integers(4)), task=task)

    def adopt(self, world: World, env: Any) -> World:
        target = code_of(env.targetType, env.targetColor)
        return world._replace(task=(target, env.mission.removesuffix(f" {name_thing(target)}")))

    def mission(self, world: World) -> str:
        target, syntax = world.task
        return f"{syntax} {name_thing(target)}"

    def limit(self, world: World) -> int:
        return 5 * world.width**2

    def turns(self, world: World) -> int:
        return 5 * world.width

    def flags(self, world: World) -> tuple[bool, ...]:
        return (world.carried == world.task[0],)

    def fails(self, before: World, action: int, after: World) -> bool:
        return after.carried not in (0, after.task[0])

    def options(self, world: World) -> Sequence[Option]:
        found = [index for index, code in enumerate(world.cells) if code == world.task[0]]
        return [] if world.carried else [Option(PICK_UP, index, ends=True) for index in found]


Fetch, FetchText = define_family(FetchRules)
