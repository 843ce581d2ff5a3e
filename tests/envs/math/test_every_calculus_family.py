"""Derivative and Integral: the same claims for both families."""

from __future__ import annotations

import cmath
import math
import re

import pytest
from palaestra.envs.math.derivative import Derivative
from palaestra.envs.math.integral import Integral
from palaestra.envs.question import Question, Task

_TOKEN = re.compile(r"[0-9]+|[-+*/^() ]|sinh|cosh|tanh|sin|cos|tan|cot|sec|csc|ln|x|e")


_NAMES = {name: getattr(cmath, name) for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}


_NAMES |= {"ln": lambda u: cmath.log(abs(u)), "e": math.e, "sec": lambda u: 1 / cmath.cos(u)}


_NAMES |= {"cot": lambda u: 1 / cmath.tan(u), "csc": lambda u: 1 / cmath.sin(u)}


def value(formula: str, x: float) -> float:
    """The value of a formula with explicit signs of multiplication; its tokens vet what is evaluated."""
    assert "".join(_TOKEN.findall(formula)) == formula, formula
    return complex(eval(formula.replace("^", "**"), {"__builtins__": {}}, {**_NAMES, "x": x})).real


def slope(formula: str, x: float) -> float:
    """The difference quotient."""
    return (value(formula, x + 1e-6) - value(formula, x - 1e-6)) / 2e-6


def near(a: float, b: float, size: float) -> bool:
    return abs(a - b) <= 1e-5 * max(abs(a), abs(b), size)


def score(env: Question, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_steps_are_true_derivatives_of_single_terms(family: type[Question]):
    env = family()
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(12):
            env.reset(seed=seed, options={"difficulty": difficulty})
            *steps, _ = env.solution_steps(env.here())
            assert len(steps) == len(env.here().data)
            for step in steps:
                match = re.fullmatch(r"\((.+)\)' = (.+)", step)
                assert match
                for x in (1.7, 0.41):
                    assert near(slope(match[1], x), value(match[2], x), abs(value(match[1], x))), step


KINDS = {
    Derivative: {
        "powers": r"x\^\d",
        "functions": r"(sin|cos|e\^|ln)\(\d\*x\)",
        "products": r"x(\^\d)?\*(sin|cos|e\^|ln)\((\d\*)?x\)",
        "quotients": r"\((\d\*)?x [-+] \d\)/\((\d\*)?x( [-+] \d)?\)",
        "chains": r"(sin|cos|e\^|ln)?\(\d\*x\^\d [-+] \d\)(\^\d)?",
    },
    Integral: {
        "powers": r"x(\^\d)?",
        "functions": r"(sin|cos|e\^)\(\d\*x\)|/x",
        "substitution": r"x(\^2)?[*/](sin|cos|e\^)?\(\d\*x\^\d \+ \d\)(\^\d)?",
        "parts": r"x(\^\d)?\*(sin|cos|e\^|ln)\((\d\*)?x\)",
    },
}


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_the_rule_asked_for_occurs_and_no_harder_one(family: type[Question]):
    assert family.param_space["rule"].choices == tuple(KINDS[family])
    for rule in KINDS[family]:
        env = family(rule=rule, terms=3, size=9)
        seen = set()
        for seed in range(40):
            env.reset(seed=seed)
            kinds = []
            for (coefficient, body), _ in env.here().data:
                assert 1 <= abs(coefficient) <= 9
                kinds.append(next(kind for kind, pattern in KINDS[family].items() if re.fullmatch(pattern, body)))
            assert len(kinds) == 3
            assert len({body for (_, body), _ in env.here().data}) == 3
            assert rule in kinds
            seen.update(kinds)
        assert seen == set(list(KINDS[family])[: list(KINDS[family]).index(rule) + 1])


@pytest.mark.parametrize("family", [Derivative, Integral])
def test_copying_the_question_is_never_right(family: type[Question]):
    env = family()
    for seed in range(30):
        prompt, _ = env.reset(seed=seed)
        match = re.search(r"f\(x\) = (.+?)(?: for x > 0)?\. Answer", prompt)
        assert match
        for answer in (match[1], f"f(x) = {match[1]}", f"Integral({match[1]}, x)", f"diff({match[1]})", "f(x)", prompt):
            assert score(env, env.here(), answer) == 0
