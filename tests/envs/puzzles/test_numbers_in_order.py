"""Numbers for things, in turn or behind their things: read the same, and nothing else is read."""

from __future__ import annotations

import pytest
from palaestra.envs.puzzles.graph_colouring import GraphColouring
from palaestra.envs.puzzles.n_queens import NQueens
from palaestra.envs.puzzles.numbers_in_order import read_numbers_in_order
from palaestra.envs.puzzles.satisfiability import Satisfiability


@pytest.mark.parametrize(
    "text",
    [
        *("0 1 2", "0, 1, 2", "[0, 1, 2]", "(0 1 2)", "1: 0, 2: 1, 3: 2", "1:0 , 3:2,2:1", "{1: 0, 2: 1, 3: 2}"),
        *(
            "x1 = 0, x2 = 1, x3 = 2",
            "Vertex 1 -> 0; vertex 2 -> 1; vertex 3 -> 2",
            "1: 0\n2: 1\n3: 2",
            "x_1=0;x_2=1;x_3=2",
        ),
    ],
)
def test_forms_that_are_read(text: str):
    assert read_numbers_in_order(text, 3) == [0, 1, 2]


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            "0 1",
            "0 1 2 3",
            "1: 0, 2: 1",
            "1: 0, 2: 1, 2: 1",
            "1: 0, 2: 1, 4: 2",
            "0: 1, 1: 0, 2: 1",
            "1: 0 2: 1 3: 2",
        ),
        *(
            "1: 0, 2: 1, 3: 2, 3: 1",
            "1: x, 2: 1, 3: 2",
            "1 = 2 = 3",
            "::::",
            "1: 0, " * 2000,
            "->",
            "01: 0, 2: 1, 3: 2",
        ),
    ],
)
def test_forms_that_are_refused(text: str):
    assert read_numbers_in_order(text, 3) is None


@pytest.mark.parametrize("family", [GraphColouring, NQueens, Satisfiability])
def test_an_answer_with_its_things_named_is_worth_what_it_is_without(family: type):
    env = family(difficulty=0.25)
    for seed in range(5):
        env.reset(seed=seed)
        values = env.oracle(env.here()).split()
        named = [f"{place}: {value}" for place, value in enumerate(values, 1)]
        env.set_state(state := env.get_state())
        for text in (", ".join(named), ", ".join(reversed(named))):
            env.set_state(state)
            assert env.step(text)[1] == 1.0
        swapped = [f"{place}: {value}" for place, value in enumerate([*values[1:], values[0]], 1)]
        assert env.verify(env.here(), ", ".join(swapped)) == env.verify(env.here(), " ".join([*values[1:], values[0]]))
