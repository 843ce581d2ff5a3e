"""GraphColouring: the prompts solved again by plain enumeration."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
from palaestra.envs import Question
from palaestra.envs.puzzles.graph_colouring import GraphColouring
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
