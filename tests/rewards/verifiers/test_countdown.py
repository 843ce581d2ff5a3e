"""Expressions over given numbers, against Python's grammar."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from palaestra.rewards.verifiers.countdown import ExpressionError, evaluate_expression

# A busy machine is no defect.
untimed = settings(deadline=None)


EXPRESSIONS = st.recursive(
    st.integers(1, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+-*/"), inner).map(
        lambda parts: f"({parts[0]}{parts[1]}{parts[2]})"
    ),
    max_leaves=8,
)


def numbers_in(expression: str) -> list[int]:
    return [int(word) for word in "".join(c if c.isdigit() else " " for c in expression).split()]


def by_python(expression: str) -> Fraction | None:
    """The same by Python's own grammar; only ever given text that hypothesis built from the strategy above."""
    source = "".join(f"Fraction({part})" if part.isdigit() else part for part in _split(expression))
    try:
        return eval(source, {"Fraction": Fraction})
    except ZeroDivisionError:
        return None


def _split(expression: str) -> list[str]:
    spaced = "".join(c if c.isdigit() else f" {c} " for c in expression)
    return spaced.split()


@untimed
@given(EXPRESSIONS)
def test_expressions_mean_what_they_mean_in_python(expression: str):
    expected = by_python(expression)
    for text in (expression, expression.replace("(", "").replace(")", "")):
        expected = by_python(text)
        if expected is None:
            with pytest.raises(ExpressionError, match="zero"):
                evaluate_expression(text, numbers_in(text))
        else:
            assert evaluate_expression(text, numbers_in(text)) == expected


@untimed
@given(EXPRESSIONS, st.data())
def test_a_number_that_is_not_given_is_refused(expression: str, data: st.DataObject):
    numbers = numbers_in(expression)
    numbers.pop(data.draw(st.integers(0, len(numbers) - 1)))
    with pytest.raises(ExpressionError):
        evaluate_expression(expression, numbers)
