from __future__ import annotations

from fractions import Fraction

import pytest
from palaestra.rewards.answers.equalities import equality_holds


@pytest.mark.parametrize(
    ("line", "true"),
    [
        ("2 + 3 * 4 = 14", True),
        ("2 - 3 - 4 = -5", True),
        ("12 / 4 / 3 = 1", True),
        ("2 * (3 + 4) = 14 = 28 / 2", True),
        ("2^3^1 = 8", None),
        ("-3^2 = -9", True),
        ("3x - 4 = 11", True),
        ("0.5 * 3 = 1.5", True),
        ("1 / 0 = 1", None),
        ("1 + = 2", None),
        ("7", None),
        ("9^9^9 = 1", None),
        ("9^999 = 1", None),
        ("x = os", None),
        ("(" * 500 + "1 = 1", None),
        ("2 + 2 = 5", False),
        ("4 + # = 11", True),
    ],
)
def test_statements_are_read_with_the_usual_precedence(line: str, true: bool | None):
    assert equality_holds(line, Fraction(7), Fraction(5)) is true
