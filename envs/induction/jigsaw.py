"""palaestra/Jigsaw-v0: put the tiles of a picture back in order."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any, NamedTuple

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import rejected
from ..board_picture import draw_board
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .images import lay_out_panels, picture_rows, smooth_picture

_SEPARATORS = re.compile(r"tiles?|->|[\s,;/|()\[\]]+", re.IGNORECASE)


class Edges(NamedTuple):
    """Pairs of tiles that fit: ``right[a, b]`` is True if b fits to the right of a, ``below[a, b]`` if below a."""

    right: np.ndarray
    below: np.ndarray


class JigsawTiles(NamedTuple):
    """The tiles as shown, each a list of rows; the number of the tile at each place, in reading order; and which tiles
    fit next to each other."""

    shown: list[list[str]]
    order: tuple[int, ...]
    fit: Edges


class Jigsaw(Question):
    """Put the tiles of a cut picture back in order.

    Description:
        A picture of digits is cut into square tiles, which are shuffled and numbered. In the picture, cells side by
        side or one above the other differ by at most ``step``; exactly one order of the tiles satisfies this. Tiles are
        not turned.

    Parameters:
        side (2 to 4): tiles along each side of the picture.
        step (1 to 3): the largest difference of neighbouring cells; the larger, the more tiles seem to fit.
        cells (6 to 4, harder downwards, on request up to 12): cells along each side of a tile; shorter edges give less
        information.

    Observation:
        Text: the rule, and the tiles with their numbers, each as rows of digits.

    Actions:
        Text with the numbers of the tiles in reading order, ``3 1 4 2``, read in ``answer_format``.

    Reward:
        The fraction of the tiles in their places (the term "tiles"); success needs all of them. An order that is no
        permutation earns 0. All permutations are equally likely, so that any fixed one earns 1 / side^2 by chance on
        average: 0.25 on the easiest tasks.

    Termination:
        After the first answer.

    Source:
        The jigsaw puzzles of PuzzleCraft, arXiv 2512.14944; here each has one solution by a stated rule.
    """

    supplies = frozenset({"permutation"})
    answer_form = "lines"
    param_space = ParamSpace(
        [IntAxis("side", 2, 4), IntAxis("step", 1, 3), IntAxis("cells", 4, 6, harder="down", limits=(4, 12))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        side, step, cells = params["side"], params["step"], params["cells"]
        while True:
            picture = smooth_picture(rng, side * cells, side * cells, step)
            tiles = picture.reshape(side, cells, side, cells).swapaxes(1, 2).reshape(side * side, cells, cells)
            places = rng.permutation(side * side)
            fit = match_edges(tiles, step)
            if has_swappable_tiles(fit, side):
                continue
            tiles, fit = tiles[places], Edges(*(one[places][:, places] for one in fit))
            orders = find_arrangements(fit, side)
            if len(orders) == 1:
                break
        shown = [picture_rows(tile) for tile in tiles]
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
            data=JigsawTiles(shown, order, fit),
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        order = task.data.order
        given = _read_order(answer, len(order))
        if given is None:
            return rejected(f"The answer must have each of the numbers 1 to {len(order)} once, separated by spaces.")
        right = sum(one == other for one, other in zip(given, order))
        score = right / len(order)
        feedback = f"{right} of {len(order)} tiles are in their places."
        return Verdict(score, right == len(order), terms={"tiles": score}, feedback=feedback)

    def compute_extra(self, subject: Task, name: str) -> Any:
        return len(subject.data.order) if name == "permutation" else super().compute_extra(subject, name)

    def solver_cost(self, episode: Task) -> float:
        """Return the effort of a depth-first search; see `count_search_steps`."""
        return float(count_search_steps(episode.data.fit, int(len(episode.data.order) ** 0.5)))

    def solution_steps(self, task: Task) -> list[str]:
        """List each tile in its place, with the edges that meet there."""
        shown, order, _ = task.data
        side = int(len(order) ** 0.5)
        steps = []
        for place, number in enumerate(order):
            row, column = divmod(place, side)
            meets = []
            if column:
                left = order[place - 1]
                meets.append(
                    f"right of tile {left}: {_read_column(shown[left - 1], -1)} | {_read_column(shown[number - 1], 0)}"
                )
            if row:
                above = order[place - side]
                meets.append(f"below tile {above}: {shown[above - 1][-1]} | {shown[number - 1][0]}")
            steps.append(f"Row {row + 1}, column {column + 1}: tile {number}" + "".join(f", {meet}" for meet in meets))
        return [*steps, self.oracle(task)]

    def draw(self, episode: Task) -> np.ndarray:
        shown = episode.data.shown
        panels = [(str(number), rows) for number, rows in enumerate(shown, 1)]
        return draw_board(lay_out_panels(panels, int(len(shown) ** 0.5)), side=20)


def match_edges(tiles: np.ndarray, step: int) -> Edges:
    """Return which of the tiles, int[count, cells, cells], fit next to each other: digits on both sides of the cut
    differ by at most ``step``."""
    sides = ((tiles[:, :, -1], tiles[:, :, 0]), (tiles[:, -1], tiles[:, 0]))
    right, below = (np.asarray((abs(end[:, None] - start) <= step).all(axis=2)) for end, start in sides)
    return Edges(right, below)


def has_swappable_tiles(fit: Edges, side: int) -> bool:
    """Return True if two tiles of the given order that do not touch can be swapped: a quick test for a second
    solution."""
    grid = np.arange(side * side).reshape(side, side)
    fits = np.ones((side * side, side * side), bool)
    apart = ~np.eye(side * side, dtype=bool)
    for one, first, second in ((fit.right, grid[:, :-1], grid[:, 1:]), (fit.below, grid[:-1], grid[1:])):
        first, second = first.ravel(), second.ravel()
        # fits[tile, place]: whether the tile fits the neighbours of the place.
        fits[:, first] &= one[:, second]
        fits[:, second] &= one[first].T
        apart[first, second] = apart[second, first] = False
    return bool((fits & fits.T & apart).any())


def find_arrangements(fit: Edges, side: int, most: int = 2) -> list[tuple[int, ...]]:
    """Return up to ``most`` orders of ``side * side`` tiles in which all neighbours fit.

    An order has the numbers of the tiles, from 1, in reading order. All possible upper and lower halves of the picture
    are found, and those that share no tile are joined.
    """
    every = (1 << side * side) - 1
    upper = _lay_rows(fit, side, side // 2)
    lower = upper if side % 2 == 0 else _lay_rows(fit, side, side - side // 2)
    tiles, others = (1 << upper).sum(axis=1), (1 << lower).sum(axis=1)
    upper, tiles = _keep_bands(upper, tiles, every ^ others)
    lower, others = _keep_bands(lower, others, every ^ tiles)
    by_tiles: defaultdict[int, list[np.ndarray]] = defaultdict(list)
    for band, held in zip(lower, others.tolist()):
        by_tiles[held].append(band)
    found: list[tuple[int, ...]] = []
    for band, held in zip(upper, tiles.tolist()):
        for other in by_tiles[every ^ held]:
            if fit.below[band[-side:], other[:side]].all():
                found.append(tuple([tile + 1 for tile in (*band.tolist(), *other.tolist())]))
                if len(found) == most:
                    return found
    return found


def _keep_bands(bands: np.ndarray, tiles: np.ndarray, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bands whose tiles, as bit sets, are in ``wanted``; and their tiles."""
    kept = np.isin(tiles, wanted)
    return bands[kept], tiles[kept]


