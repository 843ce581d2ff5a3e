"""Verifier "grid": a grid of integers as in ARC; exact in size and content, with the share of equal cells as score.

After Guru (arXiv 2506.14965), which pads both grids with −1 to one size before it compares them: a prediction that is
larger than the target is not exact, even if the overlap matches.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from ...errors import InputError
from ..verdict import Verdict
from .json_text import JsonError, parse_json, strip_code_fence
from .registry import CORRECT, VERIFIERS, rejected

MAX_LENGTH = 50_000
Grid = Sequence[Sequence[int]]
_SEPARATOR = re.compile(r"[ \t]*,[ \t]*|[ \t]+")
# No leading zeros: 00 may be a row written without blanks, so it could be one number or two.
_CELL = re.compile(r"-?(?:0|[1-9][0-9]{0,8})")


class GridError(ValueError):
    """Error for a text that is not a grid; the message is one sentence for the agent."""


@VERIFIERS.register("grid")
def verify_grid(answer: str, reference: Grid) -> Verdict:
    """Check that ``answer`` is the grid ``reference``.

    The score is the number of equal cells over the number of cells that either grid has; only equality is a success.

    Args:
        answer: ``[[0, 1], [2, 3]]``, or one row per line with its integers separated by blanks or commas; bare or in a
            code fence; at most 50,000 characters.
        reference: rows of ints, all of the same length, at least one.

    Raises:
        InputError: the reference is not such a grid.
    """
    gold = [list(row) for row in reference] if isinstance(reference, (list, tuple)) and _rows(reference) else []
    if not _is_grid(gold):
        raise InputError(f"the grid verifier needs rows of ints of one length as reference, not {reference!r:.200}.")
    try:
        given = parse_grid(answer)
    except GridError as error:
        return rejected(str(error))
    equal, cells = overlap(given, gold)
    if equal == cells:
        return CORRECT
    if (len(given), len(given[0])) != (len(gold), len(gold[0])):
        size = f"{len(given)} × {len(given[0])} instead of {len(gold)} × {len(gold[0])}"
        return Verdict(equal / cells, False, feedback=f"The grid is {size}.")
    return Verdict(equal / cells, False, feedback=f"{equal} of {cells} cells are right.")


def overlap(one: Grid, other: Grid) -> tuple[int, int]:
    """Return the numbers of equal cells and of cells in either grid, with the top left corners aligned."""
    equal = cells = 0
    for left, right in zip_longest(one, other, fillvalue=()):
        for first, second in zip_longest(left, right):
            equal += first == second
            cells += 1
    return equal, cells


def parse_grid(text: str) -> list[list[int]]:
    """Parse a grid in one of the forms of `verify_grid`.

    Raises:
        GridError: another form, rows of different lengths, or more than 50,000 characters.
    """
    if len(text) > MAX_LENGTH:
        raise GridError(f"The grid is longer than {MAX_LENGTH:,} characters.")
    text = strip_code_fence(text).strip()
    if text.startswith("["):
        try:
            grid = parse_json(text)
        except JsonError as error:
            raise GridError(str(error)) from None
    else:
        lines = [_SEPARATOR.split(line.strip()) for line in text.splitlines()]
        if not all(_CELL.fullmatch(cell) for line in lines for cell in line):
            raise GridError("The grid must be rows of integers, such as [[0, 1], [2, 3]].")
        grid = [[int(cell) for cell in line] for line in lines]
    if not _is_grid(grid):
        raise GridError("The grid must be rows of integers, all of the same length.")
    return grid


def _rows(grid: object) -> bool:
    return isinstance(grid, (list, tuple)) and all(isinstance(row, (list, tuple)) for row in grid)


def _is_grid(grid: object) -> bool:
    if not _rows(grid) or not grid or len({len(row) for row in grid}) != 1 or not grid[0]:  # type: ignore[index, union-attr]
        return False
    return all(isinstance(cell, int) and not isinstance(cell, bool) for row in grid for cell in row)  # type: ignore[union-attr]
