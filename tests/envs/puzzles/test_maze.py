"""Mazes: every answer is walked on a grid read from the prompt alone."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest
from palaestra.envs.puzzles.directions import read_directions
from palaestra.envs.puzzles.maze import Maze, MazeTask
from palaestra.envs.question import Task

STEPS = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def tasks(count: int, **params: float) -> list[Task]:
    family, rng = Maze(), np.random.default_rng(count)
    return [family.generate(rng, params) for _ in range(count)]


def grid_of(task: Task) -> list[list[str]]:
    return [line.split(" ") for line in task.prompt.split("\n") if line.startswith("# ")]


def find(grid: list[list[str]], character: str) -> tuple[int, int]:
    (place,) = [(y, x) for y, row in enumerate(grid) for x, cell in enumerate(row) if cell == character]
    return place


def distances(grid: list[list[str]]) -> dict[tuple[int, int], int]:
    found, queue = {find(grid, "S"): 0}, deque([find(grid, "S")])
    while queue:
        y, x = queue.popleft()
        for dy, dx in STEPS.values():
            place = (y + dy, x + dx)
            if grid[place[0]][place[1]] != "#" and place not in found:
                found[place] = found[y, x] + 1
                queue.append(place)
    return found


def walked(grid: list[list[str]], moves: str) -> bool:
    y, x = find(grid, "S")
    for move in moves:
        y, x = y + STEPS[move][0], x + STEPS[move][1]
        if grid[y][x] == "#":
            return False
    return (y, x) == find(grid, "G")


def depth_first_trees(size: int) -> int:
    """How many trees a depth-first search over size x size rooms can find, whatever the start and the order."""
    rooms = [(y, x) for y in range(size) for x in range(size)]
    beside = {(y, x): [p for p in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1)) if p in rooms] for y, x in rooms}
    trees: set[frozenset[frozenset[tuple[int, int]]]] = set()

    def grow(path: list[tuple[int, int]], seen: frozenset[Any], doors: frozenset[Any]) -> None:
        if len(seen) == len(rooms):
            trees.add(doors)
            return
        ahead = [room for room in beside[path[-1]] if room not in seen]
        for room in ahead:
            grow([*path, room], seen | {room}, doors | {frozenset((path[-1], room))})
        if not ahead:
            grow(path[:-1], seen, doors)

    for start in rooms:
        grow([start], frozenset([start]), frozenset())
    return len(trees)


# The goal is four moves off on either side of the block in the middle.
RING = "# # # # #\n# S . . #\n# . # . #\n# . . G #\n# # # # #"
TASK = Task("", None, data=MazeTask(RING, 10, 12, 36, "RRDD"))


@pytest.mark.parametrize(
    "answer",
    ["RRDD", "DDRR", "rrdd", "R R D D", "right, right, down, down", "RR down D", "[R, R, D, D]", "R -> R -> D -> D"],
)
def test_any_shortest_way_in_any_spelling_is_right(answer: str):
    assert Maze().verify(TASK, answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("RRD", "does not end at G"),
        ("RRDDL", "5 moves are more"),
        ("RDRD", "Move 2 runs into a wall"),
        ("UUUU", "Move 1 runs into a wall"),
        ("RLRRDD", "6 moves are more"),
        ("R" * 4096, "4096 moves are more"),
    ],
)
def test_wrong_ways_are_told_what_is_wrong(answer: str, why: str):
    verdict = Maze().verify(TASK, answer)
    assert not verdict.success
    assert not verdict.malformed
    assert verdict.score == 0.0
    assert why in verdict.feedback


@pytest.mark.parametrize("answer", ["", "4", "RRDX", "S to G", "right right down down!", "\u0130", ","])
def test_what_is_no_list_of_moves_is_malformed(answer: str):
    assert Maze().verify(TASK, answer).malformed


def test_directions_are_read_from_words_and_letters():
    assert read_directions("up, Down LEFT rud") == "UDLRUD"
    assert read_directions("upp") is None
    assert read_directions(" , ") is None


@pytest.mark.parametrize(("size", "loops"), [(3, 0.0), (3, 0.2), (5, 0.1), (9, 0.0), (14, 0.2)])
def test_the_reference_is_a_shortest_way_of_at_least_four_moves(size: int, loops: float):
    for task in tasks(25, size=size, loops=loops):
        grid = grid_of(task)
        assert len(grid) == 2 * size + 1
        least = distances(grid)[find(grid, "G")]
        assert least >= 4
        assert len(task.solution or "") == least
        assert walked(grid, task.solution or "")


def test_without_loops_one_way_leads_to_each_room():
    for task in tasks(30, size=6, loops=0.0):
        grid = grid_of(task)
        # A tree: all 36 rooms are reached, over 35 doors.
        assert len(distances(grid)) == sum(cell != "#" for row in grid for cell in row) == 71


def test_many_different_mazes_come_even_where_they_are_small():
    drawn = {task.data.text.replace("S", ".").replace("G", ".") for task in tasks(1500, size=3, loops=0.0)}
    # Of the 192 spanning trees of nine rooms, those that a depth-first search can leave behind.
    assert len(drawn) == depth_first_trees(3) == 88


def test_loops_open_doors_and_shorten_ways():
    perfect, looped = tasks(60, size=10, loops=0.0), tasks(60, size=10, loops=0.2)
    assert all(len(distances(grid_of(task))) > 199 + 5 for task in looped)
    assert sum(len(task.data.way) for task in looped) < 0.6 * sum(len(task.data.way) for task in perfect)


def test_every_walk_is_judged_as_on_the_grid_itself():
    rng = np.random.default_rng(3)
    right = 0
    for task in tasks(40, size=3, loops=0.2):
        grid, least = grid_of(task), len(task.solution or "")
        for _ in range(60):
            # A move or two changed, or the steps from room to room in another order, which may be right too.
            moves = list(task.solution or "")
            if rng.random() < 0.5:
                moves = list("".join(rng.permutation([move + move for move in moves[::2]])))
            for _ in range(int(rng.integers(0, 3))):
                moves[int(rng.integers(least))] = "UDLR"[int(rng.integers(4))]
            verdict = Maze().verify(task, "".join(moves))
            assert verdict.success == walked(grid, "".join(moves))
            right += verdict.success and "".join(moves) != task.solution
    assert right > 0


def test_steps_name_the_places_they_reach():
    for task in tasks(20, size=7, loops=0.1):
        grid = grid_of(task)
        (y, x), steps = find(grid, "S"), Maze().solution_steps(task)
        for step in steps[:-1]:
            word, count, _, _, row, _, column = step.rstrip(".").replace(",", "").split()
            dy, dx = STEPS[word[0]]
            y, x = y + dy * int(count), x + dx * int(count)
            assert (y + 1, x + 1) == (int(row), int(column))
        assert (y, x) == find(grid, "G")
        assert steps[-1] == task.solution


def test_pictures_have_a_square_per_character():
    pytest.importorskip("PIL")
    assert Maze().draw(TASK).shape == (101, 101, 3)


def test_solver_cost_counts_the_places_visited():
    # Layers of the ring: 1, 2, 2, 2 and the goal, met from both sides.
    assert Maze().solver_cost(TASK) == 8
