"""Pictures of worlds (the whole grid, or the agent's view), drawn with MiniGrid's tiles; and MiniGrid's objects.

MiniGrid is imported at the first picture, and a tile is drawn once for each size.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from ...errors import MissingExtra
from .cells import EMPTY, THINGS
from .grid_world import World
from .partial_view import VIEW, Viewer

NORTH = 3


def import_minigrid(feature: str = "MiniGrid's objects") -> Any:
    """Import MiniGrid with the modules used here. If it is missing, raise MissingExtra, naming the feature."""
    try:
        import minigrid.core.actions
        import minigrid.core.grid
        import minigrid.core.roomgrid
        import minigrid.core.world_object
        import minigrid.minigrid_env
    except ImportError:
        raise MissingExtra(feature, "grid") from None
    return minigrid


def make_object(code: int, cell: tuple[int, int] = (-1, -1)) -> Any:
    """Return a MiniGrid object for a code; None for an empty cell."""
    if code == EMPTY:
        return None
    thing, objects = THINGS[code], import_minigrid().core.world_object
    if thing.kind == "door":
        made = objects.Door(thing.colour, is_open=thing.state == "open", is_locked=thing.state == "locked")
    elif thing.kind == "lava":
        made = objects.Lava()
    else:
        made = getattr(objects, thing.kind.title())(thing.colour)
    made.cur_pos = made.init_pos = cell
    made.contains = make_object(thing.inside)
    return made


@functools.lru_cache(maxsize=4096)
def draw_tile(code: int, facing: int | None, lit: bool, side: int) -> np.ndarray:
    """Draw one cell: uint8[side, side, 3].

    Args:
        code: the contents of the cell.
        facing: direction of the agent, None if it is elsewhere.
        lit: True if the agent sees the cell.
        side: pixels.

    Raises:
        MissingExtra: MiniGrid is not installed.
    """
    grid = import_minigrid("render_mode='rgb_array'").core.grid.Grid
    return grid.render_tile(make_object(code), facing, lit, side)


def draw_grid(world: World, viewer: Viewer, side: int = 32, lights: bool = True) -> np.ndarray:
    """Draw the whole grid, with the agent's view highlighted if ``lights``: uint8[height * side, width * side, 3]."""
    picture = np.zeros((world.height * side, world.width * side, 3), dtype=np.uint8)
    lit = _find_lit(world, viewer) if lights else set()
    for index, code in enumerate(world.cells):
        y, x = divmod(index, world.width)
        facing = world.facing if index == world.agent else None
        picture[y * side : (y + 1) * side, x * side : (x + 1) * side] = draw_tile(code, facing, index in lit, side)
    return picture


def _find_lit(world: World, viewer: Viewer) -> set[int]:
    """Return the indices of the cells that the agent sees."""
    _, mask = viewer.scene(world).look(world)
    seen = np.ones((VIEW, VIEW), dtype=bool) if mask is None else mask[..., 0] > 0
    (fx, fy), (x, y) = ((1, 0), (0, 1), (-1, 0), (0, -1))[world.facing], world.place
    lit = set()
    for column, row in np.argwhere(seen).tolist():
        far, aside = VIEW - 1 - row, column - VIEW // 2
        i, j = x + fx * far - fy * aside, y + fy * far + fx * aside
        if 0 <= i < world.width and 0 <= j < world.height:
            lit.add(j * world.width + i)
    return lit


def draw_view(world: World, viewer: Viewer, side: int = 32) -> np.ndarray:
    """Draw the agent's view, with the agent at the bottom facing up: uint8[7 * side, 7 * side, 3]."""
    codes, mask = viewer.scene(world).look(world)
    picture = np.zeros((VIEW * side, VIEW * side, 3), dtype=np.uint8)
    for column in range(VIEW):
        for row in range(VIEW):
            seen = mask is None or bool(mask[column, row, 0])
            facing = NORTH if (column, row) == (VIEW // 2, VIEW - 1) else None
            tile = draw_tile(int(codes[column, row]) if seen else EMPTY, facing, seen, side)
            picture[row * side : (row + 1) * side, column * side : (column + 1) * side] = tile
    return picture
