from __future__ import annotations

from fractions import Fraction

import pytest
from palaestra.envs.math.symbolic_answers import UnreadableAnswer, format_sum, read_expression


def test_sums_are_written_with_their_signs():
    assert format_sum([(3, "x^2"), (-1, "x"), (Fraction(1, 2), "")]) == "3*x^2 - x + 1/2"
    assert format_sum([(-1, "x"), (0, "x^2"), (Fraction(-2, 3), "x")]) == "-x - (2/3)*x"
    assert format_sum([(1, "/x"), (4, "/x"), (Fraction(1, 2), "/x")]) == "1/x + 4/x + (1/2)/x"
    assert format_sum([]) == "0"


def test_a_name_with_brackets_may_stand_before_the_answer():
    assert read_expression("P(x) = x + 1") == ("+", "x", 1)
    for answer in ["x = 1", "1 = x", "x < 2", "(1, 2)", "P(x) = x = 1", "P(x) < x + 1", "P(x) != x", "P(y) = x"]:
        with pytest.raises(UnreadableAnswer):
            read_expression(answer)


@pytest.mark.parametrize("name", ["sin", "cos", "tan", "sec", "ln", "exp"])
def test_a_variable_may_touch_the_function_that_it_multiplies(name: str):
    assert read_expression(f"x{name}(2x)") == read_expression(f"x*{name}(2*x)")
    assert read_expression(f"3x{name}(x) + x") == read_expression(f"3*x*{name}(x) + x")


@pytest.mark.parametrize("answer", ["(" * 990 + "x" + ")" * 990, "x^" * 990 + "x", "|" * 990 + "x", "sin " * 490 + "x"])
def test_deep_nesting_is_refused_and_no_failure(answer: str):
    with pytest.raises(UnreadableAnswer, match="nested too deeply"):
        read_expression(answer)
