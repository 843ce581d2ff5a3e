from __future__ import annotations

import cmath
import math
import re

from palaestra.envs.math.derivative import Derivative
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


def test_derivatives_are_difference_quotients_of_the_question_at_every_difficulty():
    env = Derivative()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(20):
            prompt, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            match = re.match(r"Differentiate f\(x\) = (.+)\. Answer", prompt)
            assert match, prompt
            for x in (2.3, 0.41):
                # ln is that of the absolute value; the quotient then holds at each side of a pole.
                assert near(slope(match[1], x), value(env.oracle(env.here()), x), abs(value(match[1], x))), prompt


def test_a_derivative_may_be_written_in_any_way():
    task = Task("", "2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x)")
    env = Derivative()
    for answer in [
        "x*e^(3*x)*(2 + 3*x) + 4*cos(2*x)",
        "e^{3x}(3x^2 + 2x) + 4 - 8 \\sin^2 x",
        "4cos(2x) + x exp(3x)(3x+2)",
        "F(x) = 2xe^{3x} + 3x^2e^{3x} + 4\\cos(2x)",
        "dy/dx = x e^{3x}(2 + 3x) + 4cos(2x)",
        "\\[ f'(x) = 2xe^{3x} + 3x^2e^{3x} + 4\\cos(2x) \\]",
        "**The derivative is 2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x).**",
        "2xexp(3x) + 3x^2exp(3x) + 4cos(2x)",
        "$4\\cos^2(x) - 4\\sin^2(x) + (2x + 3x^2)e^{3x}$",
        "(2*x + 3*x^2)/e^(-3*x) + 4*(cos(x)^4 - sin(x)^4)",
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in [
        *(
            "diff(x^2*e^(3*x) + 2*sin(2*x), x)",
            "Derivative(x^2*e^(3*x), x)",
            "d/dx (x^2*e^(3*x) + 2*sin(2*x))",
            "f'(x)",
        ),
        *("x^2*e^(3*x) + 2*sin(2*x)", "2*x*e^(3*x) + 3*x^2*e^(3*x)", "2*x*e^(3*x) + 3*x^2*e^(3*x) + 4*cos(2*x) + C"),
        *("2*x*e^(3*x) + 3*x^2*e^(3*x) - 4*cos(2*x)", "2*x*e^(3*x) + 3*x^2*e^(2*x) + 4*cos(2*x)", "", "x", "0"),
        *("2*x*e^(3*x) + 3*x^2*e^(3*x) + 4.0001*cos(2*x)", "y", "nan", "9**9**9", "(" * 3000, "-" * 4000 + "1"),
    ]:
        assert score(env, task, answer) == 0, answer