def _lay_rows(fit: Edges, side: int, rows: int) -> np.ndarray:
    """Return every way to lay this many full rows: int[ways, rows * side], in reading order."""
    # Go column by column, as a place with two known neighbours has fewer candidates.
    order = [row * side + column for column in range(side) for row in range(rows)]
    count = len(fit.right)
    laid, free = np.zeros((1, rows * side), np.int64), np.ones((1, count), bool)
    for place in order:
        fitting = free
        if place % side:
            fitting = fitting & fit.right[laid[:, place - 1]]
        if place >= side:
            fitting = fitting & fit.below[laid[:, place - side]]
        way, tile = fitting.nonzero()
        laid, free = laid[way], free[way]
        laid[:, place] = tile
        free[np.arange(len(tile)), tile] = False
    return laid


def count_search_steps(fit: Edges, side: int) -> int:
    """Return the number of tiles laid, plus the number of dead ends, in a depth-first search over the places in reading
    order, which ends when it has found two orders or has searched everything."""
    count = side * side
    right, below = ((one @ (1 << np.arange(count))).tolist() for one in fit)
    laid: list[int] = []
    found = tries = 0

    def lay(free: int) -> None:
        nonlocal found, tries
        place = len(laid)
        if place == count:
            found += 1
            return
        fitting = free
        if place % side:
            fitting &= right[laid[-1]]
        if place >= side:
            fitting &= below[laid[-side]]
        tries += fitting.bit_count() or 1
        while fitting and found < 2:
            lowest = fitting & -fitting
            laid.append(lowest.bit_length() - 1)
            lay(free ^ lowest)
            laid.pop()
            fitting ^= lowest

    lay((1 << count) - 1)
    return tries


def _read_column(rows: list[str], place: int) -> str:
    return "".join(row[place] for row in rows)


def _read_order(answer: str, count: int) -> tuple[int, ...] | None:
    """Return the numbers in an answer; None if they are not the numbers from 1 to ``count``, each once."""
    words = _SEPARATORS.sub(" ", answer).split()
    if len(words) == 1:
        words = list(words[0])
    if len(words) != count or not all(word.isascii() and word.isdigit() and len(word) < 3 for word in words):
        return None
    numbers = tuple(map(int, words))
    return numbers if sorted(numbers) == list(range(1, count + 1)) else None


register("palaestra/Jigsaw-v0", f"{__name__}:Jigsaw")
