"""Satisfiability, GraphColouring and NQueens: what the prompts say, solved again by plain enumeration."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from palaestra.envs import Question
from palaestra.envs.puzzles.graph_colouring import GraphColouring
from palaestra.envs.puzzles.n_queens import NQueens, count_completions
from palaestra.envs.puzzles.satisfiability import Satisfiability
from palaestra.envs.question import Task


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


# Satisfiability.


def clauses_in(prompt: str) -> tuple[int, list[list[int]]]:
    match = re.search(r"variables 1 to (\d+) the value.* Clauses: ([-\d; ]+)\.", prompt)
    assert match
    return int(match[1]), [[int(number) for number in part.split()] for part in match[2].split(";")]


def models(n: int, clauses: list[list[int]]) -> list[tuple[int, ...]]:
    return [
        values
        for values in itertools.product((0, 1), repeat=n)
        if all(any(values[abs(lit) - 1] == (lit > 0) for lit in clause) for clause in clauses)
    ]


@pytest.mark.parametrize(("variables", "width", "seeds"), [(6, 2, 40), (6, 4, 20), (8, 3, 10), (12, 2, 2), (12, 4, 2)])
def test_exactly_one_assignment_satisfies_all_clauses(variables: int, width: int, seeds: int):
    env = Satisfiability(variables=variables, width=width)
    for seed in range(seeds):
        n, clauses = clauses_in(env.reset(seed=seed)[0])
        assert n == variables
        assert all(len({abs(lit) for lit in clause}) == len(clause) == width for clause in clauses)
        assert [" ".join(map(str, values)) for values in models(n, clauses)] == [env.oracle()]


def test_each_clause_rules_something_out():
    env = Satisfiability(variables=6, width=3)
    for seed in range(10):
        n, clauses = clauses_in(env.reset(seed=seed)[0])
        counts = [len(models(n, clauses[:count])) for count in range(len(clauses) + 1)]
        assert all(after < before for before, after in itertools.pairwise(counts))


def test_taking_the_sign_that_a_variable_has_more_often_is_seldom_right():
    for params in ({"variables": 8, "width": 2}, {"variables": 8, "width": 3}, {"variables": 12, "width": 4}):
        env, right = Satisfiability(), 0
        rng = np.random.default_rng(0)
        for _ in range(100):
            task = env.generate(rng, params)
            n, clauses = task.data
            sums = [
                sum((lit > 0) - (lit < 0) for clause in clauses for lit in clause if abs(lit) == v + 1)
                for v in range(n)
            ]
            right += env.verify(task, " ".join("1" if total > 0 else "0" for total in sums)).success
        assert right <= 8, params


def test_satisfying_answers_in_several_forms_and_wrong_ones():
    env = Satisfiability(variables=6, width=3)
    prompt, _ = env.reset(seed=1)
    values = env.oracle().split()
    for right in (" ".join(values), ", ".join(values), f"[{', '.join(values)}]", f"[[{', '.join(values)}]]"):
        assert env.verify(env.here(), right).success, right
    flipped = [[str(1 - int(v)) if i == place else v for i, v in enumerate(values)] for place in range(6)]
    refused(
        env, [*map(" ".join, flipped), "".join(values), " ".join(values[:5]), f"{env.oracle()} 0", prompt, *HOSTILE]
    )
    refused(env, ["\n".join(values), "2 " * 6, "true " * 6])
    for form in (["2", *values[1:]], values[1:], [*values, "0"]):
        assert env.verify(env.here(), " ".join(form)).malformed


def test_each_variable_is_forced_or_any_other_value_fails():
    for width in (2, 3):
        env = Satisfiability(variables=7, width=width)
        for seed in range(5):
            _, clauses = clauses_in(env.reset(seed=seed)[0])
            values = list(map(int, env.oracle().split()))
            *steps, answer = env.solution_steps(env.here())
            assert answer == env.oracle()
            known: set[int] = set()
            for step in steps:
                match = re.fullmatch(r"Variable (\d+) is ([01]): (?:clause ([-\d ]+) has no other way left|.*)\.", step)
                assert match, step
                variable = int(match[1])
                assert values[variable - 1] == int(match[2])
                if match[3]:
                    clause = [int(number) for number in match[3].split()]
                    assert clause in clauses
                    others = [lit for lit in clause if abs(lit) != variable]
                    assert all(abs(lit) in known and values[abs(lit) - 1] != (lit > 0) for lit in others)
                known.add(variable)
            assert known == set(range(1, 8))


def test_more_variables_and_wider_clauses_take_a_search_longer():
    env = Satisfiability()
    assert effort(env, 15, variables=6, width=3) < effort(env, 15, variables=8, width=3)
    assert effort(env, 15, variables=8, width=2) < effort(env, 15, variables=8, width=3)
    assert effort(env, 15, variables=8, width=3) < effort(env, 15, variables=8, width=4)


# GraphColouring.


def graph_in(prompt: str) -> tuple[int, int, list[tuple[int, int]]]:
    match = re.match(
        r"Colour the vertices 1 to (\d+) of a graph with at most (\d) colours.* Joined are: ([-\d, ]+)\.", prompt
    )
    assert match
    pairs = [tuple(map(int, part.split("-"))) for part in match[3].split(", ")]
    return int(match[1]), int(match[2]), pairs  # type: ignore[return-value]


def test_the_oracle_colours_the_graph_of_the_prompt():
    for difficulty in (0.0, 0.5, 1.0):
        env = GraphColouring(difficulty=difficulty)
        for seed in range(30):
            n, k, pairs = graph_in(env.reset(seed=seed)[0])
            colours = list(map(int, env.oracle().split()))
            assert len(colours) == n
            assert set(colours) <= set(range(1, k + 1))
            assert all(a < b and colours[a - 1] != colours[b - 1] for a, b in pairs)
            assert len(set(pairs)) == len(pairs)


def test_every_colouring_of_the_prompt_is_accepted_and_no_other():
    env = GraphColouring(vertices=8, colours=3, density=0.7)
    env.reset(seed=0)
    n, k, pairs = graph_in(env.here().prompt)
    accepted = 0
    for colours in itertools.product(range(1, k + 1), repeat=n):
        proper = all(colours[a - 1] != colours[b - 1] for a, b in pairs)
        assert env.verify(env.here(), " ".join(map(str, colours))).success == proper
        accepted += proper
    assert accepted >= 6


def test_a_colouring_at_random_hardly_ever_fits():
    rng = np.random.default_rng(0)
    for k, density in ((3, 0.4), (3, 0.7), (4, 0.4), (4, 0.7)):
        env = GraphColouring(vertices=8, colours=k, density=density)
        lucky = 0
        for seed in range(300):
            assert len(graph_in(env.reset(seed=seed)[0])[2]) >= {3: 10, 4: 14}[k]
            lucky += env.verify(env.here(), " ".join(map(str, rng.integers(1, k + 1, 8).tolist()))).success
        assert lucky <= 12


def test_wrong_colourings_and_their_feedback():
    env = GraphColouring(vertices=8, colours=3, density=0.5)
    prompt, _ = env.reset(seed=2)
    colours = env.oracle().split()
    a, b = graph_in(prompt)[2][0]
    bad = list(colours)
    bad[b - 1] = bad[a - 1]
    assert re.search(r"are joined and both have colour \d", env.verify(env.here(), " ".join(bad)).feedback)
    refused(
        env, [" ".join(bad), "4 " * 8, "0 " * 8, "1 " * 8, "".join(colours), " ".join(colours[:7]), prompt, *HOSTILE]
    )
    assert env.verify(env.here(), ", ".join(colours)).success


def test_colours_beyond_those_allowed_are_no_answer():
    env = GraphColouring(vertices=8, colours=3)
    env.reset(seed=2)
    colours = env.oracle().split()
    for other in ("4", "0"):
        verdict = env.verify(env.here(), " ".join([other, *colours[1:]]))
        assert verdict.malformed
        assert verdict.feedback == "The answer must be 8 numbers from 1 to 3, separated by spaces."


def test_solver_cost_tries_a_new_colour_once():
    # Four vertices, all joined, and three colours: nothing yet, one vertex, two and three, and then no way on.
    every = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    assert GraphColouring().solver_cost(Task("", "", data=(4, 3, every))) == 4


def test_colouring_steps_are_true():
    env = GraphColouring(difficulty=0.5)
    env.reset(seed=0)
    _, _, pairs = graph_in(env.here().prompt)
    colours = env.oracle().split()
    *steps, answer = env.solution_steps(env.here())
    assert answer == env.oracle()
    for vertex, step in enumerate(steps, 1):
        assert step.startswith(f"Vertex {vertex} gets {colours[vertex - 1]}")
        named = re.findall(r"(\d+) \(colour (\d)\)", step)
        assert {(int(other), vertex) for other, _ in named} == {pair for pair in pairs if pair[1] == vertex}
        assert all(colours[int(other) - 1] == colour != colours[vertex - 1] for other, colour in named)


def test_more_vertices_and_edges_take_a_search_longer():
    env = GraphColouring()
    assert effort(env, vertices=8, colours=3, density=0.6) < effort(env, vertices=16, colours=3, density=0.6)
    assert effort(env, vertices=16, colours=3, density=0.4) < effort(env, vertices=16, colours=3, density=0.7)
    assert effort(env, vertices=16, colours=4, density=0.4) < effort(env, vertices=16, colours=4, density=0.7)
    prompts = [
        len(env.generate(np.random.default_rng(0), dict(vertices=16, colours=k, density=0.6)).prompt) for k in (3, 4)
    ]
    assert prompts[0] < prompts[1]


def test_the_picture_of_a_graph_is_its_table():
    env = GraphColouring(vertices=8, render_mode="rgb_array")
    env.reset(seed=0)
    picture = env.render()
    assert isinstance(picture, np.ndarray)
    assert picture.shape == (361, 361, 3)
    pairs = graph_in(env.here().prompt)[2]
    dark = {(r, c) for r in range(1, 9) for c in range(1, 9) if picture[r * 40 + 20, c * 40 + 20].sum() < 200}
    assert dark == {pair for a, b in pairs for pair in ((a, b), (b, a))}


# NQueens.


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


def saturation_colours(n: int, k: int, edges: list[tuple[int, int]], reverse: bool) -> bool:
    """Whether DSATUR without going back needs no more than ``k`` colours; ties go to the first or last vertex."""
    graph = {vertex: {a + b - vertex for a, b in edges if vertex in (a, b)} for vertex in range(1, n + 1)}
    colours: dict[int, int] = {}
    while len(colours) < n:
        ranks = {
            vertex: (len({colours[o] for o in others if o in colours}), len(others))
            for vertex, others in graph.items()
            if vertex not in colours
        }
        best = [vertex for vertex, rank in ranks.items() if rank == max(ranks.values())]
        vertex = best[-1 if reverse else 0]
        colours[vertex] = min(set(range(1, n + 1)) - {colours.get(other) for other in graph[vertex]})
    return max(colours.values()) <= k


def test_greedy_colouring_wins_easy_graphs_and_no_hard_ones():
    wins = []
    for difficulty in (0.0, 1.0):
        env = GraphColouring(difficulty=difficulty)
        for reverse in (False, True):
            won = 0
            for seed in range(12):
                prompt, info = env.reset(seed=seed)
                edges = [(int(a), int(b)) for a, b in re.findall(r"(\d+)-(\d+)", prompt)]
                won += saturation_colours(info["params"]["vertices"], info["params"]["colours"], edges, reverse)
            wins.append(won)
    assert wins[0] >= 11
    assert wins[1] >= 11
    assert wins[2:] == [0, 0]


def test_many_variables_have_a_solution_to_which_signs_do_not_point():
    env, agreeing, literals = Satisfiability(variables=40, width=3), 0, 0
    for seed in range(8):
        n, clauses = clauses_in(env.reset(seed=seed)[0])
        values = list(map(int, env.oracle().split()))
        assert n == len(values) == 40
        assert all(any(values[abs(lit) - 1] == (lit > 0) for lit in clause) for clause in clauses)
        assert env.step(env.oracle())[1] == 1.0
        literals += sum(map(len, clauses))
        agreeing += sum(values[abs(lit) - 1] == (lit > 0) for clause in clauses for lit in clause)
    # Of clauses drawn among all that are true, 4 of 7 literals are.
    assert abs(agreeing / literals - 0.5) < 0.03


def test_boards_beyond_the_shipped_range_have_one_completion():
    for size in (5, 16):
        env = NQueens(size=size, given=4)
        for seed in range(4):
            env.reset(seed=seed)
            assert count_completions(env.here().data, 2)[0] == 1
            assert 2 <= env.here().data.count(-1) <= 8
