"""Shortest paths, against all simple paths of the graph that the prompt shows."""

from __future__ import annotations

import re

import numpy as np
import pytest
from palaestra.envs.puzzles.shortest_path import Roads, ShortestPath
from palaestra.envs.question import Task

FAMILY = ShortestPath()
LENGTHS = {
    "A": {"B": 2, "C": 5, "D": 9},
    "B": {"A": 2, "C": 3, "D": 6},
    "C": {"A": 5, "B": 3, "D": 3},
    "D": {"A": 9, "B": 6, "C": 3},
}
# Three shortest paths of length 8 from A to D: A C D, A B D and A B C D.
TASK = Task("", None, solution="A C D", data=Roads(LENGTHS, "A", "D", 8))


def tasks(count: int, **params: int) -> list[Task]:
    rng = np.random.default_rng(count)
    return [FAMILY.generate(rng, params) for _ in range(count)]


def read(task: Task) -> tuple[dict[str, dict[str, int]], str, str]:
    lengths: dict[str, dict[str, int]] = {}
    for a, b, length in re.findall(r"([A-Z])-([A-Z]) ([0-9]+)", task.prompt):
        for one, other in ((a, b), (b, a)):
            assert other not in lengths.setdefault(one, {})
            lengths[one][other] = int(length)
    start, goal = re.findall(r"from ([A-Z]) to ([A-Z])\.", task.prompt)[0]
    return lengths, start, goal


def simple_paths(lengths: dict[str, dict[str, int]], path: str, goal: str) -> dict[str, int]:
    """Every path without repetition that goes on from ``path`` to the goal, with its length from there on."""
    if path[-1] == goal:
        return {path: 0}
    found = {}
    for other, length in lengths[path[-1]].items():
        if other not in path:
            for whole, rest in simple_paths(lengths, path + other, goal).items():
                found[whole] = length + rest
    return found


@pytest.mark.parametrize(("places", "degree", "longest"), [(5, 2, 9), (5, 4, 9), (7, 3, 9), (8, 4, 99), (9, 3, 9)])
def test_exactly_the_shortest_of_all_paths_are_right(places: int, degree: int, longest: int):
    for task in tasks(25, places=places, degree=degree, longest=longest):
        lengths, start, goal = read(task)
        paths = simple_paths(lengths, start, goal)
        least = min(paths.values())
        for path, length in paths.items():
            assert FAMILY.verify(task, " ".join(path)).success == (length == least)
        assert paths["".join((task.solution or "").split())] == least


def test_the_graph_is_as_the_parameters_say():
    for task in tasks(30, places=12, degree=3, longest=20):
        lengths, start, _ = read(task)
        assert len(lengths) == 12
        assert sum(map(len, lengths.values())) == 12 * 3
        assert all(1 <= length <= 20 for roads in lengths.values() for length in roads.values())
        reached = {start}
        for _ in range(12):
            reached |= {other for name in reached for other in lengths[name]}
        assert reached == set(lengths)


def test_small_graphs_have_all_their_roads_too():
    for task in tasks(40, places=5, degree=4, longest=9):
        assert all(len(roads) == 4 for roads in read(task)[0].values())


def test_the_road_between_both_ends_is_never_the_answer():
    for task in tasks(200, places=5, degree=4, longest=9):
        _, start, goal = read(task)
        assert len((task.solution or "").split()) > 2
        assert FAMILY.verify(task, f"{start} {goal}").score == 0.0


@pytest.mark.parametrize(
    "answer",
    [
        "A C D",
        "A B D",
        "A B C D",
        "a c d",
        "A->C->D",
        "A, C, D",
        "A-C-D",
        "ACD",
        "A \u2192 C \u2192 D",
        "A to C to D",
        r"A \to C \rightarrow D",
        "[A, C, D]",
    ],
)
def test_every_shortest_path_is_right_in_any_spelling(answer: str):
    assert FAMILY.verify(TASK, answer).success


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("A D", "length 9"),
        ("A C B D", "length 14"),
        ("A B A C D", "length 12"),
        ("A C", "does not lead from A to D"),
        ("D C A", "does not lead from A to D"),
        ("A C C D", "no road from C to C"),
    ],
)
def test_wrong_paths_are_told_what_is_wrong(answer: str, why: str):
    verdict = FAMILY.verify(TASK, answer)
    assert (verdict.success, verdict.malformed, verdict.score) == (False, False, 0.0)
    assert why in verdict.feedback


@pytest.mark.parametrize("answer", ["", "A", "8", "A E D", "A C D = 8", "path A C D", "A\u0301 D", "(" * 4000])
def test_what_is_no_list_of_places_is_malformed(answer: str):
    assert FAMILY.verify(TASK, answer).malformed


def test_a_path_of_the_right_length_from_elsewhere_is_wrong():
    task = Task("", None, data=TASK.data._replace(least=6))
    assert FAMILY.verify(task, "B D").success is False
    assert FAMILY.verify(task, "A B A B").success is False


def test_steps_give_true_distances_from_the_nearest_place_on():
    for task in tasks(20, places=8, degree=3, longest=20):
        lengths, start, goal = read(task)
        steps, before = FAMILY.solution_steps(task), 0
        for step in steps[:-1]:
            name, distance, origin, via = re.findall(r"(\w+) is (\d+) from (\w), coming from (\w)\.", step)[0]
            assert origin == start
            paths = simple_paths(lengths, start, name)
            assert int(distance) == min(paths.values()) >= before
            assert int(distance) == min(length for path, length in paths.items() if path[-2] == via)
            before = int(distance)
        assert steps[-2].startswith(f"{goal} is")
        assert steps[-1] == task.solution


def test_solver_cost_counts_the_roads_looked_along():
    # A and its three roads, then B, C and D with three each.
    assert FAMILY.solver_cost(TASK) == 12.0


def test_with_many_places_counting_roads_does_not_find_a_shortest_path():
    env, found = ShortestPath(places=20, degree=3), 0
    for seed in range(20):
        env.reset(seed=seed)
        lengths, start, goal, least = env.here().data
        best, front = {start: 0}, [start]
        while goal not in best:
            reached: dict[str, int] = {}
            for name in front:
                for other, road in lengths[name].items():
                    if other not in best:
                        reached[other] = min(reached.get(other, 10**9), best[name] + road)
            best |= reached
            front = list(reached)
        found += best[goal] == least
    assert found == 0
