"""The operations of `GridTransformations`: their words in the prompt, and their effect on a grid.

A grid is a tuple of rows, each a string of digits; 0 is the background. Operations on neighbours pack the grid into one
integer with a bit for each cell and an empty bit between rows, so that a shift moves all cells at once. An operation
that would leave nothing of a grid of zeros returns the grid unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from itertools import permutations

Grid = tuple[str, ...]
Operation = Callable[[Grid], Grid]

_FILLED = str.maketrans("23456789", "1" * 8)
_EMPTY = str.maketrans("0123456789", "1" + "0" * 9)


def _transpose(grid: Grid) -> Grid:
    return tuple(map("".join, zip(*grid)))


def _mirror(grid: Grid) -> Grid:
    return tuple([row[::-1] for row in grid])


def _on_columns(operation: Operation) -> Operation:
    return lambda grid: _transpose(operation(_transpose(grid)))


def _on_mirrored(operation: Operation) -> Operation:
    return lambda grid: _mirror(operation(_mirror(grid)))


def _move_right(grid: Grid) -> Grid:
    """Move all digits other than 0 as far to the right as they can go."""
    return tuple([row.replace("0", "").rjust(len(row), "0") for row in grid])


def _paint_right(grid: Grid) -> Grid:
    """Replace each 0 by the last other digit to its left, if there is one."""
    rows = []
    for row in grid:
        last, cells = "0", []
        for cell in row:
            last = cell if cell != "0" else last
            cells.append(last)
        rows.append("".join(cells))
    return tuple(rows)


def _crop(grid: Grid) -> Grid:
    for _ in range(2):
        full = [place for place, row in enumerate(grid) if row.strip("0")]
        if not full:
            return grid
        grid = _transpose(grid[full[0] : full[-1] + 1])
    return grid


def _remove_empty_rows(grid: Grid) -> Grid:
    """Remove the rows of zeros."""
    return tuple([row for row in grid if row.strip("0")]) or grid


def _enlarge(grid: Grid) -> Grid:
    wide = ["".join([cell + cell for cell in row]) for row in grid]
    return tuple([row for row in wide for _ in range(2)])


def _mirror_left_half(grid: Grid) -> Grid:
    """Replace the right half by the mirror image of the left half; a middle column stays."""
    half, middle = len(grid[0]) // 2, len(grid[0]) % 2
    return tuple([row[: half + middle] + row[:half][::-1] for row in grid])


def _recolour(old: str, new: str) -> Operation:
    table = str.maketrans(old, new)
    return lambda grid: tuple([row.translate(table) for row in grid])


def _other_digits(colour: str) -> str:
    return "123456789".replace(colour, "")


def _add_frame(grid: Grid, colour: str) -> Grid:
    edge = colour * (len(grid[0]) + 2)
    return (edge, *[colour + row + colour for row in grid], edge)


def _paint_edge(grid: Grid, colour: str) -> Grid:
    """Paint the cells on the edge in this colour."""
    edge = colour * len(grid[0])
    inner = [colour + row[1:-1] + colour if len(row) > 1 else colour for row in grid[1:-1]]
    return (edge, *inner, edge)[: len(grid)]


def _to_bits(grid: Grid, table: dict[int, int]) -> int:
    return int("0".join([row.translate(table) for row in grid]), 2)


def _paint_bits(grid: Grid, bits: int, colour: str) -> Grid:
    """Paint the cells whose bit is 1 in this colour."""
    text = "0".join(grid)
    marks = format(bits, f"0{len(text)}b")
    cells = "".join([colour if mark == "1" else cell for cell, mark in zip(text, marks)])
    width = len(grid[0])
    return tuple([cells[start : start + width] for start in range(0, len(cells), width + 1)])


def _flood(bits: int, within: int, stride: int) -> int:
    """Return all bits of ``within`` that are connected to ``bits``, which must be a part of ``within``."""
    reached = 0
    while bits != reached:
        reached = bits
        bits = (bits | bits << 1 | bits >> 1 | bits << stride | bits >> stride) & within
    return reached


def _fill_enclosed(grid: Grid, colour: str) -> Grid:
    """Paint the zeros that no path of zeros joins to the edge in this colour."""
    empty = _to_bits(grid, _EMPTY)
    outside = empty & _to_bits(_paint_edge(tuple(["0" * len(row) for row in grid]), "1"), {})
    return _paint_bits(grid, empty & ~_flood(outside, empty, len(grid[0]) + 1), colour)


def _keep_largest(grid: Grid) -> Grid:
    """Remove the objects that have fewer cells than the largest one."""
    filled, stride = _to_bits(grid, _FILLED), len(grid[0]) + 1
    objects, rest = [], filled
    while rest:
        objects.append(_flood(rest & -rest, rest, stride))
        rest &= ~objects[-1]
    most = max([one.bit_count() for one in objects], default=0)
    return _paint_bits(grid, sum([one for one in objects if one.bit_count() < most]), "0")


def _hollow_out(grid: Grid) -> Grid:
    """Remove the cells with four non-zero neighbours."""
    filled, stride = _to_bits(grid, _FILLED), len(grid[0]) + 1
    inside = filled & filled << 1 & filled >> 1 & filled << stride & filled >> stride
    return _paint_bits(grid, inside, "0")


def _remove_isolated(grid: Grid) -> Grid:
    """Remove the cells that have no non-zero neighbour."""
    filled, stride = _to_bits(grid, _FILLED), len(grid[0]) + 1
    return _paint_bits(grid, filled & ~(filled << 1 | filled >> 1 | filled << stride | filled >> stride), "0")


# Words, with placeholders for up to two colours, and the function that makes the operation from the colours.
_KINDS: list[tuple[str, Callable[..., Operation]]] = [
    ("turn the grid by 90 degrees clockwise", lambda: lambda g: _transpose(g[::-1])),
    ("turn the grid by 90 degrees counterclockwise", lambda: lambda g: _transpose(g)[::-1]),
    ("turn the grid by 180 degrees", lambda: lambda g: _mirror(g[::-1])),
    ("mirror the grid, left to right", lambda: _mirror),
    ("mirror the grid, top to bottom", lambda: lambda g: g[::-1]),
    ("mirror the grid along the diagonal from top left to bottom right", lambda: _transpose),
    (
        "mirror the grid along the diagonal from top right to bottom left",
        lambda: lambda g: _transpose(_mirror(g[::-1])),
    ),
    (
        "move each column one place right, the last one to the left",
        lambda: lambda g: tuple([r[-1] + r[:-1] for r in g]),
    ),
    ("move each column one place left, the first one to the right", lambda: lambda g: tuple([r[1:] + r[0] for r in g])),
    ("move each row one place down, the last one to the top", lambda: lambda g: (g[-1], *g[:-1])),
    ("move each row one place up, the first one to the bottom", lambda: lambda g: (*g[1:], g[0])),
    ("in each row, move all non-zero cells to the right end", lambda: _move_right),
    ("in each row, move all non-zero cells to the left end", lambda: _on_mirrored(_move_right)),
    ("in each column, move all non-zero cells to the bottom", lambda: _on_columns(_move_right)),
    ("in each column, move all non-zero cells to the top", lambda: _on_columns(_on_mirrored(_move_right))),
    ("change each 0 to the nearest other digit left of it, if any", lambda: _paint_right),
    ("change each 0 to the nearest other digit right of it, if any", lambda: _on_mirrored(_paint_right)),
    ("change each 0 to the nearest other digit above it, if any", lambda: _on_columns(_paint_right)),
    ("change each 0 to the nearest other digit below it, if any", lambda: _on_columns(_on_mirrored(_paint_right))),
    ("cut out the smallest rectangle with all non-zero cells", lambda: _crop),
    ("remove all rows that hold only zeros", lambda: _remove_empty_rows),
    ("remove all columns that hold only zeros", lambda: _on_columns(_remove_empty_rows)),
    (
        "keep only the left half, with the middle column if there is one",
        lambda: lambda g: tuple([r[: (len(r) + 1) // 2] for r in g]),
    ),
    ("keep only the top half, with the middle row if there is one", lambda: lambda g: g[: (len(g) + 1) // 2]),
    ("put a copy of the grid to its right", lambda: lambda g: tuple([r + r for r in g])),
    ("put a copy of the grid below it", lambda: lambda g: g + g),
    ("put the mirror image of the grid to its right", lambda: lambda g: tuple([r + r[::-1] for r in g])),
    ("put the mirror image of the grid below it", lambda: lambda g: g + g[::-1]),
    ("make each cell a block of 2 x 2 cells", lambda: _enlarge),
    ("make the right half the mirror image of the left half", lambda: _mirror_left_half),
    ("make the bottom half the mirror image of the top half", lambda: _on_columns(_mirror_left_half)),
    ("change every {} to {}", _recolour),
    ("change every {0} to {1} and every {1} to {0}", lambda a, b: _recolour(a + b, b + a)),
    ("change every {} to 0", lambda a: _recolour(a, "0")),
    ("change every digit but {} to 0", lambda a: _recolour(_other_digits(a), "0" * 8)),
    ("change every non-zero digit to {}", lambda a: _recolour(_other_digits(a), a * 8)),
    ("change every 0 to {} and every other digit to 0", lambda a: _recolour("0123456789", a + "0" * 9)),
    ("change all cells on the edge of the grid to {}", lambda a: lambda g: _paint_edge(g, a)),
    ("put a frame of {} around the grid", lambda a: lambda g: _add_frame(g, a)),
    ("change each 0 that no path of zeros joins to the edge to {}", lambda a: lambda g: _fill_enclosed(g, a)),
    ("change all objects with fewer cells than the largest to 0", lambda: _keep_largest),
    ("change each non-zero cell with four non-zero neighbours to 0", lambda: _hollow_out),
    ("change each non-zero cell without a non-zero neighbour to 0", lambda: _remove_isolated),
]


# The words of all kinds with their number of colours, and all operations by their words.
KINDS = [(words, len(signature(make).parameters)) for words, make in _KINDS]
OPERATIONS: dict[str, Operation] = {
    words.format(*colours): make(*colours)
    for (words, count), (_, make) in zip(KINDS, _KINDS)
    for colours in permutations("123456789", count)
}
