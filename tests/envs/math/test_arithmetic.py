"""The steps that lead to the answers of whole-number arithmetic and of linear equations, each a true statement."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from palaestra.envs.math.arithmetic import Arithmetic, _draw_number, _evaluate
from palaestra.envs.math.linear_equation import LinearEquation
from palaestra.envs.math.precedence import evaluate_in_order, format_expression, format_long_product


def value(text: str) -> Fraction:
    """By Python's own precedence, on text that is vetted first."""
    assert re.fullmatch(r"[-0-9 .+*/()]+", text), text
    return eval(re.sub(r"\d+", lambda number: f"Fraction({number[0]})", text), {"Fraction": Fraction})


def test_products_and_quotients_come_first_and_then_all_goes_from_left_to_right():
    done = evaluate_in_order([7, 2, 3, 4], ["-", "*", "+"], lambda a, o, b: {"-": a - b, "*": a * b, "+": a + b}[o])
    assert done == [(2, "*", 3, 6), (7, "-", 6, 1), (1, "+", 4, 5)]
    assert format_expression(["7", "2", "3"], ["-", "*"]) == "7 - 2 * 3"
    values = [Fraction(n) for n in (8, 4, 2)]
    assert evaluate_in_order(values, ["/", "/"], lambda a, _, b: a / b)[-1][3] == 1


@pytest.mark.parametrize(
    ("a", "b", "line"),
    [
        (345, 27, "345 * 27 = 345 * 20 + 345 * 7 = 6900 + 2415 = 9315"),
        (27, 345, "345 * 27 = 345 * 20 + 345 * 7 = 6900 + 2415 = 9315"),
        (12, 30, "12 * 30 = 360"),
        (7, 8, "7 * 8 = 56"),
    ],
)
def test_long_products_go_by_the_digits_of_the_number_with_fewer(a: int, b: int, line: str):
    assert format_long_product(a, b) == line


def test_numbers_span_all_of_their_length_and_no_more():
    ends = [(_draw_number(length, 0.0), _draw_number(length, 1 - 1e-9)) for length in (1, 2, 3)]
    assert ends == [(1, 9), (10, 99), (100, 999)]


@pytest.mark.parametrize("operations", ["+", "+-", "+-*"])
def test_every_step_of_arithmetic_is_true_and_the_last_gives_the_value_of_the_expression(operations: str):
    env = Arithmetic(operations=operations, prompt="terse")
    for seed in range(60):
        prompt, _ = env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        for step in steps:
            assert len({value(side) for side in step.split(" = ")}) == 1
        assert len(steps) == len(re.findall(r" [-+*] ", prompt))
        assert value(prompt.split(" = ?")[0]) == value(steps[-1].split(" = ")[-1]) == int(answer)


def side(text: str, x: Fraction) -> Fraction:
    """A side of an equation, with x put in."""
    return value(re.sub(r"(\d*)x", lambda found: f"{found[1] or 1} * ({x})", text))


def test_a_linear_equation_is_solved_by_equations_that_each_have_its_solution():
    env = LinearEquation()
    lengths = set()
    for seed in range(120):
        env.reset(seed=seed)
        *steps, answer = env.solution_steps(env.here())
        lengths.add(len(steps))
        for step in steps:
            left, right = step.split(" = ")
            assert side(left, Fraction(answer)) == side(right, Fraction(answer))
        # A negative divisor stands in brackets.
        assert re.fullmatch(r"x = -?\d+ / (\d+|\(-\d+\))", steps[-1])
    assert lengths == {2, 3}


@pytest.mark.parametrize(
    ("numbers", "operators", "value"),
    [
        ([7, 5], "+", 12),
        ([7, 5, 3], "+-", 9),
        ([2, 3, 4], "+*", 14),
        ([2, 3, 4], "*+", 10),
        ([9, 2, 3, 4, 1], "-**+", -14),
    ],
)
def test_products_bind_before_sums(numbers: list[int], operators: str, value: int):
    assert _evaluate(numbers, list(operators)) == value


def test_arithmetic_tasks_are_what_their_parameters_say():
    for operations in ("+", "+-", "+-*"):
        env = Arithmetic(terms=3, digits=4, operations=operations)
        for seed in range(60):
            prompt, _ = env.reset(seed=seed)
            match = re.fullmatch(r"What is (\d+) ([-+*]) (\d+) ([-+*]) (\d+)\? Answer with an integer only\.", prompt)
            assert match, prompt
            a, first, b, second, c = match.groups()
            assert {first, second} <= set(operations)
            assert operations[-1] in (first, second)
            assert max(len(a), len(b), len(c)) == 4
            # Python's own precedence on an expression that the pattern above has vetted.
            assert int(env.oracle()) == eval(f"{a} {first} {b} {second} {c}")


def test_two_small_terms_fit_in_forty_five_characters():
    env = Arithmetic(terms=2, axes={"digits": [1, 2]})
    assert max(len(env.reset(seed=seed)[0]) for seed in range(200)) <= 45


def test_every_operator_occurs_in_the_hardest_arithmetic():
    env = Arithmetic(difficulty=1.0)
    seen = set("".join(env.reset(seed=seed)[0] for seed in range(20)))
    assert set("+-*") <= seen
