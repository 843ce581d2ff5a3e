"""palaestra/NoisyTV-v0: a goal in the next room, and tiles in the first room that change colour at random; and its text
twin."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from .cells import COLOURS, EMPTY, GOAL, code_of
from .grid_families import define_family
from .grid_rules import GridRules
from .grid_world import TOGGLE, Canvas, World, apply_action

SCREENS = [code_of("floor", colour) for colour in COLOURS]
_ONE_COLOUR = bytes(EMPTY if code in SCREENS else code for code in range(256))


class NoisyTVRules(GridRules):
    """Reach the goal in the next room, past tiles that change colour at random.

    Description:
        A wall with an opening splits a square into two rooms; the agent starts in the western room, the goal is in the
        eastern one. Tiles along the west wall are a screen: their colours change at random, unpredictably and without
        meaning. The colours are drawn at the reset, so that a restored snapshot continues as the episode did.

    Parameters:
        size (7 to 13, on request up to 19): cells along each side, the outer wall included.
        screens (1 to 9, on request up to 17): tiles that change, at most one a row.
        channel (remote, always): the tiles change when the agent toggles, wherever it is, or at every step.

    Termination:
        On reaching the goal. Truncated after 4 * size**2 steps, and in text after 8 * size turns.

    Source:
        The noisy television of Burda et al. (arXiv 1808.04355), on a grid.
    """

    param_space = ParamSpace(
        [
            IntAxis("size", 7, 13, limits=(7, 19)),
            IntAxis("screens", 1, 9, limits=(1, 17)),
            ChoiceAxis("channel", ("remote", "always")),
        ]
    )

    def lay_out(self, rng: np.random.Generator, params: Mapping[str, Any]) -> World:
        size = params["size"]
        canvas, wall = Canvas(size, size), int(rng.integers(3, size - 2))
        canvas.column(wall, 0, size)
        canvas[wall, int(rng.integers(1, size - 1))] = EMPTY
        rows = [1 + i for i in rng.permutation(size - 2)[: params["screens"]].tolist()]
        for row in rows:
            canvas[1, row] = SCREENS[int(rng.integers(len(SCREENS)))]
        west = canvas.free(1, 1, wall - 1, size - 2)
        east = canvas.free(wall + 1, 1, size - wall - 2, size - 2)
        canvas[east[int(rng.integers(len(east)))]] = GOAL
        noise = rng.bytes(4 * size**2 * len(rows))
        tiles = tuple(canvas.index((1, row)) for row in rows)
        agent = west[int(rng.integers(len(west)))]
        return canvas.world(agent, int(rng.integers(4)), task=(tiles, params["channel"], noise), memo=0)

    def mission(self, world: World) -> str:
        return "reach the goal"

    def limit(self, world: World) -> int:
        return 4 * world.width**2

    def turns(self, world: World) -> int:
        return 8 * world.width

    def advance(self, world: World, action: int) -> World:
        after = apply_action(world, action)
        tiles, channel, noise = world.task
        if channel == "remote" and action != TOGGLE:
            return after
        cells, drawn = bytearray(after.cells), noise[world.memo * len(tiles) :]
        for tile, byte in zip(tiles, drawn):
            cells[tile] = SCREENS[byte % len(SCREENS)]
        return after._replace(cells=bytes(cells), memo=world.memo + 1)

    def without_motion(self, world: World) -> World:
        width, cells, agent, facing, *_ = world
        return World(width, cells.translate(_ONE_COLOUR), agent, facing)

    def content(self, world: World) -> str:
        """Return the map and a digest of the noise."""
        return f"{self.draw_map(world)}\n{hashlib.blake2b(world.task[2], digest_size=8).hexdigest()}"

    def split_key(self, world: World) -> str:
        return self.draw_map(world)


NoisyTV, NoisyTVText = define_family(NoisyTVRules)
