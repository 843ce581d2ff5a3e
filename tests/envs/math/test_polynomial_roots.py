from __future__ import annotations

from fractions import Fraction

from palaestra.envs.math.polynomial_roots import PolynomialRoots
from palaestra.envs.math.polynomials import (
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


def test_rational_roots_are_all_there_with_their_multiplicities():
    """By trying every fraction that could be one; a root is as often one as it is a root of the derivatives too."""
    tried = sorted({Fraction(a, b) for b in range(1, 9) for a in range(-45, 46)})
    for task in everywhere(PolynomialRoots(), 4):
        found = []
        for root in tried:
            rest = task.data
            while sum(c * root.numerator**k * root.denominator ** (len(rest) - k) for k, c in enumerate(rest)) == 0:
                found.append(root)
                rest = tuple(k * c for k, c in enumerate(rest))[1:]
        assert list(map(str, found)) == task.reference
        assert len(set(found)) > 1


def test_kinds_of_roots_are_as_asked_for():
    for kind in ("integers", "fractions", "others"):
        env = PolynomialRoots(kind=kind, roots=3)
        for seed in range(40):
            env.reset(seed=seed)
            task = env.here()
            roots = list(map(Fraction, task.reference))
            assert len(roots) == 3
            assert all(root.denominator == 1 for root in roots) == (kind == "integers")
            assert len(task.data) - 1 == (5 if kind == "others" else 3)
            assert max(abs(root.numerator) for root in roots) <= 40
    repeated = PolynomialRoots(roots=4)
    tasks = everywhere(repeated, 10)
    assert sum(len(set(task.reference)) < 4 for task in tasks) > len(tasks) / 4


def test_roots_may_be_listed_in_any_order_but_each_as_often_as_it_is_one():
    env = PolynomialRoots()
    task = Task("", ["-2", "1/3", "1/3"])
    for answer in [
        *("-2, 1/3, 1/3", "1/3, -2, 2/6", "x = 1/3, x = -2, x = 1/3", "[1/3; 1/3; -2]", "{-2, 1/3, 1/3}"),
        *("x = -2, 1/3, 1/3", "x = 1/3, x = 1/3, or x = -2", "x_1 = -2, x_2 = 1/3, x_{3} = 1/3", "-2\n1/3\n1/3"),
        *(r"$x = -2, \frac{1}{3}, \frac{1}{3}$", "The rational roots are: \u22122, 1/3 and 1/3."),
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in ["y = -2, y = 1/3, y = 1/3", "x, 1/3, 1/3", "-2, 1/3 (twice)", "", "x^2 = -2, 1/3, 1/3"]:
        verdict = env.verify(task, answer)
        assert verdict.malformed, answer
        assert "such as" in verdict.feedback
    for answer in [
        "-2, 1/3",
        "-2, -2, 1/3",
        "2, 1/3, 1/3",
        "-2, 1/3, 1/3, 1/3",
        "-2, 0.333, 0.333",
        "",
        "-2",
        "9**9**9",
    ]:
        assert score(env, task, answer) == 0, answer
    for answer in HUGE:
        assert score(env, task, answer) == 0


def test_roots_are_divided_out_until_nothing_or_no_rational_root_is_left():
    env = PolynomialRoots()
    task = Task("", ["-2", "1/2"], "-2, 1/2", data=multiply_all([(2, 1), (-1, 2)]))
    last = "1/2 is the root of 2x - 1."
    assert env.solution_steps(task) == ["-2 is a root: 2x^2 + 3x - 2 = (x + 2)(2x - 1)", last, "-2, 1/2"]
    task = Task("", ["3"], "3", data=multiply_all([(-3, 1), (1, 0, 1)]))
    first = "3 is a root: x^3 - 3x^2 + x - 3 = (x - 3)(x^2 + 1)"
    assert env.solution_steps(task) == [first, "x^2 + 1 has no rational roots.", "3"]
