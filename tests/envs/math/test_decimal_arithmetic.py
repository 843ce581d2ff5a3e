from __future__ import annotations

import re
from fractions import Fraction

import pytest
from palaestra.envs.math.decimal_arithmetic import DecimalArithmetic, _format_exact, _round
from palaestra.envs.math.fraction_arithmetic import FractionArithmetic
from palaestra.envs.question import Task


def value(text: str) -> Fraction:
    assert re.fullmatch(r"[-0-9 .+*/()]+", text), text
    return eval(re.sub(r"[0-9.]+", lambda number: f"Fraction('{number[0]}')", text), {"Fraction": Fraction})


def score(env: FractionArithmetic | DecimalArithmetic, task: Task, answer: str) -> float:
    return env.verify(task, answer).score


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
            exact, answer = value(prompt.removeprefix("What is ").split("?")[0]), Fraction(env.oracle())
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
    for answer in ("4.7", "4.70", "+4.7", "47/10", "04.7", "4.7e0", "3.7 + 1.0 = 4.7", "\u2248 4.7", "4.7."):
        assert score(env, task, answer) == 1, answer
    for answer in ("4.71", "4.69999", "4,7", "-4.7", "47", "4.7e1", "3.7 + 1.0", "9**9**9", "5"):
        assert score(env, task, answer) == 0, answer
