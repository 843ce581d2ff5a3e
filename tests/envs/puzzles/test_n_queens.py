"""NQueens: the prompts solved again by plain enumeration."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from palaestra.envs import Question
from palaestra.envs.puzzles.n_queens import NQueens, count_completions


def effort(env: Question, count: int = 40, **params: Any) -> float:
    rng = np.random.default_rng(3)
    tasks = [env.generate(rng, params) for _ in range(count)]
    return sum(env.solver_cost(task) or 0.0 for task in tasks)


def refused(env: Question, answers: list[str]) -> None:
    for answer in answers:
        verdict = env.verify(env.here(), answer)
        assert not verdict.success, answer
        assert verdict.score == 0.0
        assert verdict.feedback


HOSTILE = ["", "0", "1", "1 2 3", "x", "9" * 4000, "1 " * 2000, "[" * 2000, "[[1], 2]", "-1 -1", "1e3", "nan", "yes"]


def board_in(prompt: str) -> list[int]:
    rows = re.findall(r"^[.Q]{8,12}$", prompt, re.MULTILINE)
    assert all(row.count("Q") <= 1 and len(row) == len(rows) for row in rows)
    return [row.find("Q") for row in rows]


def fillings(given: list[int]) -> list[tuple[int, ...]]:
    """All full boards with the given queens, from permutations of the free columns."""
    rows = [row for row, column in enumerate(given) if column < 0]
    columns = sorted(set(range(len(given))) - set(given))
    found = []
    for order in itertools.permutations(columns):
        full = list(given)
        for row, column in zip(rows, order):
            full[row] = column
        size = len(full)
        if len({r + c for r, c in enumerate(full)}) == len({r - c for r, c in enumerate(full)}) == size:
            found.append(tuple(full))
    return found


@pytest.mark.parametrize(
    ("size", "given", "seeds"), [(8, 4, 15), (8, 6, 15), (10, 5, 10), (10, 4, 4), (12, 6, 4), (12, 4, 1)]
)
def test_exactly_one_way_to_add_the_queens(size: int, given: int, seeds: int):
    env = NQueens(size=size, given=given)
    for seed in range(seeds):
        queens = board_in(env.reset(seed=seed)[0])
        assert len(queens) == size
        assert sum(column >= 0 for column in queens) == given
        assert [" ".join(str(c + 1) for c in full) for full in fillings(queens)] == [env.oracle()]


def test_wrong_boards_and_their_feedback():
    env = NQueens(size=8, given=4)
    prompt, _ = env.reset(seed=5)
    queens = env.oracle().split()
    given = board_in(prompt)
    place = next(row for row, column in enumerate(given) if column >= 0)
    empty = [row for row, column in enumerate(given) if column < 0]
    swapped, moved = list(queens), list(queens)
    swapped[empty[0]], swapped[empty[1]] = swapped[empty[1]], swapped[empty[0]]
    moved[place] = str(int(queens[place]) % 8 + 1)
    assert "attack" in env.verify(env.here(), " ".join(swapped)).feedback
    assert env.verify(env.here(), " ".join(moved)).feedback == f"The given queen in row {place + 1} was moved."
    # A solution of the empty board is none of this one.
    other = next(full for full in fillings([-1] * 8) if any(g not in (-1, c) for g, c in zip(given, full)))
    refused(
        env,
        [" ".join(swapped), " ".join(moved), " ".join(str(c + 1) for c in other), "".join(queens), prompt, *HOSTILE],
    )
    refused(env, [" ".join(str(int(c) - 1) for c in queens), " ".join(queens[:-1]), "1 2 3 4 5 6 7 8"])
    assert env.verify(env.here(), ",".join(queens)).success


def test_every_board_is_judged_by_its_lines_also_beyond_the_edges():
    env = NQueens(size=8, given=5)
    env.reset(seed=1)
    given = board_in(env.here().prompt)
    empty = [row for row, column in enumerate(given) if column < 0]
    for columns in itertools.product(range(-1, 9), repeat=3):
        full = list(given)
        for row, column in zip(empty, columns):
            full[row] = column
        verdict = env.verify(env.here(), " ".join(str(column + 1) for column in full))
        assert verdict.malformed == (not 0 <= min(columns) <= max(columns) < 8)
        lines = [set(full), {r + c for r, c in enumerate(full)}, {r - c for r, c in enumerate(full)}]
        assert verdict.success == (not verdict.malformed and all(len(line) == 8 for line in lines))


def test_queens_steps_are_true():
    for seed in range(5):
        env = NQueens(size=9, given=4)
        placed = {r: c for r, c in enumerate(board_in(env.reset(seed=seed)[0])) if c >= 0}
        queens = [int(column) - 1 for column in env.oracle().split()]
        *steps, answer = env.solution_steps(env.here())
        assert answer == env.oracle()
        for step in steps:
            match = re.fullmatch(r"Row (\d+): column (\d+), (the only free column|of ([\d, ]+), the others .*)\.", step)
            assert match, step
            row = int(match[1]) - 1
            free = [c for c in range(9) if all(c != o and abs(c - o) != abs(row - r) for r, o in placed.items())]
            assert [int(c) - 1 for c in (match[4] or match[2]).split(", ")] == free
            placed[row] = int(match[2]) - 1
            assert placed[row] == queens[row]
        assert len(placed) == 9


def test_larger_boards_and_fewer_queens_take_a_search_longer():
    env = NQueens()
    assert effort(env, size=8, given=4) < effort(env, size=10, given=4)
    assert effort(env, size=10, given=6) < effort(env, size=10, given=5) < effort(env, size=10, given=4)


def test_the_picture_of_a_board_shows_the_queens():
    env = NQueens(size=8, given=4, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (321, 321, 3)
    cells = picture[:320, :320].reshape(8, 40, 8, 40, 3)[:, 4:36, :, 4:36]
    marked = {(r, c) for r in range(8) for c in range(8) if len(np.unique(cells[r, :, c].reshape(-1, 3), axis=0)) > 1}
    assert marked == {(r, c) for r, c in enumerate(board_in(env.here().prompt)) if c >= 0}


def test_boards_beyond_the_shipped_range_have_one_completion():
    for size in (5, 16):
        env = NQueens(size=size, given=4)
        for seed in range(4):
            env.reset(seed=seed)
            assert count_completions(env.here().data, 2)[0] == 1
            assert 2 <= env.here().data.count(-1) <= 8
