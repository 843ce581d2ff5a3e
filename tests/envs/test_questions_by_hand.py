"""What the question families generate, checked against independent arithmetic."""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from palaestra.envs.math.arithmetic import Arithmetic, _evaluate
from palaestra.envs.math.linear_equation import LinearEquation, _format_side
from palaestra.envs.math.polynomials import nonzero_integer
from palaestra.envs.puzzles.countdown import Countdown
from palaestra.rewards.verifiers.countdown import evaluate_expression


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
            match = re.fullmatch(r"(\d+) ([-+*]) (\d+) ([-+*]) (\d+) = \? \(integer\)", prompt)
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


def side(text: str, x: Fraction) -> Fraction:
    match = re.fullmatch(r"(-?\d*)x(?: ([-+]) (\d+))?|(-?\d+)", text)
    assert match, text
    slope, sign, constant, alone = match.groups()
    if alone is not None:
        return Fraction(alone)
    factor = {"": 1, "-": -1}.get(slope) or int(slope)
    return factor * x + (int(constant) * (-1 if sign == "-" else 1) if constant else 0)


@pytest.mark.parametrize("sides", ["one", "both"])
@pytest.mark.parametrize("solution", ["integer", "fraction"])
def test_linear_equations_hold_for_the_oracles_answer(sides: str, solution: str):
    env = LinearEquation(sides=sides, solution=solution)
    for seed in range(80):
        prompt, info = env.reset(seed=seed)
        match = re.match(r"Solve (.+) = (.+)\. Answer", prompt)
        assert match
        x = Fraction(env.oracle())
        assert side(match[1], x) == side(match[2], x)
        assert ("x" in match[2]) == (sides == "both")
        assert (x.denominator > 1) == (solution == "fraction")
        if solution == "integer":
            assert 1 <= abs(x) <= info["params"]["size"]


@pytest.mark.parametrize(
    ("slope", "constant", "text"), [(1, 0, "x"), (-1, 2, "-x + 2"), (3, -4, "3x - 4"), (0, -5, "-5"), (-2, 0, "-2x")]
)
def test_a_side_is_written_as_in_school(slope: int, constant: int, text: str):
    assert _format_side(slope, constant) == text


def test_signed_numbers_leave_out_zero_and_reach_both_ends():
    assert [nonzero_integer(i / 6, 3) for i in range(6)] == [-3, -2, -1, 1, 2, 3]


def test_countdown_targets_are_reached_by_all_numbers_and_given_by_none():
    env = Countdown()
    for seed in range(200):
        _, info = env.reset(seed=seed)
        reference = env.here().reference
        numbers, target = reference["numbers"], reference["target"]
        assert sorted(map(int, re.findall(r"\d+", env.oracle()))) == sorted(numbers)
        assert evaluate_expression(env.oracle(), numbers) == target
        assert target not in numbers
        assert len(numbers) == info["params"]["count"]
        assert max(numbers) <= info["params"]["largest"]
        assert 1 <= target <= 10 * info["params"]["largest"]


def test_countdown_oracle_uses_every_operator_and_parentheses():
    env = Countdown(difficulty=1.0)
    texts = []
    for seed in range(50):
        env.reset(seed=seed)
        texts.append(env.oracle())
    assert set("+-*/()") <= set("".join(texts))


def test_another_way_to_the_target_counts_as_well():
    env = Countdown(split="all")
    for seed in range(200):
        env.reset(seed=seed, options={"params": {"count": 2, "largest": 10}})
        a, b = env.here().reference["numbers"]
        if env.here().reference["target"] == a + b:
            assert env.step(f"({b})+{a}")[4]["is_success"]
            return
    pytest.fail("no sum in two hundred tasks")
