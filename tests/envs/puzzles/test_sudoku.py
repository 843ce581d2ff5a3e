"""Sudoku: one solution, minimal clues, and no credit for anything but the solution."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from palaestra.envs.puzzles.sudoku import BOXES, CLUE, HARD_CELL, Sudoku, _table, count_solutions, fill_singles
from palaestra.tools import make_sudoku_table


def exact_covers(cells: list[int], size: int, limit: int) -> int:
    """Solutions counted up to a limit, by Knuth's Algorithm X; it shares nothing with the family."""
    high, wide = BOXES[size]
    rows: dict[tuple[int, int, int], list[Any]] = {}
    for r in range(size):
        for c in range(size):
            for d in range(1, size + 1):
                if cells[r * size + c] in (0, d):
                    rows[r, c, d] = [("cell", r, c), ("r", r, d), ("c", c, d), ("b", r // high, c // wide, d)]
    columns: dict[Any, set[tuple[int, int, int]]] = {}
    for row, covered in rows.items():
        for column in covered:
            columns.setdefault(column, set()).add(row)
    if len(columns) < 4 * size * size:
        return 0

    def solve() -> int:
        if not columns:
            return 1
        found = 0
        column = min(columns, key=lambda name: len(columns[name]))
        for row in sorted(columns[column]):
            removed = []
            for covered in rows[row]:
                for other in columns[covered]:
                    for elsewhere in rows[other]:
                        if elsewhere != covered:
                            columns[elsewhere].remove(other)
                removed.append(columns.pop(covered))
            found += solve()
            for covered in reversed(rows[row]):
                columns[covered] = removed.pop()
                for other in columns[covered]:
                    for elsewhere in rows[other]:
                        if elsewhere != covered:
                            columns[elsewhere].add(other)
            if found >= limit:
                break
        return found

    return solve()


def shown_in(prompt: str, size: int) -> list[int]:
    rows = re.findall(rf"^[.1-{size}]{{{size}}}$", prompt, re.MULTILINE)
    assert len(rows) == size
    return [0 if mark == "." else int(mark) for row in rows for mark in row]


def is_solution(cells: list[int], size: int) -> bool:
    high, wide = BOXES[size]
    units: dict[Any, set[int]] = {}
    for place, digit in enumerate(cells):
        r, c = divmod(place, size)
        for unit in (("r", r), ("c", c), ("b", r // high, c // wide)):
            units.setdefault(unit, set()).add(digit)
    return len(units) == 3 * size and all(unit == set(range(1, size + 1)) for unit in units.values())


@pytest.mark.parametrize(
    ("size", "shown", "seeds"), [(4, 0.0, 20), (4, 0.75, 10), (6, 0.0, 10), (6, 0.4, 10), (9, 0.0, 6), (9, 0.3, 6)]
)
def test_the_oracle_has_the_one_solution_that_the_prompt_shows_clues_of(size: int, shown: float, seeds: int):
    env = Sudoku(size=size, shown=shown)
    for seed in range(seeds):
        prompt, _ = env.reset(seed=seed)
        clues = shown_in(prompt, size)
        answer = [int(digit) for digit in env.oracle().replace(" ", "")]
        assert is_solution(answer, size)
        assert all(digit in (0, full) for digit, full in zip(clues, answer))
        assert exact_covers(clues, size, 2) == 1


@pytest.mark.parametrize(("size", "seeds"), [(4, 8), (6, 4), (9, 1)])
def test_without_extra_cells_no_clue_can_be_left_out(size: int, seeds: int):
    env = Sudoku(size=size, shown=0.0)
    for seed in range(seeds):
        clues = shown_in(env.reset(seed=seed)[0], size)
        for place in [place for place, digit in enumerate(clues) if digit]:
            assert exact_covers([*clues[:place], 0, *clues[place + 1 :]], size, 2) > 1


def test_shown_is_the_share_of_the_other_cells():
    for size in (4, 6):
        for seed in range(10):
            counts = []
            for shown in (0.0, 0.5):
                counts.append(shown_in(Sudoku(size=size, shown=shown, split="all").reset(seed=seed)[0], size).count(0))
            assert counts[1] == counts[0] - round(0.5 * counts[0])
    for shown in (0.0, 0.2, 0.5):
        env = Sudoku(size=9, shown=shown)
        for seed in range(10):
            count = shown_in(env.reset(seed=seed)[0], 9).count(0)
            others = 81 - _table()[9][int(env.here().split_key.split()[1])][1].count(CLUE)
            assert count == others - round(shown * others)


def test_the_table_holds_different_solved_grids_of_every_size():
    for size, count in make_sudoku_table.COUNTS.items():
        table = _table()[size]
        assert len(table) == count
        assert len({tuple(solution) for solution, _ in table}) > 0.7 * count
        assert all(is_solution(solution, size) for solution, _ in table)


def test_images_of_a_puzzle_of_size_9_are_in_one_split():
    numbers: dict[str, set[str]] = {"train": set(), "test": set()}
    for split, met in numbers.items():
        env = Sudoku(size=9, split=split)
        for seed in range(150):
            env.reset(seed=seed)
            met.add(env.here().split_key)
    assert len(numbers["train"]) > len(numbers["test"]) > 40
    assert not numbers["train"] & numbers["test"]


def test_the_script_makes_the_table_again():
    rng = np.random.default_rng(2024)
    lines = [make_sudoku_table.minimal(make_sudoku_table.full_grid(4, rng), rng) for _ in range(20)]
    assert lines == make_sudoku_table.TABLE.read_text().split()[:20]


def left_open_by_singles(cells: list[int], size: int) -> set[int]:
    """Cells that are still empty where there is neither a cell with one digit left nor a digit with one cell left."""
    cells, grown = list(cells), True
    while grown:
        grown = False
        for place in [place for place, digit in enumerate(cells) if not digit]:
            options = allowed(cells, place, size)
            for kind in ("row", "column", "box"):
                elsewhere = [allowed(cells, p, size) for p in unit(kind, place, size) - {place} if not cells[p]]
                if only := options - set().union(*elsewhere):
                    options = only
            if len(options) == 1:
                cells[place], grown = options.pop(), True
    return {place for place, digit in enumerate(cells) if not digit}


@pytest.mark.parametrize("shown", [0.0, 0.12, 0.24])
def test_with_few_cells_shown_singles_do_not_solve_a_puzzle_of_size_nine(shown: float):
    env = Sudoku(size=9, shown=shown)
    solved = 0
    for seed in range(3):
        given = shown_in(env.reset(seed=seed)[0], 9)
        still_open = left_open_by_singles(given, 9)
        assert {place for place, digit in enumerate(fill_singles(given)) if not digit} == still_open
        solved += not still_open
    assert solved == 0


def test_the_table_marks_what_singles_leave_open():
    for size in BOXES:
        for solution, kinds in _table()[size][::10]:
            clues = [digit if kind == CLUE else 0 for digit, kind in zip(solution, kinds)]
            assert [digit == 0 for digit in fill_singles(clues)] == [kind == HARD_CELL for kind in kinds]


def test_search_counts_like_the_exact_cover():
    rng = np.random.default_rng(5)
    for _ in range(20):
        solution, _ = _table()[6][int(rng.integers(200))]
        cells = [digit if rng.random() < 0.35 else 0 for digit in solution]
        assert count_solutions(cells, limit=5)[0] == min(exact_covers(cells, 6, 5), 5)
    assert count_solutions([1, 1] + [0] * 14, limit=2)[0] == 0


def test_forms_of_the_right_answer_and_answers_near_it():
    env = Sudoku(size=4, shown=0.5)
    env.reset(seed=3)
    task = env.here()
    given, full = task.data
    rows = env.oracle(task).split()
    right = [
        " ".join(rows),
        ", ".join(rows),
        " ".join("".join(rows)),
        "\n".join(rows),
        str([list(map(int, row)) for row in rows]),
    ]
    for text in right:
        assert env.verify(task, text).success, text
    hole = given.index(0)
    near = list(map(str, full))
    near[hole] = str((near[hole] == "1" and 2) or 1)
    changed = list(map(str, full))
    clue = next(place for place, digit in enumerate(given) if digit)
    changed[clue] = str(full[clue] % 4 + 1)
    assert env.verify(task, " ".join(near)).feedback == f"1 of {given.count(0)} empty cells are filled in wrongly."
    assert "given digit" in env.verify(task, " ".join(changed)).feedback
    clues_alone = "".join(map(str, given))
    for text in [
        "".join(near),
        clues_alone,
        clues_alone.replace("0", "."),
        "1" * 16,
        task.prompt,
        " ".join(rows[:3]),
        "0123 " * 4,
        "-1 " * 16,
        "9" * 4000,
        "",
    ]:
        verdict = env.verify(task, text)
        assert not verdict.success
        assert verdict.score == 0.0


def unit(kind: str, place: int, size: int) -> set[int]:
    high, wide = BOXES[size]
    keys = {
        "row": [p // size for p in range(size * size)],
        "column": [p % size for p in range(size * size)],
        "box": [(p // size // high, p % size // wide) for p in range(size * size)],
    }[kind]
    return {p for p, key in enumerate(keys) if key == keys[place]}


def allowed(cells: list[int], place: int, size: int) -> set[int]:
    peers = set.union(*(unit(kind, place, size) for kind in ("row", "column", "box")))
    return set(range(1, size + 1)) - {cells[peer] for peer in peers}


@pytest.mark.parametrize(("size", "shown"), [(4, 0.3), (6, 0.0), (9, 0.3), (9, 0.0)])
def test_every_step_follows_from_the_grid_before_it(size: int, shown: float):
    env = Sudoku(size=size, shown=shown)
    env.reset(seed=1)
    task = env.here()
    cells, full = list(task.data[0]), task.data[1]
    *steps, answer = env.solution_steps(task)
    assert answer == env.oracle(task)
    for step in steps:
        match = re.fullmatch(r"Row (\d), column (\d) is (\d): (.+)\.", step)
        assert match, step
        place, digit, reason = (int(match[1]) - 1) * size + int(match[2]) - 1, int(match[3]), match[4]
        options = allowed(cells, place, size)
        assert not cells[place]
        assert digit == full[place]
        if reason == "no other digit is left for this cell":
            assert options == {digit}
        elif reason.startswith(f"there is no other cell for {digit} in its "):
            members = unit(reason.rsplit(" ", 1)[1], place, size)
            assert [p for p in members if not cells[p] and digit in allowed(cells, p, size)] == [place]
        else:
            assert reason == f"any other of {', '.join(map(str, sorted(options)))} leads to a contradiction"
            for other in options - {digit}:
                assert exact_covers([*cells[:place], other, *cells[place + 1 :]], size, 1) == 0
        cells[place] = digit
    assert cells == full


def test_the_picture_shows_the_grid():
    env = Sudoku(size=6, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert picture.shape == (241, 241, 3)
    assert len({tuple(pixel) for pixel in picture.reshape(-1, 3).tolist()}) > 3
