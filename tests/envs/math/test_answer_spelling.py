"""Answers as people write them: what is taken off, what is kept, and that nothing wrong becomes right by it."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import gymnasium as gym
import palaestra
import pytest
from palaestra.envs.math.answer_spelling import extract_numbers, extract_numbers_in_order
from palaestra.rewards.answers.numbers import plain_number
from palaestra.rewards.answers.phrases import strip_statement
from palaestra.rewards.verifiers.registry import NUMBERS

FAMILIES = [name for name in palaestra.envs.ids() if ".math." in gym.spec(name).entry_point]  # type: ignore[operator]


@pytest.mark.parametrize(
    ("answer", "left"),
    [
        ("42", "42"),
        (" **42.** ", "42"),
        ("The answer is 42.", "42"),
        ("**Answer:** `42`", "42"),
        (r"\(x = 42\).", "42"),
        (r"\[ 2x + 1 \]", "2x + 1"),
        ("f'(x) = 2x = 2*x", "2*x"),
        ("x <= 42", "x <= 42"),
        ("x != 42", "x != 42"),
        ("The roots are: 1, 2", "1, 2"),
        ("This", "This"),
        ("1:2", "1:2"),
        ("", ""),
    ],
)
def test_marks_words_and_equated_sides_are_taken_off(answer: str, left: str):
    assert strip_statement(answer) == left


def test_equations_stay_where_they_are_the_answer():
    assert strip_statement("The solution is x = 1 or x = 2.", equated=False) == "x = 1 or x = 2"


@pytest.mark.parametrize(
    ("answer", "number"),
    [
        ("-42", "-42"),
        ("\u221242", "-42"),
        ("\u201342", "-42"),
        ("- 42", "-42"),
        ("(-42)", "-42"),
        ("-(7/3)", "-7/3"),
        (r"x = - \frac{7}{3}", "-7/3"),
        (r"\dfrac{-7}{3}", "-7/3"),
        (r"\frac73", "7/3"),
        ("$1{,}234{,}567$", "1234567"),
        ("-1,234.5", "-1234.5"),
        (r"\approx 0.25", "0.25"),
        (r"\mathrm{42}", "42"),
        ("7 + 2 = 9", "9"),
    ],
)
def test_a_number_is_brought_to_plain_signs(answer: str, number: str):
    assert plain_number(answer, stated=True) == number


@pytest.mark.parametrize(
    "answer",
    [
        *("12,34", "42, 43", "42 or 43", "42*43", "4$2", "4**2", "not 42", "x >= 42", "x \u2260 42", "-(-42)", "3 - 5"),
        *("2x = 42", "-x = 42", "x^2 = 42", "x/2 = 42", "x = 42; x = 43", "41 =/= 42", "at most: 42", "42 to 43"),
    ],
)
def test_what_is_no_single_number_is_not_made_one(answer: str):
    assert plain_number(answer, stated=True) is None


def test_lists_of_numbers_with_and_without_names():
    one, half = Fraction(1), Fraction(-1, 2)
    for answer in ("1, -1/2", "(1; -0.5)", "1 and -1/2", r"\{1, -\frac{1}{2}\}", "(x, y) = (1, -1/2)", "P = [1, -1/2]"):
        assert extract_numbers(answer) == [("", one), ("", half)], answer
        assert extract_numbers_in_order(answer, "xy") == [one, half]
    for answer in ("x = 1, y = -1/2", "(y = -1/2, x = 1)", "$y = -1/2$ and $x = 1$"):
        assert extract_numbers_in_order(answer, "xy") == [one, half], answer
    for answer in ("", "1", "1, 2, 3", "x = 1", "x = 1, 2", "x = 1, x = 2", "x = 1, z = 2", "1, two", "(1, 2", "1,, 2"):
        assert extract_numbers_in_order(answer, "xy") is None, answer
    assert extract_numbers("x_1 = 1, 2") == [("x_1", one), ("", Fraction(2))]


DRESSES = [
    *("{}.", " **{}** ", "${}$", "\\({}\\)", "`{}`", "\\boxed{{{}}}", "So we get\n$$\\boxed{{{}}}$$.", "Answer: {}"),
    *("<answer>{}</answer>", "The answer is {}.", "Let me see.\n\n**Answer:** {}", "**The final answer is ${}$.**"),
]


@pytest.mark.parametrize("name", FAMILIES)
def test_every_family_reads_a_right_answer_in_a_sentence_and_no_wrong_one(name: str):
    env = gym.make(name)
    inner: Any = env.unwrapped
    for difficulty in (0.0, 0.5, 1.0):
        env.reset(seed=3, options={"difficulty": difficulty})
        state, right = inner.get_state(), inner.oracle(inner.here())
        wrong, seed = right, 4
        while wrong == right:
            env.reset(seed=seed, options={"difficulty": difficulty})
            wrong, seed = inner.oracle(inner.here()), seed + 1
        for dress in DRESSES:
            for answer, success in ((right, True), (wrong, False), ("", False)):
                inner.set_state(state)
                assert env.step(dress.format(answer))[4]["is_success"] is success, (dress, answer)


@pytest.mark.parametrize("name", FAMILIES)
def test_the_side_of_an_equation_counts_in_families_with_one_number(name: str):
    env: Any = gym.make(name).unwrapped
    if env.verifier in NUMBERS:
        env.reset(seed=5)
        right = env.oracle(env.here())
        for answer in (f"x = {right}", f"= {right}", f"1 + 1 = 2 = {right}", right.replace("-", "\u2212")):
            assert env.verify(env.here(), answer).success, answer
        for answer in (f"{right}, {right}", f"{right} or 7", f"{right} = x", f"x > {right}"):
            assert env.verify(env.here(), answer).malformed, answer


@pytest.mark.parametrize("unit", ["is ", "a:", "=", "**", "$", "\\(", "\\frac{1}{", "- ", ",", "(", "1,000,", "\u2212"])
def test_long_answers_are_read_in_linear_time(unit: str):
    # A reading with the square of the length would take minutes here.
    answer = unit * 100_000
    assert extract_numbers(answer) is None
    assert plain_number(answer, stated=True) is None
