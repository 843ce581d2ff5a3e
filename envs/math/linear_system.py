"""palaestra/LinearSystem-v0: systems of linear equations with exactly one solution."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .answer_spelling import extract_numbers_in_order
from .polynomials import nonzero_integer
from .symbolic_answers import format_sum

NAMES = "xyzwvuts"

# An equation: the coefficients and the right side.
Row = tuple[int, ...]


class LinearSystem(Question):
    """Solve a system of linear equations.

    Description:
        Two equations or more in as many unknowns, with whole coefficients other than zero and exactly one solution.

    Parameters:
        unknowns (2 to 4, on request up to 8): number of unknowns, named x, y, z, w, v, u, t and s in this order.
        size (5 to 20, on request 2 to 100): the largest absolute value of a coefficient.
        solution ("integers", "fractions"): integers from -2 size to 2 size, or fractions with a common denominator from
            2 to 5, before reduction, at least one of which is no integer.

    Observation:
        Text such as ``Solve the system 2x + 3y = 8; x - y = -1. Answer with x, y in this order, ...``

    Actions:
        Text with the values in order (``1, 2``) or with their names (``y = 2, x = 1``, or one a line), each an exact
        number, read in ``answer_format``.

    Reward:
        1 for the solution, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    answer_form = "values"
    param_space = ParamSpace(
        [
            IntAxis("unknowns", 2, 4, limits=(2, 8)),
            IntAxis("size", 5, 20, limits=(2, 100)),
            ChoiceAxis("solution", ("integers", "fractions")),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        n, size, whole = params["unknowns"], params["size"], params["solution"] == "integers"
        while True:
            draws = rng.random(n * (n + 1) + 1).tolist()
            below = 1 if whole else 2 + int(draws[-1] * 4)
            above = [nonzero_integer(u, 2 * size) for u in draws[:n]]
            if not whole and all(a % below == 0 for a in above):
                continue
            found = (_draw_equation(draws[n * i : n * (i + 1)], above, below, size) for i in range(1, n + 1))
            rows = [row for row in found if row is not None]
            if len(rows) == n and _eliminate(rows):
                break
        equations = list(map(_format_equation, rows))
        names = ", ".join(NAMES[:n])
        values = [str(Fraction(a, below)) for a in above]
        return Task(
            f"Solve the system {'; '.join(equations)}. Answer with {names} in this order, separated by commas"
            f"{'' if whole else '; write fractions as p/q'}.",
            values,
            solution=", ".join(values),
            content="; ".join(sorted(equations)),
            data=rows,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        names = NAMES[: len(task.reference)]
        values = extract_numbers_in_order(answer, names)
        if values is None:
            example = ", ".join("12345678"[: len(names)])
            return rejected(f"The answer must be {len(names)} numbers, such as {example}.")
        return CORRECT if values == list(map(Fraction, task.reference)) else WRONG

    def solution_steps(self, task: Task) -> list[str]:
        """List equations with fewer and fewer unknowns, then the unknowns, from the last to the first."""
        triangle = _eliminate(task.data)
        assert triangle
        values = list(map(Fraction, task.reference))
        lines = [_format_equation(row) for row in triangle[1:-1]]
        for i in range(len(values) - 1, -1, -1):
            row = triangle[i]
            known = sum(a * x for a, x in zip(row[i + 1 : -1], values[i + 1 :]))
            left = f"{format_sum([(row[i], NAMES[i])], times='')} = {row[-1] - known}"
            lines.append(left if row[i] == 1 else f"{left}, so {NAMES[i]} = {values[i]}")
        return [*lines, self.oracle(task)]


def _draw_equation(draws: list[float], above: list[int], below: int, size: int) -> Row | None:
    """Draw an equation that the values ``above / below`` solve; return None if the draws give no integer right side."""
    coefficients = [nonzero_integer(u, size) for u in draws]
    total = sum(a * x for a, x in zip(coefficients, above))
    if total % below:
        # Adjust the last coefficient that can make the right side an integer.
        for i in range(len(above) - 1, -1, -1):
            if math.gcd(above[i], below) == 1:
                step = -total * pow(above[i], -1, below) % below
                mended = coefficients[i] + (step if coefficients[i] + step <= size else step - below)
                if not mended:
                    return None
                coefficients[i] = mended
                total = sum(a * x for a, x in zip(coefficients, above))
                break
        else:
            return None
    return (*coefficients, total // below)


def _eliminate(rows: list[Row]) -> list[Row] | None:
    """Return equivalent equations in triangular form; None if there is no unique solution."""
    left = [list(row) for row in rows]
    for i in range(len(left)):
        place = next((k for k in range(i, len(left)) if left[k][i]), None)
        if place is None:
            return None
        left[i], left[place] = left[place], left[i]
        pivot = left[i]
        for row in left[i + 1 :]:
            if row[i]:
                common = math.gcd(pivot[i], row[i])
                p, q = pivot[i] // common, row[i] // common
                row[:] = [p * b - q * a for a, b in zip(pivot, row)]
                shared = math.gcd(*row) or 1
                row[:] = [value // shared for value in row]
    return [tuple(row) for row in left]


def _format_equation(row: Row) -> str:
    return f"{format_sum(zip(row[:-1], NAMES), times='')} = {row[-1]}"


register("palaestra/LinearSystem-v0", f"{__name__}:LinearSystem")
