"""palaestra/PolynomialRoots-v0: all rational roots of a polynomial, with their multiplicities."""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .answer_spelling import extract_numbers
from .polynomials import Polynomial, divide_exactly, format_polynomial, is_irreducible, multiply_all, nonzero_integer

_NAME = re.compile(r"(?:x(?:_?[0-9]|_\{[0-9]\})?)?")


class PolynomialRoots(Question):
    """List the rational roots of a polynomial, each as often as its multiplicity.

    Description:
        A polynomial with whole coefficients and at least two different rational roots, none of them 0; perhaps two more
        roots that are not rational.

    Parameters:
        roots (2 to 5, on request up to 8): number of rational roots, counted with multiplicity.
        size (4 to 40, on request 3 to 200): the largest absolute value of a root's numerator, before reduction.
        kind ("integers", "fractions", "others"): all roots are integers; at least one is no integer; or also a factor
            of degree 2 without rational roots.

    Observation:
        Text such as ``Find all rational roots of x^2 - x - 6. List each root as often as its multiplicity, ...``

    Actions:
        Text with numbers in any order, separated by commas (``3, -2``, ``x = 1/2, x = 1/2``), read in
        ``answer_format``.

    Reward:
        1 for all roots with their multiplicities, 0 otherwise. In the easiest tasks, two different roots from -4 to 4,
        any fixed pair is right in 0.04 of the cases by chance.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    answer_form = "values"
    param_space = ParamSpace(
        [
            IntAxis("roots", 2, 5, limits=(2, 8)),
            IntAxis("size", 4, 40, limits=(3, 200)),
            ChoiceAxis("kind", ("integers", "fractions", "others")),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count, size, kind = params["roots"], params["size"], params["kind"]
        while True:
            draws = rng.random(3 * count + 3).tolist()
            roots: list[Fraction] = []
            for i in range(count):
                repeated = i > 0 and draws[i] < 0.25
                below = 2 + int(draws[count + i] * 3) if kind != "integers" and (i == 0 or draws[i] < 0.6) else 1
                roots.append(roots[-1] if repeated else Fraction(nonzero_integer(draws[2 * count + i], size), below))
            if len(set(roots)) > 1 and (kind == "integers" or any(root.denominator > 1 for root in roots)):
                other = (nonzero_integer(draws[-3], 9), int(draws[-2] * 11) - 5, 1 + int(draws[-1] * 2))
                if kind != "others" or is_irreducible(other):
                    break
        roots.sort()
        factors = [(-root.numerator, root.denominator) for root in roots]
        polynomial = multiply_all([*factors, other] if kind == "others" else factors)
        return Task(
            f"Find all rational roots of {format_polynomial(polynomial)}. List each root as often as its multiplicity, "
            "such as -2, 1/3, 1/3.",
            [str(root) for root in roots],
            solution=", ".join(map(str, roots)),
            content=format_polynomial(polynomial),
            data=polynomial,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        found = extract_numbers(answer)
        if found is None or not all(_NAME.fullmatch(name) for name, _ in found):
            return rejected("The answer must be a list of numbers such as -2, 1/3, 1/3.")
        return CORRECT if sorted(value for _, value in found) == list(map(Fraction, task.reference)) else WRONG

    def read_elements(self, answer: str) -> list[str] | None:
        found = extract_numbers(answer)
        return None if found is None else [str(value) for _, value in found]

    def solution_steps(self, task: Task) -> list[str]:
        """List one root divided out per line."""
        rest: Polynomial = task.data
        lines = []
        for root in map(Fraction, task.reference):
            factor = (-root.numerator, root.denominator)
            quotient = divide_exactly(rest, factor)
            if len(quotient) > 1:
                product = f"({format_polynomial(factor)})({format_polynomial(quotient)})"
                lines.append(f"{root} is a root: {format_polynomial(rest)} = {product}")
            else:
                lines.append(f"{root} is the root of {format_polynomial(rest)}.")
            rest = quotient
        if len(rest) > 1:
            lines.append(f"{format_polynomial(rest)} has no rational roots.")
        return [*lines, self.oracle(task)]


register("palaestra/PolynomialRoots-v0", f"{__name__}:PolynomialRoots")
