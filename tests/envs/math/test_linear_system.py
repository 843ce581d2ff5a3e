"""Linear systems: one solution, checked by Cramer's rule, and answers in order or by name."""

from __future__ import annotations

import re
from fractions import Fraction
from itertools import permutations

from palaestra.envs.math.linear_system import NAMES, LinearSystem, _draw_equation, _eliminate
from palaestra.envs.question import Task


def equations(text: str) -> list[tuple[dict[str, int], int]]:
    """The coefficients by name and the right side of each equation in a text."""
    found = []
    for equation in text.split("; "):
        left, right = equation.split(" = ")
        terms = re.findall(r"([-+]?) ?(\d*)([xyzw])", left)
        assert "".join(sign + number + name for sign, number, name in terms) == left.replace(" ", "")
        found.append(({name: int(f"{sign}{number or 1}") for sign, number, name in terms}, int(right)))
    return found


def determinant(rows: list[list[int]]) -> int:
    """By the sum over all permutations."""
    total = 0
    for order in permutations(range(len(rows))):
        sign = (-1) ** sum(order[i] > order[j] for i in range(len(order)) for j in range(i + 1, len(order)))
        for i, j in enumerate(order):
            sign *= rows[i][j]
        total += sign
    return total


def test_systems_have_one_solution_which_cramers_rule_finds():
    env = LinearSystem()
    for difficulty in (0.0, 0.25, 0.5, 0.75, 1.0):
        for seed in range(30):
            prompt, info = env.reset(seed=seed, options={"difficulty": difficulty})
            found = equations(prompt.split(". Answer")[0].removeprefix("Solve the system "))
            names = NAMES[: info["params"]["unknowns"]]
            matrix = [[row[name] for name in names] for row, _ in found]
            assert len(matrix) == len(names)
            below = determinant(matrix)
            assert below
            solution = []
            for place in range(len(names)):
                swapped = [[*row[:place], right, *row[place + 1 :]] for row, (_, right) in zip(matrix, found)]
                solution.append(Fraction(determinant(swapped), below))
            assert ", ".join(map(str, solution)) == env.oracle(env.here())
            whole = all(value.denominator == 1 for value in solution)
            assert whole == (info["params"]["solution"] == "integers")
            sizes = [abs(coefficient) for row in matrix for coefficient in row]
            assert min(sizes) > 0
            assert max(sizes) <= info["params"]["size"]


def test_steps_are_equations_that_the_solution_fulfils():
    env = LinearSystem()
    for difficulty in (0.0, 0.5, 1.0):
        for seed in range(20):
            env.reset(seed=seed, options={"difficulty": difficulty})
            values = dict(zip(NAMES, map(Fraction, env.here().reference)))
            *steps, _ = env.solution_steps(env.here())
            # The triangle without its first and last equation, then a line for each unknown.
            assert len(steps) == 2 * len(env.here().reference) - 2
            named = {}
            for step in steps:
                for equation in step.split(", so "):
                    left, right = equation.split(" = ")
                    ((row, _),) = equations(f"{left} = 0")
                    assert sum(a * values[name] for name, a in row.items()) == Fraction(right), step
                    if list(row.values()) == [1]:
                        named[left] = Fraction(right)
            assert named == {name: values[name] for name in NAMES[: len(env.here().reference)]}


def test_a_row_is_mended_so_that_it_has_a_whole_right_side():
    for k in range(40):
        row = _draw_equation([k / 40, (k * 7 % 40) / 40], [3, 5], 4, 9)
        if row is not None:
            assert row[0] * 3 + row[1] * 5 == row[2] * 4
            assert 1 <= min(map(abs, row[:2])) <= max(map(abs, row[:2])) <= 9


def test_systems_without_a_single_solution_have_no_triangle():
    assert _eliminate([(1, 2, 3), (2, 4, 6)]) is None
    assert _eliminate([(1, 2, 3), (2, 4, 7)]) is None
    assert _eliminate([(1, 2, 3), (2, 5, 7)]) == [(1, 2, 3), (0, 1, 1)]
    assert _eliminate([(1, 1, 1, 6), (1, 1, 2, 9), (1, 2, 1, 8)]) is not None


NATURAL = [
    *("(x, y, z) = (1, -7/2, 4)", "x = 1, y = -7/2 and z = 4", "(x = 1, y = -7/2, z = 4)", "**1, -7/2, 4**."),
    *(
        r"$x = 1$, $y = -\frac{7}{2}$, $z = 4$",
        "The solution is x = 1, y = \u22127/2, z = 4.",
        "x = 1\ny = -7/2\nz = 4",
    ),
]


def test_values_are_given_in_order_or_by_name():
    env = LinearSystem()
    task = Task("", ["1", "-7/2", "4"])
    for answer in [
        "1, -7/2, 4",
        "(1, -3.5, 4)",
        "x = 1, y = -7/2, z = 4",
        "z=4; x=1; y=-14/4",
        "[1; -7/2; 4]",
        "x = 1\ny = -7/2\nz = 4",
        "x = 1,\ny = -7/2,\nz = 4",
        "z = 4\n\nx = 1\ny = -7/2",
        "1\n-7/2\n4",
        *NATURAL,
    ]:
        assert env.verify(task, answer).score == 1, answer
    for answer in ["-7/2, 1, 4", "x = -7/2, y = 1, z = 4", "1, 7/2, 4", "1, -7/2, 5", "1, -3, 4"]:
        verdict = env.verify(task, answer)
        assert verdict.score == 0, answer
        assert not verdict.malformed
    malformed = ["1, -7/2", "1, -7/2, 4, 4", "x = 1, x = 1, x = 1", "x = 1, y = -7/2, 4", "1 -7/2 4", "", "2x, y, z"]
    malformed += ["x, y, z", "1, -7/2, 4 = 4", "9**9**9, 1, 1", "(" * 3000, "1," * 2000, "2x + y = 3; x = 1; y = 2"]
    for answer in malformed:
        verdict = env.verify(task, answer)
        assert verdict.score == 0, answer
        assert verdict.malformed, answer
