from __future__ import annotations

import re
from fractions import Fraction

import pytest
from palaestra.envs.math.linear_equation import LinearEquation, _format_side


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
