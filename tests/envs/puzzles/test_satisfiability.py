"""Satisfiability: the prompts solved again by plain enumeration."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest
from palaestra.envs import Question
from palaestra.envs.puzzles.satisfiability import Satisfiability


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
