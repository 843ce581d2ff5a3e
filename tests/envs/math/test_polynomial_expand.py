from __future__ import annotations

import re
from itertools import product

from palaestra.envs.math.polynomial_expand import _POOLS, PolynomialExpand
from palaestra.envs.math.polynomials import (
    read_sum,
)
from palaestra.envs.question import Question, Task

HUGE = ["9**9**9", "(" * 2000 + "x" + ")" * 2000, "x^999999999999", "(x+1)^4000", "x" * 4000, "9" * 4000 + "x^2"]


def value(formula: str, **variables: int) -> int:
    """The value of a polynomial as text, by Python's own arithmetic; the pattern vets what is evaluated."""
    assert re.fullmatch(r"[-+*^() 0-9xyz]+", formula), formula
    explicit = re.sub(r"(?<=[0-9xyz)])(?=[xyz(])", "*", formula.replace(" ", ""))
    return eval(explicit.replace("^", "**"), {}, variables)


def score(env: Question, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


def everywhere(env: Question, seeds: int) -> list[Task]:
    tasks = []
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(seeds):
            env.reset(seed=seed, options={"difficulty": difficulty})
            tasks.append(env.here())
    return tasks


def test_expansions_equal_the_product_at_many_points():
    for task in everywhere(PolynomialExpand(), 20):
        factors = re.match(r"Expand (.+) and collect", task.prompt)
        assert factors
        for x, y, z in [(2, 3, 5), (-7, 11, 4), (100, -1, 30), (1000, 99, -98)]:
            assert value(factors[1], x=x, y=y, z=z) == value(task.solution or "", x=x, y=y, z=z)
        terms = read_sum(task.solution or "")
        assert len({monomial for monomial, _ in terms}) == len(terms) > 1


def test_terms_are_drawn_from_all_monomials_up_to_a_degree():
    for variables, degree in ((1, 3), (2, 2), (3, 2)):
        powers = product(range(degree + 1), repeat=variables)
        every = [(*key, *(0,) * (3 - variables)) for key in powers if sum(key) <= degree]
        assert sorted(_POOLS[variables]) == sorted(every)


def test_expansion_tasks_have_the_factors_terms_variables_and_size_asked_for():
    for factors, terms, variables, size in [(2, 2, 1, 9), (3, 4, 3, 20), (2, 3, 2, 9)]:
        env = PolynomialExpand(factors=factors, terms=terms, variables=variables, size=size)
        for seed in range(30):
            prompt, _ = env.reset(seed=seed)
            question = prompt.split(" and collect")[0].removeprefix("Expand ")
            parts = re.findall(r"\(([^)]+)\)", question)
            assert len(parts) == factors
            assert all(len(re.split(r" [-+] ", part)) == terms for part in parts)
            assert len(set(re.findall("[xyz]", question))) == variables
            assert max(map(int, re.findall(r"(?<!\^)\b\d+", question))) <= size


def test_an_expansion_must_be_the_sum_with_like_terms_collected():
    env = PolynomialExpand()
    task = Task("Expand (x + 2)(x - 3)", {(("x", 2),): 1, (("x", 1),): -1, (): -6})
    for answer in [
        "x^2 - x - 6",
        "-6 - x + x**2",
        "x^2 + -1*x - 6",
        "\\boxed{x^2-x-6}",
        "P(x) = x^2 - x - 6",
        "(x + 2)(x - 3) = x^2 - x - 6",
        "The expanded form is $x^2 - x - 6$.",
        "x^2-x-6+0",
    ]:
        collected = "+0" not in answer
        assert score(env, task, answer) == collected, answer
    for answer in ["(x + 2)(x - 3)", "(x+2)*(x-3)", "expand((x+2)*(x-3))", "x(x - 1) - 6", "x^2 + x - 6", "x^2 - x"]:
        assert score(env, task, answer) == 0, answer
    for answer in [
        "x^2 + 2x - 3x - 6",
        "y^2 - y - 6",
        "x^2 - x - 6 = 0",
        "x^2 - x - 6, 1",
        "2 * (x^2 - x - 6) / 2",
        "",
    ]:
        assert score(env, task, answer) == 0, answer
    assert "collected" in env.verify(task, "x^2 + 2x - 3x - 6").feedback
    assert env.verify(task, "(x + 2)(x - 3)").malformed
    for answer in HUGE:
        assert score(env, task, answer) == 0
