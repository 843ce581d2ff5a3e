"""Small pictures made of digits, 0 (dark) to 9 (bright), for the vision families.

A picture is an array of int[height, width] with values from 0 to 9. `smooth_picture` makes slopes whose neighbouring
cells differ by at most a given step; `pattern_picture` makes stripes, discs and other patterns. `picture_rows` writes a
picture as text, `lay_out_panels` arranges several as cells for `draw_board`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np

from ..board_picture import Cell

PATTERNS = ("gradient", "stripes", "checks", "discs", "blobs", "noise")
# The eight symmetries of a square: whether it is mirrored left to right first, and then its clockwise turn in degrees.
SYMMETRIES = tuple((mirrored, degrees) for mirrored in (False, True) for degrees in (0, 90, 180, 270))
_SHADES = ("#08051d", "#2c115f", "#5c167f", "#8c2981", "#bc3978", "#e55064", "#fb8861", "#feb77e", "#fddc9e", "#fcfdbf")


@functools.cache
def _coordinates(height: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Return row and column of each cell, int[height, 1] and int[1, width]."""
    return np.arange(height)[:, None], np.arange(width)[None, :]


def smooth_picture(rng: np.random.Generator, height: int, width: int, step: int) -> np.ndarray:
    """Draw slopes: cells side by side or one above the other differ by at most ``step``."""
    draws = rng.random((3, max(2, height * width // 15), 1, 1))
    rows, columns = _coordinates(height, width)
    # Take the minimum of cones around random points, each of which rises by a step with every cell from its point.
    cones = abs(rows - (draws[0] * height).astype(int)) + abs(columns - (draws[1] * width).astype(int))
    slopes = (step * cones + (draws[2] * 18).astype(int)).min(axis=0)
    # Fold values above 9 back towards 0, and so on, which makes no difference larger.
    return 9 - abs(slopes % 18 - 9)


def pattern_picture(kind: str, rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """Draw a picture of one of the kinds in `PATTERNS`."""
    rows, columns = _coordinates(height, width)
    if kind == "noise":
        return rng.integers(0, 10, (height, width))
    if kind == "blobs":
        return smooth_picture(rng, height, width, 3)
    u = rng.random(12).tolist()
    dark, bright, other = (int(v * 10) for v in u[:3])
    if kind == "checks":
        dy, dx = 1 + int(u[3] * 3), 1 + int(u[4] * 3)
        picture = np.where((rows // dy + columns // dx) % 2, dark, bright)
        return np.where(_disc(u[5:8], height, width), other, picture)
    if kind == "discs":
        picture = np.full((height, width), dark)
        for place, colour in ((3, bright), (6, other), (9, (dark + 5) % 10)):
            picture = np.where(_disc(u[place : place + 3], height, width), colour, picture)
        return picture
    along = (u[3] - 0.5) * rows + (u[4] - 0.5) * columns
    if kind == "stripes":
        return np.array((dark, bright, other))[(along * 2 + 10 * u[5]).astype(int) % 3]
    along = along - along.min()
    return (along * (9.99 / max(along.max(), 1e-9))).astype(int)


def _disc(place: Sequence[float], height: int, width: int) -> np.ndarray:
    """Return bool[height, width], the cells of a disc, given its centre and radius as fractions."""
    rows, columns = _coordinates(height, width)
    y, x, radius = place[0] * height, place[1] * width, (0.2 + 0.25 * place[2]) * max(height, width)
    return (rows - y) ** 2 + (columns - x) ** 2 <= radius**2


def transform_picture(picture: np.ndarray, mirrored: bool, degrees: int) -> np.ndarray:
    """Mirror the picture left to right if requested, then turn it clockwise."""
    return np.rot90(picture[:, ::-1] if mirrored else picture, -degrees // 90)


def picture_rows(picture: np.ndarray) -> list[str]:
    """Return one string of digits for each row."""
    return ["".join(map(str, row)) for row in picture.tolist()]


def lay_out_panels(panels: Sequence[tuple[str, Sequence[str]]], across: int) -> list[list[Cell]]:
    """Arrange panels with their titles, ``across`` in a row, as rows of cells of equal length.

    Args:
        panels: a title and the lines of a picture each; characters other than digits are shown as text.
        across: number of panels side by side.
    """
    height, width = (max(size) + 1 for size in zip(*((len(rows), len(rows[0])) for _, rows in panels)))
    cells = []
    for start in range(0, len(panels), across):
        band = [*panels[start : start + across], *[("", ())] * (across - len(panels[start : start + across]))]
        cells.append([cell for title, _ in band for cell in (Cell(title), *[Cell()] * (width - 1))])
        for y in range(height - 1):
            padded = [rows[y].ljust(width) if y < len(rows) else " " * width for _, rows in band]
            signs = [sign for row in padded for sign in row]
            cells.append([Cell(fill=_SHADES[int(s)]) if s.isdigit() else Cell(s.strip()) for s in signs])
    return cells
