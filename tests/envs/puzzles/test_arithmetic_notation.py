"""Expressions in the signs of people and of LaTeX."""

from __future__ import annotations

import pytest
from palaestra.envs.puzzles.arithmetic_notation import normalise_expression


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("8 / (3 - 8 / 3) = 24", "8 / (3 - 8 / 3)"),
        ("24 = 3 * 8", "3 * 8"),
        ("3 * 8 = 25", "3 * 8 = 25"),
        ("3 * 8 = 24 = 24", "3 * 8 = 24 = 24"),
        ("[(4 \u2212 1) \u00d7 8] \u00f7 1", "((4 - 1) * 8) / 1"),
        ("4 \u00b7 6 \u2013 3 x 2 \u22c5 1", "4 * 6 - 3 * 2 * 1"),
        ("\\frac{8}{3-\\dfrac{8}{3}}", "((8)/(3-((8)/(3))))"),
        ("\\left(4 - 1\\right) \\times 8 \\div 1 \\cdot 2", "(4 - 1) * 8 / 1 * 2"),
        ("2}{3", "2}{3"),
        ("2 ** 3", "2 ** 3"),
    ],
)
def test_expressions_in_other_signs(text: str, left: str):
    assert normalise_expression(text, 24) == left
