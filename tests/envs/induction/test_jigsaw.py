"""Jigsaw, against all orders of four tiles and a search of its own for nine."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest
from palaestra.envs.induction.images import smooth_picture
from palaestra.envs.induction.jigsaw import (
    Jigsaw,
    JigsawTiles,
    count_search_steps,
    find_arrangements,
    has_swappable_tiles,
    match_edges,
)
from palaestra.envs.measured import find_measured
from palaestra.envs.question import Task

FAMILY = Jigsaw()
# Cut from 0123 / 1234 / 2345 / 3456.
TASK = Task("", None, data=JigsawTiles([["23", "34"], ["45", "56"], ["01", "12"], ["23", "34"]], (3, 1, 4, 2), 0))
NINE = Task("", None, data=JigsawTiles([], (9, 1, 2, 3, 4, 5, 6, 7, 8), 0))


def tasks(count: int, **params: int) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, params) for _ in range(count)]


def shown(task: Task) -> tuple[list[list[str]], int, int]:
    """The tiles, the tiles along a side and the largest difference, from the prompt."""
    listed = re.findall(r"Tile (\d+):\n((?:\d+\n)+)", task.prompt)
    assert [int(number) for number, _ in listed] == list(range(1, len(listed) + 1))
    (step,) = re.findall(r"differ by at most (\d)", task.prompt)
    return [rows.split() for _, rows in listed], int(len(listed) ** 0.5), int(step)


def joined(tiles: list[list[str]], side: int) -> list[str]:
    """The picture of tiles in reading order."""
    bands = [tiles[start : start + side] for start in range(0, len(tiles), side)]
    return ["".join(row) for band in bands for row in zip(*band)]


def even(picture: list[str], step: int) -> bool:
    """Whether digits side by side or one above the other differ by at most ``step``; the rows may be a part."""
    columns = ["".join(column) for column in zip(*picture)]
    pairs = (pair for line in [*picture, *columns] for pair in itertools.pairwise(line))
    return all(abs(int(one) - int(other)) <= step for one, other in pairs)


def orders(tiles: list[list[str]], side: int, step: int) -> list[tuple[int, ...]]:
    """All orders that keep to the rule, one tile after the other."""
    pairs = list(itertools.permutations(range(len(tiles)), 2))
    right = {(a, b) for a, b in pairs if even(joined([tiles[a], tiles[b]], 2), step)}
    below = {(a, b) for a, b in pairs if even([*tiles[a], *tiles[b]], step)}
    begun: list[tuple[int, ...]] = [()]
    for place in range(len(tiles)):
        begun = [
            (*laid, tile)
            for laid in begun
            for tile in set(range(len(tiles))) - set(laid)
            if (place % side == 0 or (laid[-1], tile) in right) and (place < side or (laid[-side], tile) in below)
        ]
    return [tuple(tile + 1 for tile in laid) for laid in begun]


@pytest.mark.parametrize(("side", "count"), [(2, 40), (3, 12)])
def test_exactly_one_order_keeps_to_the_rule_and_it_is_the_answer(side: int, count: int):
    for step, cells in itertools.product((1, 3), (4, 6)):
        for task in tasks(count, side=side, step=step, cells=cells):
            tiles, along, most = shown(task)
            assert (along, most) == (side, step)
            assert {len(tile) for tile in tiles} == {len(row) for tile in tiles for row in tile} == {cells}
            (order,) = orders(tiles, side, step)
            assert FAMILY.oracle(task) == " ".join(map(str, order))
            assert even(joined([tiles[number - 1] for number in order], side), step)


def test_the_search_finds_all_orders_that_there_are():
    rng = np.random.default_rng(0)
    counts = set()
    for _ in range(60):
        tiles = rng.integers(0, 3, (4, 1, 1)) + rng.integers(0, 2, (4, 2, 2))
        texts = [["".join(map(str, row)) for row in tile] for tile in tiles.tolist()]
        every = [order for order in itertools.permutations(range(4)) if even(joined([texts[i] for i in order], 2), 1)]
        fit = match_edges(tiles, 1)
        found = find_arrangements(fit, 2, most=24)
        assert sorted(found) == [tuple(tile + 1 for tile in order) for order in every]
        assert len(find_arrangements(fit, 2)) == min(2, len(every))
        counts.add(len(every))
        if (0, 1, 2, 3) in every:
            assert has_swappable_tiles(fit, 2) is bool({(3, 1, 2, 0), (0, 2, 1, 3)} & set(every))
    assert {0, 1, 2} < counts


@pytest.mark.parametrize(("side", "cells", "count"), [(3, 2, 8), (4, 4, 2)])
def test_halves_are_joined_to_all_orders_that_there_are(side: int, cells: int, count: int):
    rng = np.random.default_rng(side)
    counts = []
    for _ in range(count):
        picture = smooth_picture(rng, side * cells, side * cells, 1)
        tiles = picture.reshape(side, cells, side, cells).swapaxes(1, 2).reshape(-1, cells, cells)
        texts = [["".join(map(str, row)) for row in tile] for tile in tiles.tolist()]
        every = sorted(orders(texts, side, 1))
        assert sorted(find_arrangements(match_edges(tiles, 1), side, most=10**6)) == every
        counts.append(len(every))
    assert max(counts) > 1


def test_the_work_is_one_for_each_tile_laid_and_for_each_dead_end():
    # Four tiles of one digit each. Each is tried in the first place. Beside 0 stands 1, and none is left below 0: 2.
    # Beside 1 stand 0 or 2, then the other one below 1, and none is left for the last place: 6. Beside 2 stands 1,
    # and none is left below 2: 2. Beside 9 stands none: 1.
    fit = match_edges(np.array([[[0]], [[1]], [[2]], [[9]]]), 1)
    assert (find_arrangements(fit, 2), count_search_steps(fit, 2)) == ([], 4 + 2 + 6 + 2 + 1)


@pytest.mark.parametrize(
    "answer",
    ["3 1 4 2", "3, 1, 4, 2", " 3;1;4;2 ", "[3, 1, 4, 2]", "3 1 / 4 2", "(3,1)|(4,2)", "3 -> 1 -> 4 -> 2", "3142",
     "Tile 3, tile 1, tile 4, tile 2", "Tiles 3 1 4 2", "03 01 04 02"],
)  # fmt: skip
def test_an_order_is_right_in_any_spelling(answer: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.score, verdict.reward) == (True, 1.0, 1.0)


def test_nine_tiles_may_be_written_without_spaces_but_sixteen_may_not():
    assert FAMILY.verify(NINE, "912345678").success
    sixteen = Task("", None, data=JigsawTiles([], tuple(range(1, 17)), 0))
    assert FAMILY.verify(sixteen, " ".join(map(str, range(1, 17)))).success
    assert FAMILY.verify(sixteen, "12345678910111213141516"[:16]).malformed


@pytest.mark.parametrize(
    ("answer", "fraction"), [("3 1 2 4", 0.5), ("3 4 2 1", 0.25), ("1 3 2 4", 0.0), ("4 1 3 2", 0.5)]
)
def test_the_reward_is_the_fraction_of_the_tiles_in_their_places(answer: str, fraction: float):
    verdict = FAMILY.verify(TASK, answer)
    assert dict(verdict.terms) == {"tiles": fraction}
    assert (verdict.score, verdict.success, verdict.malformed) == (fraction, False, False)
    assert verdict.feedback == f"{round(4 * fraction)} of 4 tiles are in their places."


@pytest.mark.parametrize(
    "answer",
    ["", "3 1 4", "3 1 4 2 2", "3 1 4 4", "0 1 2 3", "1 2 3 5", "3 1 4 x", "-3 1 4 2", "3.0 1 4 2", "314", "3145",
     "\u0663 1 4 2", "3 1 4 \u00b2", "1" * 4096, "1 " * 2048, "tile" * 1024, "(" * 4096],
)  # fmt: skip
def test_what_is_no_permutation_is_malformed_and_earns_nothing(answer: str):
    verdict = FAMILY.verify(TASK, answer)
    assert verdict.malformed
    assert verdict.reward == 0.0
    assert "1 to 4" in verdict.feedback


@pytest.mark.parametrize(("side", "count"), [(2, 1200), (3, 400)])
def test_any_order_earns_as_much_by_chance_as_is_stated(side: int, count: int):
    answers = [" ".join(map(str, range(1, side * side + 1))), " ".join(map(str, range(side * side, 0, -1)))]
    made = tasks(count, side=side, step=1, cells=6)
    for answer in answers:
        earned = np.mean([FAMILY.verify(task, answer).reward for task in made])
        # Four standard errors, as the number of tiles in place has variance 1.
        assert abs(earned - 1 / side**2) < 4 / side**2 / count**0.5
    assert find_measured("palaestra/Jigsaw-v0", FAMILY).chance == 1 / 2**2


def test_the_example_is_a_permutation_other_than_the_answer():
    for task in tasks(100, side=2, step=1, cells=6):
        (example,) = re.findall(r'such as "(.*)"\.', task.prompt)
        verdict = FAMILY.verify(task, example)
        assert not verdict.malformed
        assert not verdict.success


def test_each_step_shows_edges_that_lie_side_by_side_in_the_solution():
    for task in tasks(5, side=3, step=2, cells=4):
        tiles, side, _ = shown(task)
        steps = FAMILY.solution_steps(task)
        assert steps[-1] == task.solution
        numbers = [int(number) for number in task.solution.split()]  # type: ignore[union-attr]
        for place, (number, step) in enumerate(zip(numbers, steps[:-1], strict=True)):
            row, column = divmod(place, side)
            assert step.startswith(f"Row {row + 1}, column {column + 1}: tile {number}")
            tile, wanted = tiles[number - 1], []
            if column:
                left = numbers[place - 1]
                edges = ["".join(line[end] for line in lines) for lines, end in ((tiles[left - 1], -1), (tile, 0))]
                wanted.append(f"right of tile {left}: {' | '.join(edges)}")
            if row:
                above = numbers[place - side]
                wanted.append(f"below tile {above}: {tiles[above - 1][-1]} | {tile[0]}")
            assert step.split(", ")[2:] == wanted


def test_a_golden_task():
    task = FAMILY.generate(np.random.default_rng(7), {"side": 2, "step": 1, "cells": 4})
    assert task.prompt == GOLDEN
    assert task.solution == "4 2 3 1"


GOLDEN = """\
A picture of 8 x 8 digits was cut into 2 x 2 square tiles, which were shuffled but not turned. In the picture, \
digits side by side or one above the other differ by at most 1, also across the cuts; only one order of the tiles \
makes it so.
Tile 1:
8989
8898
9898
8989
Tile 2:
8767
7656
8767
9878
Tile 3:
7898
6789
5678
6789
Tile 4:
7789
8898
9889
8988
Answer with the numbers of the tiles from left to right, row by row from the top, such as "4 3 2 1"."""


def test_pictures_show_the_tiles_apart():
    pytest.importorskip("PIL")
    (task,) = tasks(1, side=3, step=1, cells=4)
    # Three tiles of four cells and a gap each way, with a title above each.
    assert FAMILY.draw(task).shape == (3 * 5 * 20 + 1, 3 * 5 * 20 + 1, 3)
