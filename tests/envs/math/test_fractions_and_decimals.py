"""Fractions and decimals: exact values by Python's own precedence, the form of answers, and the stated rounding."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import pytest
from palaestra.envs.math.decimal_arithmetic import DecimalArithmetic, _format_exact, _round
from palaestra.envs.math.fraction_arithmetic import FractionArithmetic, _draw_fraction, _format_step
from palaestra.envs.question import Task


def value(text: str) -> Fraction:
    assert re.fullmatch(r"[-0-9 .+*/()]+", text), text
    return eval(re.sub(r"[0-9.]+", lambda number: f"Fraction('{number[0]}')", text), {"Fraction": Fraction})


def score(env: FractionArithmetic | DecimalArithmetic, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


@pytest.mark.parametrize("family", [FractionArithmetic, DecimalArithmetic])
def test_results_are_those_of_the_expression_and_every_step_is_true(family: type[FractionArithmetic]):
    for operations in family.param_space["operations"].choices:
        env = family(operations=operations)
        for seed in range(60):
            prompt, info = env.reset(seed=seed)
            expression = prompt.split(" = ?")[0]
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


@pytest.mark.parametrize(
    ("exact", "places", "rounded"),
    [
        ("2.345", 2, "2.35"),
        ("-2.345", 2, "-2.35"),
        ("2.3449", 2, "2.34"),
        ("1/3", 4, "0.3333"),
        ("-2/3", 3, "-0.667"),
        ("0.05", 1, "0.1"),
        ("9.99", 1, "10"),
    ],
)
def test_halves_are_rounded_away_from_zero(exact: str, places: int, rounded: str):
    assert _format_exact(_round(Fraction(exact), places)) == rounded


def test_quotients_are_rounded_once_at_the_end():
    for places in (1, 4):
        env = DecimalArithmetic(operations="+-*/", places=places)
        for seed in range(60):
            prompt, _ = env.reset(seed=seed)
            exact, answer = value(prompt.split(" = ?")[0]), Fraction(env.oracle())
            assert prompt.count(" / ") == 1
            assert f"to {places} decimal" in prompt
            assert (answer * 10**places).denominator == 1
            assert abs(answer - exact) <= Fraction(1, 2 * 10**places)
            if abs(answer - exact) == Fraction(1, 2 * 10**places):
                assert abs(answer) > abs(exact)


def test_decimals_have_the_digits_and_places_asked_for():
    env = DecimalArithmetic(digits=3, places=2, terms=4, operations="+-")
    for seed in range(60):
        numbers = re.findall(r"(\d+)\.(\d+)", env.reset(seed=seed)[0])
        assert len(numbers) == 4
        assert max(len(whole) for whole, _ in numbers) == 3
        assert all(len(tail) == 2 and tail[-1] != "0" for _, tail in numbers)


@pytest.mark.parametrize(
    ("number", "text"),
    [("17/10", "1.7"), ("-1/8", "-0.125"), ("12", "12"), ("1/3", "(1/3)"), ("-5/6", "(-5/6)"), ("3/50", "0.06")],
)
def test_numbers_are_written_as_decimals_where_these_end(number: str, text: str):
    assert _format_exact(Fraction(number)) == text


def test_a_decimal_answer_may_end_in_zeros_and_must_be_exact():
    env = DecimalArithmetic()
    task = Task("", "47/10", solution="4.7")
    for answer in ("4.7", "4.70", "+4.7", "47/10", "04.7", "3.7 + 1.0 = 4.7", "\u2248 4.7", "4.7."):
        assert score(env, task, answer) == 1, answer
    for answer in ("4.71", "4.69999", "4,7", "-4.7", "47", "4.7e0", "3.7 + 1.0", "9**9**9", "5"):
        assert score(env, task, answer) == 0, answer
