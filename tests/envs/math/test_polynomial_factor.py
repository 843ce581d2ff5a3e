from __future__ import annotations

from itertools import pairwise

import pytest
from palaestra.envs.math.polynomial_factor import PolynomialFactor
from palaestra.envs.math.polynomials import (
    format_polynomial,
    multiply_all,
)
from palaestra.envs.question import Question, Task

HUGE = ["9**9**9", "(" * 2000 + "x" + ")" * 2000, "x^999999999999", "(x+1)^4000", "x" * 4000, "9" * 4000 + "x^2"]


def score(env: Question, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


def everywhere(env: Question, seeds: int) -> list[Task]:
    tasks = []
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(seeds):
            env.reset(seed=seed, options={"difficulty": difficulty})
            tasks.append(env.here())
    return tasks


def test_factorisations_are_those_of_sympy():
    sympy = pytest.importorskip("sympy")
    x = sympy.Symbol("x")
    for task in everywhere(PolynomialFactor(), 8):
        number, factors = sympy.factor_list(sympy.Poly(task.data[::-1], x))
        found = sorted((tuple(map(int, factor.all_coeffs()[::-1])), power) for factor, power in factors)
        expected = sorted((factor, task.reference[1].count(factor)) for factor in set(task.reference[1]))
        assert (int(number), found) == (task.reference[0], expected)
        assert multiply_all([*task.reference[1], (number,)]) == task.data


def test_polynomials_to_factor_have_as_many_factors_of_such_degree_as_asked_for():
    for factors, degree, leading in [(2, 1, 1), (3, 3, 2), (4, 4, 4)]:
        env = PolynomialFactor(factors=factors, degree=degree, leading=leading, size=20)
        numbers, firsts, lasts = set(), set(), set()
        for seed in range(30):
            env.reset(seed=seed)
            number, found = env.here().reference
            assert len(found) == factors
            assert sorted(len(factor) - 1 for factor in found)[-1] == degree
            assert all(len(factor) - 1 <= min(degree, 2) for factor in sorted(found, key=len)[:-1])
            assert max(number, *(factor[-1] for factor in found)) <= leading
            numbers.add(number)
            firsts |= {factor[-1] for factor in found}
            lasts |= {abs(factor[0]) for factor in found}
        assert numbers == firsts == set(range(1, leading + 1))
        assert 15 < max(lasts) <= 20


def test_only_the_complete_factorisation_is_right():
    env = PolynomialFactor()
    # 2 (x - 1)^2 (x^2 + 1) (2x + 3)
    factors = ((-1, 1), (-1, 1), (3, 2), (1, 0, 1))
    task = Task("", (2, factors), data=multiply_all([*factors, (2,)]))
    right = ["2(x - 1)^2(2x + 3)(x^2 + 1)", "2(x-1)(x-1)(x^2+1)(2x+3)", "(2x+3)*2*(1-x)^2*(1+x**2)"]
    right += ["-2(1 - x)(x - 1)(2x + 3)(x^2 + 1)", "2\\left(x-1\\right)^{2}(2x+3)(x^{2}+1)"]
    right += [f"{format_polynomial(task.data)} = 2(x - 1)^2(2x + 3)(x^2 + 1)", "**2(x - 1)^2(2x + 3)(x^2 + 1)**."]
    right += ["(3 - 1)(x - 1)^2(2x + 3)(x^2 + 1)"]
    for answer in right:
        assert score(env, task, answer) == 1, answer
    partly = ["(2x - 2)(x - 1)(2x + 3)(x^2 + 1)", "2(x^2 - 2x + 1)(2x + 3)(x^2 + 1)", "(x - 1)^2(4x + 6)(x^2 + 1)"]
    partly += [format_polynomial(task.data), f"1*({format_polynomial(task.data)})", "2(x-1)(2x+3)(x^3-x^2+x-1)"]
    for answer in partly:
        assert score(env, task, answer) == 0, answer
        assert "further" in env.verify(task, answer).feedback, answer
    wrong = ["(x - 1)^2(2x + 3)(x^2 + 1)", "2(x + 1)^2(2x + 3)(x^2 + 1)", "-2(x-1)^2(2x+3)(x^2+1)", "2(x-1)^2(2x+3)"]
    wrong += ["4(x - 1)^2(x + 3/2)(x^2 + 1)", "factor(x)", "2(x-1)^2(2x+3)(x-i)(x+i)", "0(x-1)^5", "", "x", *HUGE]
    for answer in wrong:
        assert score(env, task, answer) == 0, answer
    assert "degree" in env.verify(task, "2(x - 1)^2(2x + 3)").feedback
    assert env.verify(task, "2(x + 1)^2(2x + 3)(x^2 + 1)").feedback == "The product is not the polynomial."
    assert env.verify(task, "factor(x)").malformed
    assert not env.verify(task, wrong[0]).malformed
    # 4 (x - 1)(x + 2)
    task = Task("", (4, ((-1, 1), (2, 1))), data=(-8, 4, 4))
    for answer in ["4(x - 1)(x + 2)", "2^2(x - 1)(x + 2)", "(1 + 1)^2(x - 1)(x + 2)", "(1 + 1)(5 - 3)(x - 1)(x + 2)"]:
        assert score(env, task, answer) == 1, answer
    assert score(env, task, "(1 + 1)(x - 1)(x + 2)") == 0


def test_factors_count_as_often_as_they_occur():
    env = PolynomialFactor()
    factors = ((-1, 1), (-1, 1), (2, 1))
    task = Task("", (1, factors), data=multiply_all(factors))
    assert score(env, task, "(x - 1)^2(x + 2)") == 1
    assert score(env, task, "(x - 1)(x + 2)(x - 1)") == 1
    assert score(env, task, "(x - 1)(x + 2)^2") == 0
    assert score(env, task, "(x - 1)(x + 2)") == 0


def test_the_polynomial_itself_is_never_its_factorisation():
    for task in everywhere(PolynomialFactor(), 10):
        for answer in [
            format_polynomial(task.data),
            f"({format_polynomial(task.data)})",
            f"-({format_polynomial(tuple(-c for c in task.data))})",
        ]:
            assert score(PolynomialFactor(), task, answer) == 0


def test_steps_of_a_factorisation_lead_from_the_polynomial_to_the_last_factor():
    for task in everywhere(PolynomialFactor(), 5):
        *steps, _ = PolynomialFactor().solution_steps(task)
        assert steps[0].startswith(format_polynomial(task.data))
        for before, after in pairwise(steps):
            assert before.endswith(f"({after.split(' = ')[0]})")
