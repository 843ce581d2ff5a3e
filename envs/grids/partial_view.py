"""MiniGrid's observation of a world: the 7 x 7 cells before the agent, partly hidden by walls and shut doors.

The rows of MiniGrid's occlusion (``Grid.process_vis``) become bits, and its result is cached for each pattern of opaque
cells; the view from a position is cached until a cell changes. Both give MiniGrid's observation exactly.
"""

from __future__ import annotations

import functools

import numpy as np

from .cells import ENCODING, OPAQUE, WALL
from .grid_world import World

VIEW = 7
_SIDE, _FAR = VIEW // 2, VIEW - 1
_AGENT = _SIDE, _FAR


class Scene:
    """Views of one arrangement of cells, cached by the agent's position."""

    def __init__(self, width: int, cells: bytes, see_through: bool):
        grid = np.frombuffer(cells, np.uint8).reshape(-1, width)
        codes = np.full((grid.shape[0] + 2 * _FAR, width + 2 * _FAR), WALL, dtype=np.uint8)
        codes[_FAR:-_FAR, _FAR:-_FAR] = grid
        self.codes = codes
        self.opaque = None if see_through else OPAQUE[codes]
        self.images: dict[tuple[int, int, int], np.ndarray] = {}

    def image(self, world: World) -> np.ndarray:
        """Return uint8[7, 7, 3], indexed by column from the left and row from the farthest: kind, colour and state of
        visible cells, 0 for hidden ones."""
        key = world.agent, world.facing, world.carried
        if (kept := self.images.get(key)) is None:
            codes, mask = self.look(world)
            kept = ENCODING[codes]
            if mask is not None:
                kept *= mask
            self.images[key] = kept
        return kept.copy()

    def look(self, world: World) -> tuple[np.ndarray, np.ndarray | None]:
        """Return the codes uint8[7, 7] of the view, and the mask uint8[7, 7, 1] of visible cells (None if all are). The
        carried thing is shown in the agent's cell."""
        y, x = divmod(world.agent, world.width)
        codes = _cut(self.codes, x + _FAR, y + _FAR, world.facing).copy()
        codes[_AGENT] = world.carried
        if self.opaque is None:
            return codes, None
        rows = np.packbits(_cut(self.opaque, x + _FAR, y + _FAR, world.facing), axis=0)
        return codes, find_visible(rows.tobytes())


def _cut(plane: np.ndarray, x: int, y: int, facing: int) -> np.ndarray:
    """Cut the view of an agent at (x, y) from a padded array [y, x]; the result is indexed [column, row]."""
    if facing == 0:
        return plane[y - _SIDE : y + _SIDE + 1, x : x + VIEW][:, ::-1]
    if facing == 1:
        return plane[y : y + VIEW, x - _SIDE : x + _SIDE + 1].T[::-1, ::-1]
    if facing == 2:
        return plane[y - _SIDE : y + _SIDE + 1, x - _FAR : x + 1][::-1]
    return plane[y - _FAR : y + 1, x - _SIDE : x + _SIDE + 1].T


@functools.lru_cache(maxsize=1 << 14)
def find_visible(rows: bytes) -> np.ndarray:
    """Return the mask uint8[7, 7, 1] of the visible cells, indexed [column, row].

    Visibility spreads row by row from the agent's cell: from a visible, transparent cell to its neighbours in the row
    and to the three cells ahead; the two diagonal ones count only on the side towards which it is spreading.

    Args:
        rows: 7 bytes, from the farthest row to the agent's; the highest bit is the leftmost column, 1 for opaque.
    """
    seen = np.zeros((VIEW, VIEW, 1), dtype=np.uint8)
    here = [False] * VIEW
    here[_SIDE] = True
    for row in range(_FAR, -1, -1):
        clear = [not rows[row] >> (7 - column) & 1 for column in range(VIEW)]
        beyond = [False] * VIEW
        for column in range(VIEW - 1):
            if here[column] and clear[column]:
                here[column + 1] = beyond[column + 1] = beyond[column] = True
        for column in range(VIEW - 1, 0, -1):
            if here[column] and clear[column]:
                here[column - 1] = beyond[column - 1] = beyond[column] = True
        seen[:, row, 0] = here
        here = beyond
    return seen


class Viewer:
    """Observer of worlds: it caches a `Scene` for each of the latest arrangements of cells.

    Args:
        see_through: True if walls hide nothing.
    """

    KEPT = 8

    def __init__(self, see_through: bool = False):
        self.see_through = see_through
        self._scenes: dict[bytes, Scene] = {}
        self._cells, self._width, self._scene = b"", 0, None

    def scene(self, world: World) -> Scene:
        if self._scene is None or world.cells is not self._cells or world.width != self._width:
            self._scene = self._scenes.get(world.cells)
            if self._scene is None or world.width != self._width:
                if len(self._scenes) >= self.KEPT or world.width != self._width:
                    self._scenes.clear()
                self._scene = self._scenes[world.cells] = Scene(world.width, world.cells, self.see_through)
            self._cells, self._width = world.cells, world.width
        return self._scene

    def image(self, world: World) -> np.ndarray:
        return self.scene(world).image(world)

    def __reduce__(self) -> tuple[type[Viewer], tuple[bool]]:
        return Viewer, (self.see_through,)
