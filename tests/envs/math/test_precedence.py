"""Families of exact arithmetic: values and steps by Python's own precedence."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from palaestra.envs.math.decimal_arithmetic import DecimalArithmetic
from palaestra.envs.math.fraction_arithmetic import FractionArithmetic


def value(text: str) -> Fraction:
    assert re.fullmatch(r"[-0-9 .+*/()]+", text), text
    return eval(re.sub(r"[0-9.]+", lambda number: f"Fraction('{number[0]}')", text), {"Fraction": Fraction})


@pytest.mark.parametrize("family", [FractionArithmetic, DecimalArithmetic])
def test_results_are_those_of_the_expression_and_every_step_is_true(family: type[FractionArithmetic]):
    for operations in family.param_space["operations"].choices:
        env = family(operations=operations)
        for seed in range(60):
            prompt, info = env.reset(seed=seed)
            expression = prompt.removeprefix("What is ").split(" = ?")[0].split("?")[0]
            exact = value(expression)
            *steps, answer = env.solution_steps(env.here())
            steps = [step for step in steps if "rounded" not in step]
            for step in steps:
                assert len({value(part) for part in step.split(" = ")}) == 1
            assert value(steps[-1].split(" = ")[-1]) == exact
            assert len(steps) == info["params"]["terms"] - 1
            assert set(re.findall(r" ([-+*/]) ", expression)) <= set(operations)
            assert f" {operations[-1]} " in expression
            assert value(answer).denominator > 1
            if "Round" not in prompt:
                assert value(answer) == exact
