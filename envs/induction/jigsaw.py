"""palaestra/Jigsaw-v0: put the tiles of a picture back in order."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import rejected
from ..drawing import board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .images import lines, sheet, smooth

_SEPARATORS = re.compile(r"tiles?|->|[\s,;/|()\[\]]+", re.IGNORECASE)


class Tiles(NamedTuple):
    """The tiles as shown, each a list of rows; the number of the tile at each place, in reading order; how often a
    solver tries a tile."""

    shown: list[list[str]]
    order: tuple[int, ...]
    tried: int


class Jigsaw(Question):
    """Put the tiles of a cut picture back in order.

    Description:
        A picture of digits is cut into square tiles, which are shuffled and numbered. In the picture, cells side by
        side or one above the other differ by at most ``step``; there is exactly one order of the tiles that keeps to
        this. Tiles are not turned.

    Parameters:
        side (2 to 4): tiles along each side of the picture.
        step (1 to 3): the most by which neighbouring cells differ; more tiles then seem to fit.
        cells (6 to 4, harder downwards): cells along each side of a tile; a short edge tells less.

    Observation:
        Text: the rule, and the tiles with their numbers, each as rows of digits.

    Actions:
        Text with the numbers of the tiles in reading order, ``3 1 4 2``, read as ``answer_format`` says.

    Reward:
        The fraction of the tiles that stand in their places (the term "tiles"); only all of them are a success. An
        order that is no permutation earns nothing. All permutations are equally likely, so that any one earns 1 /
        side^2 by chance: 0.25 on the easiest tasks.

    Termination:
        After the first answer.

    Source:
        The jigsaw puzzles of PuzzleCraft, arXiv 2512.14944; here each has one solution by a stated rule.
    """

    answer_form = "lines"
    param_space = ParamSpace([IntAxis("side", 2, 4), IntAxis("step", 1, 3), IntAxis("cells", 4, 6, harder="down")])
    chance = 0.25

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        side, step, cells = params["side"], params["step"], params["cells"]
        while True:
            picture = smooth(rng, side * cells, side * cells, step)
            tiles = picture.reshape(side, cells, side, cells).swapaxes(1, 2).reshape(side * side, cells, cells)
            places = rng.permutation(side * side)
            tiles = tiles[places]
            orders, tried = arrangements(tiles, side, step)
            if len(orders) == 1:
                break
        shown = [lines(tile) for tile in tiles]
        listed = "\n".join("\n".join((f"Tile {number}:", *rows)) for number, rows in enumerate(shown, 1))
        (order,) = orders
        example = tuple(range(side * side, 0, -1))
        if example == order:
            example = order[1:] + order[:1]
        return Task(
            f"A picture of {side * cells} x {side * cells} digits was cut into {side} x {side} square tiles, which "
            "were shuffled but not turned. In the picture, digits side by side or one above the other differ by at "
            f"most {step}, also across the cuts; only one order of the tiles makes it so.\n{listed}\n"
            "Answer with the numbers of the tiles from left to right, row by row from the top, such as "
            f'"{" ".join(map(str, example))}".',
            None,
            solution=" ".join(map(str, order)),
            content=listed,
            data=Tiles(shown, order, tried),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        order = task.data.order
        given = _read(answer, len(order))
        if given is None:
            return rejected(f"The answer must have each of the numbers 1 to {len(order)} once, separated by spaces.")
        right = sum(one == other for one, other in zip(given, order))
        score = right / len(order)
        feedback = f"{right} of {len(order)} tiles are in their places."
        return Verdict(score, right == len(order), terms={"tiles": score}, feedback=feedback)

    def solver_cost(self, episode: Task) -> float:
        """How often depth-first search over the places in reading order lays a tile, or finds none that fits."""
        return float(episode.data.tried)

    def solution_steps(self, task: Task) -> list[str]:
        """Each tile in its place, and the edges that meet there."""
        shown, order, _ = task.data
        side = int(len(order) ** 0.5)
        steps = []
        for place, number in enumerate(order):
            row, column = divmod(place, side)
            meets = []
            if column:
                left = order[place - 1]
                meets.append(f"right of tile {left}: {_column(shown[left - 1], -1)} | {_column(shown[number - 1], 0)}")
            if row:
                above = order[place - side]
                meets.append(f"below tile {above}: {shown[above - 1][-1]} | {shown[number - 1][0]}")
            steps.append(f"Row {row + 1}, column {column + 1}: tile {number}" + "".join(f", {meet}" for meet in meets))
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        shown = episode.data.shown
        panels = [(str(number), rows) for number, rows in enumerate(shown, 1)]
        return board(sheet(panels, int(len(shown) ** 0.5)), side=20)


def arrangements(tiles: np.ndarray, side: int, step: int, most: int = 2) -> tuple[list[tuple[int, ...]], int]:
    """The orders of tiles in which digits on both sides of each cut differ by at most ``step``.

    Args:
        tiles: int[side * side, cells, cells].
        most: the search ends when it has found so many.

    Returns:
        The orders, as the numbers of the tiles (from 1) in reading order; and how many tiles the search laid, with the
        times that it found none to lay.
    """
    count = side * side
    # Who may stand right of, and below, each tile, as bits. Whether a tile fits itself does not matter.
    bits = 1 << np.arange(count)
    edges = ((tiles[:, :, -1], tiles[:, :, 0]), (tiles[:, -1], tiles[:, 0]))
    right, below = (((abs(end[:, None] - start) <= step).all(axis=2) @ bits).tolist() for end, start in edges)
    found: list[tuple[int, ...]] = []
    laid: list[int] = []
    tried = 0

    def lay(free: int) -> None:
        nonlocal tried
        place = len(laid)
        if place == count:
            found.append(tuple(tile + 1 for tile in laid))
            return
        fitting = free
        if place % side:
            fitting &= right[laid[-1]]
        if place >= side:
            fitting &= below[laid[-side]]
        tried += fitting.bit_count() or 1
        while fitting and len(found) < most:
            lowest = fitting & -fitting
            laid.append(lowest.bit_length() - 1)
            lay(free ^ lowest)
            laid.pop()
            fitting ^= lowest

    lay((1 << count) - 1)
    return found, tried


def _column(rows: list[str], place: int) -> str:
    return "".join(row[place] for row in rows)


def _read(answer: str, count: int) -> tuple[int, ...] | None:
    """The numbers in an answer, or None where they are not the numbers from 1 to ``count``."""
    words = _SEPARATORS.sub(" ", answer).split()
    if len(words) == 1:
        words = list(words[0])
    if len(words) != count or not all(word.isascii() and word.isdigit() and len(word) < 3 for word in words):
        return None
    numbers = tuple(map(int, words))
    return numbers if sorted(numbers) == list(range(1, count + 1)) else None


register("palaestra/Jigsaw-v0", f"{__name__}:Jigsaw")
