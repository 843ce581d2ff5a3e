from __future__ import annotations

import cmath
import math
import re

from palaestra.envs.math.integral import CONSTANTS, Integral
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


def test_antiderivatives_have_the_question_as_difference_quotient_at_every_difficulty():
    env = Integral()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(20):
            prompt, _ = env.reset(seed=seed, options={"difficulty": difficulty})
            match = re.match(r"Find an antiderivative of f\(x\) = (.+) for x > 0\. Answer", prompt)
            assert match, prompt
            answer = env.oracle(env.here())
            for x in (1.7, 0.41):
                assert near(slope(answer, x), value(match[1], x), abs(value(answer, x))), prompt


def test_an_antiderivative_may_be_written_in_any_way_with_any_constant():
    task = Task("", "2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x)")
    env = Integral()
    for answer in [
        "sin(x^2) + 3*ln(x) + sin(x)^2",
        "sin(x^2) + ln(x^3) - cos(2x)/2 + C",
        "\\sin(x^2) + 3\\ln|x| - \\cos^2 x + c",
        "F(x) = sin(x^2) + 3 ln(5x) + sin^2(x) - 17/3",
        "sin(x^2) + 3*ln(abs(x)) + sin(x)^2 + K",
        "\\int f(x)\\,dx = \\sin(x^2) + 3\\ln|x| + \\sin^2(x) + C",
        "Answer: sin(x^2) + 3ln(x) + sin(x)^2 + C.",
    ]:
        assert score(env, task, answer) == 1, answer
    for answer in [
        *("Integral(2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x), x)", "integrate(2*x*cos(x**2), x)", "int 2x cos(x^2) dx"),
        *(
            "\\int 2x\\cos(x^2) + 3/x + 2\\sin x\\cos x\\,dx",
            "2*x*cos(x^2) + 3/x + 2*sin(x)*cos(x)",
            "C",
            "F(x)",
            "F(x) + C",
        ),
        *(
            "sin(x^2) + 3*ln(x)",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + x",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + C*x",
            "sin(x^2) + 3*ln(x) + sin(x)^2 + D",
        ),
        *("sin(x^2) + 3*ln(x) + sin(x)^2 + y", "sin(x^2) + 2*ln(x) + sin(x)^2", "sin(x^2) + 3*ln(x) - sin(x)^2", "x^C"),
        *("", "x", "1", "9**9**9", "(" * 3000, "-" * 4000 + "1", "x = 2", "(1, 2)", "sin(x^2) + 3*ln(x) + sin(x)^2, x"),
    ]:
        assert score(env, task, answer) == 0, answer
    assert set("Cc") <= set(CONSTANTS)
