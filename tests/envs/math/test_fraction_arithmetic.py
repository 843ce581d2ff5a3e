from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from palaestra.envs.math.decimal_arithmetic import DecimalArithmetic
from palaestra.envs.math.fraction_arithmetic import FractionArithmetic, _draw_fraction, _format_step
from palaestra.envs.question import Task


def score(env: FractionArithmetic | DecimalArithmetic, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


def test_fractions_have_the_size_asked_for_and_are_in_lowest_terms():
    for i in range(40):
        for j in range(40):
            fraction = _draw_fraction(i / 40, j / 40, 9)
            assert fraction.denominator == 2 + i // 5
            assert 1 <= fraction.numerator <= 9
    env = FractionArithmetic(size=9, terms=5)
    for seed in range(50):
        for p, q in re.findall(r"\((\d+)/(\d+)\)", env.reset(seed=seed)[0]):
            assert math.gcd(int(p), int(q)) == 1
            assert 2 <= int(q) <= 9


@pytest.mark.parametrize(
    ("a", "operator", "b", "line"),
    [
        ("1/2", "+", "1/3", "(1/2) + (1/3) = 3/6 + 2/6 = 5/6"),
        ("1/4", "-", "3/4", "(1/4) - (3/4) = 1/4 - 3/4 = -2/4 = -1/2"),
        ("1/2", "*", "1/3", "(1/2) * (1/3) = 1/6"),
        ("1/2", "*", "2/3", "(1/2) * (2/3) = 2/6 = 1/3"),
        ("1/2", "/", "3/4", "(1/2) / (3/4) = (1/2) * (4/3) = 4/6 = 2/3"),
    ],
)
def test_operations_on_fractions_are_written_out(a: str, operator: str, b: str, line: str):
    one, other = Fraction(a), Fraction(b)
    result = {"+": one + other, "-": one - other, "*": one * other, "/": one / other}[operator]
    assert _format_step(one, operator, other, result) == line


def test_any_form_or_lowest_terms_as_the_prompt_says():
    data = ([Fraction(3, 4), Fraction(1, 2)], ["-"])
    free, strict = Task("", "1/4", data=(*data, False)), Task("", "1/4", data=(*data, True))
    env = FractionArithmetic()
    for answer, freely, strictly in [
        ("1/4", 1, 1),
        (" +1 / 4 ", 1, 1),
        ("2/8", 1, 0),
        (r"$\frac{1}{4}$", 1, 1),
        (r"x = \frac{2}{8}", 1, 0),
        ("(1/4)", 1, 1),
        ("The answer is 1/4.", 1, 1),
        ("0.25", 1, 0),
        ("-1/4", 0, 0),
        ("1/5", 0, 0),
        ("(3/4) - (1/2)", 0, 0),
        ("1", 0, 0),
    ]:
        assert score(env, free, answer) == freely, answer
        assert score(env, strict, answer) == strictly, answer
    assert "lowest" in env.verify(strict, "2/8").feedback
    assert not env.verify(strict, "2/8").malformed
    assert env.verify(strict, "9**9**9").malformed
    assert "lowest terms" in FractionArithmetic(form="lowest").reset(seed=0)[0]
    assert "lowest terms" not in FractionArithmetic(form="any").reset(seed=0)[0]
