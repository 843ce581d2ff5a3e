"""The operations on grids, against a second implementation that goes cell by cell."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

import numpy as np
import pytest
from palaestra.envs.induction.grid_operations import KINDS, OPERATIONS, Grid

Colour = Callable[[int, int], str]
SIDES = ((0, 1), (1, 0), (0, -1), (-1, 0))


def made(rows: int, columns: int, colour: Colour) -> Grid:
    return tuple("".join(colour(y, x) for x in range(columns)) for y in range(rows))


def around(grid: Grid, y: int, x: int) -> list[tuple[int, int]]:
    places = [(y + dy, x + dx) for dy, dx in SIDES]
    return [(a, b) for a, b in places if 0 <= a < len(grid) and 0 <= b < len(grid[0])]


def connected(grid: Grid, y: int, x: int, wanted: Callable[[str], bool]) -> set[tuple[int, int]]:
    """The places that neighbours whose digits are wanted join to this one."""
    found, waiting = {(y, x)}, [(y, x)]
    while waiting:
        for place in around(grid, *waiting.pop()):
            if place not in found and wanted(grid[place[0]][place[1]]):
                found.add(place)
                waiting.append(place)
    return found


def filled(digit: str) -> bool:
    return digit != "0"


@functools.cache
def apply(words: str, g: Grid) -> Grid:
    """An operation by its words alone."""
    h, w = len(g), len(g[0])
    a, b = (*re.findall(r"[1-9]", words), "", "")[:2]
    if words == "turn the grid by 90 degrees clockwise":
        return made(w, h, lambda y, x: g[h - 1 - x][y])
    if words == "turn the grid by 90 degrees counterclockwise":
        return made(w, h, lambda y, x: g[x][w - 1 - y])
    if words == "turn the grid by 180 degrees":
        return made(h, w, lambda y, x: g[h - 1 - y][w - 1 - x])
    if words == "mirror the grid, left to right":
        return made(h, w, lambda y, x: g[y][w - 1 - x])
    if words == "mirror the grid, top to bottom":
        return made(h, w, lambda y, x: g[h - 1 - y][x])
    if words == "mirror the grid along the diagonal from top left to bottom right":
        return made(w, h, lambda y, x: g[x][y])
    if words == "mirror the grid along the diagonal from top right to bottom left":
        return made(w, h, lambda y, x: g[h - 1 - x][w - 1 - y])
    if words.startswith("move each "):
        dy = {"down": 1, "up": -1}.get(words.split()[5].strip(","), 0)
        dx = {"right": 1, "left": -1}.get(words.split()[5].strip(","), 0)
        return made(h, w, lambda y, x: g[(y - dy) % h][(x - dx) % w])
    if words.startswith("in each "):
        end = re.findall(r"to the (\w+)", words)[0]
        lines = [list(row) for row in g] if "each row" in words else [[row[x] for row in g] for x in range(w)]
        moved = []
        for line in lines:
            digits = [digit for digit in line if digit != "0"]
            zeros = ["0"] * (len(line) - len(digits))
            moved.append(zeros + digits if end in ("right", "bottom") else digits + zeros)
        return made(h, w, lambda y, x: moved[y][x] if "each row" in words else moved[x][y])
    if words.startswith("change each 0 to the nearest"):
        dy, dx = {"left": (0, -1), "right": (0, 1), "above": (-1, 0), "below": (1, 0)}[words.split()[8]]

        def nearest(y: int, x: int) -> str:
            ahead = [(y + k * dy, x + k * dx) for k in range(max(h, w))]
            return next((g[i][j] for i, j in ahead if 0 <= i < h and 0 <= j < w and g[i][j] != "0"), "0")

        return made(h, w, nearest)
    rows = [y for y in range(h) if any(map(filled, g[y]))]
    columns = [x for x in range(w) if any(filled(row[x]) for row in g)]
    if words == "cut out the smallest rectangle with all non-zero cells":
        if not rows:
            return g
        return made(
            max(rows) - min(rows) + 1, max(columns) - min(columns) + 1, lambda y, x: g[y + min(rows)][x + min(columns)]
        )
    if words == "remove all rows that hold only zeros":
        return made(len(rows), w, lambda y, x: g[rows[y]][x]) if rows else g
    if words == "remove all columns that hold only zeros":
        return made(h, len(columns), lambda y, x: g[y][columns[x]]) if rows else g
    if words == "keep only the left half, with the middle column if there is one":
        return made(h, w // 2 + w % 2, lambda y, x: g[y][x])
    if words == "keep only the top half, with the middle row if there is one":
        return made(h // 2 + h % 2, w, lambda y, x: g[y][x])
    if words == "put a copy of the grid to its right":
        return made(h, 2 * w, lambda y, x: g[y][x % w])
    if words == "put a copy of the grid below it":
        return made(2 * h, w, lambda y, x: g[y % h][x])
    if words == "put the mirror image of the grid to its right":
        return made(h, 2 * w, lambda y, x: g[y][min(x, 2 * w - 1 - x)])
    if words == "put the mirror image of the grid below it":
        return made(2 * h, w, lambda y, x: g[min(y, 2 * h - 1 - y)][x])
    if words == "make each cell a block of 2 x 2 cells":
        return made(2 * h, 2 * w, lambda y, x: g[y // 2][x // 2])
    if words == "make the right half the mirror image of the left half":
        return made(h, w, lambda y, x: g[y][min(x, w - 1 - x)])
    if words == "make the bottom half the mirror image of the top half":
        return made(h, w, lambda y, x: g[min(y, h - 1 - y)][x])
    if words == f"put a frame of {a} around the grid":
        return made(h + 2, w + 2, lambda y, x: g[y - 1][x - 1] if 0 < y <= h and 0 < x <= w else a)
    group = {(y, x): connected(g, y, x, filled) for y in range(h) for x in range(w) if filled(g[y][x])}
    largest = max(map(len, group.values()), default=0)

    def changed(y: int, x: int) -> str:
        digit = g[y][x]
        edge = y in (0, h - 1) or x in (0, w - 1)
        near = [filled(g[i][j]) for i, j in around(g, y, x)]
        if words == f"change every {a} to {b} and every {b} to {a}":
            return {a: b, b: a}.get(digit, digit)
        if words == f"change every {a} to {b}" and b:
            return b if digit == a else digit
        if words == f"change every {a} to 0":
            return "0" if digit == a else digit
        if words == f"change every digit but {a} to 0":
            return digit if digit == a else "0"
        if words == f"change every non-zero digit to {a}":
            return a if filled(digit) else "0"
        if words == f"change every 0 to {a} and every other digit to 0":
            return "0" if filled(digit) else a
        if words == f"change all cells on the edge of the grid to {a}":
            return a if edge else digit
        if words == f"change each 0 that no path of zeros joins to the edge to {a}":
            joined = connected(g, y, x, lambda other: other == "0")
            outside = any(i in (0, h - 1) or j in (0, w - 1) for i, j in joined)
            return digit if filled(digit) or outside else a
        if words == "change all objects with fewer cells than the largest to 0":
            return digit if filled(digit) and len(group[y, x]) == largest else "0"
        if words == "change each non-zero cell with four non-zero neighbours to 0":
            return "0" if sum(near) == 4 else digit
        assert words == "change each non-zero cell without a non-zero neighbour to 0", words
        return digit if any(near) else "0"

    return made(h, w, changed)


def grids(count: int, digits: str) -> list[Grid]:
    rng = np.random.default_rng(count)
    found = []
    for _ in range(count):
        rows, columns = rng.integers(1, 7, 2).tolist()
        chosen = rng.choice(list(digits), (rows, columns)).tolist()
        found.append(tuple(map("".join, chosen)))
    return found


@pytest.mark.parametrize(("words", "colours"), KINDS)
def test_an_operation_does_what_its_words_say(words: str, colours: int):
    acted = False
    for pair in ("13", "31", "29")[: 3 if colours else 1]:
        name = words.format(*pair)
        for grid in [("0",), ("1",), ("00", "00"), *grids(60, "0123"), *grids(61, "0001"), *grids(62, "0111")]:
            after = OPERATIONS[name](grid)
            assert after == apply(name, grid), grid
            acted |= after != grid
    assert acted


def test_there_is_an_operation_for_all_colours():
    assert len(KINDS) == 43
    assert len(OPERATIONS) == sum((1, 9, 72)[colours] for _, colours in KINDS)
    for first in "123456789":
        assert OPERATIONS[f"put a frame of {first} around the grid"](("0",))[0] == first * 3
        for second in set("123456789") - {first}:
            assert OPERATIONS[f"change every {first} to {second}"]((first + "0",)) == (second + "0",)
