from __future__ import annotations

import re

import pytest
from palaestra.envs.math.polynomial_expand import PolynomialExpand
from palaestra.envs.math.polynomial_factor import PolynomialFactor
from palaestra.envs.math.polynomial_roots import PolynomialRoots
from palaestra.envs.question import Question, Task


def value(formula: str, **variables: int) -> int:
    """The value of a polynomial as text, by Python's own arithmetic; the pattern vets what is evaluated."""
    assert re.fullmatch(r"[-+*^() 0-9xyz]+", formula), formula
    explicit = re.sub(r"(?<=[0-9xyz)])(?=[xyz(])", "*", formula.replace(" ", ""))
    return eval(explicit.replace("^", "**"), {}, variables)


def everywhere(env: Question, seeds: int) -> list[Task]:
    tasks = []
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(seeds):
            env.reset(seed=seed, options={"difficulty": difficulty})
            tasks.append(env.here())
    return tasks


@pytest.mark.parametrize("family", [PolynomialExpand, PolynomialFactor, PolynomialRoots])
def test_every_step_of_a_solution_is_a_true_equation(family: type[Question]):
    for task in everywhere(family(), 6):
        *steps, _ = family().solution_steps(task)
        assert steps
        for step in steps:
            if "=" not in step:
                continue
            left, right = step.split(": ")[-1].split(" = ")
            for x in (2, -3, 10):
                assert value(left, x=x, y=7, z=-5) == value(right, x=x, y=7, z=-5), step
