"""palaestra/PolynomialFactor-v0: the complete factorisation of a polynomial over the whole numbers."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .polynomials import (
    Polynomial,
    divide_exactly,
    format_polynomial,
    is_irreducible,
    multiply_all,
    nonzero_integer,
    read_product,
)
from .symbolic_answers import UnreadableAnswer


class PolynomialFactor(Question):
    """Factor a polynomial completely.

    Description:
        The polynomial is a product of two or more polynomials that are irreducible over the integers, and perhaps of a
        whole number. The factorisation is unique up to order and signs.

    Parameters:
        factors (2 to 4, on request up to 6): number of factors that are not constant, counted with multiplicity.
        degree (1 to 4): the highest degree of a factor; one factor has this degree, the others 1 or 2 at most.
        leading (1 to 4, on request up to 12): the largest leading coefficient of a factor, and the largest constant
            factor.
        size (4 to 20, on request 3 to 100): the largest absolute value of the constant of a factor.

    Observation:
        Text such as ``Factor x^2 - x - 6 completely over the integers. ...``

    Actions:
        Text with one product (``(x + 2)(x - 3)``, ``2*(x - 1)^2*(x^2 + 1)``), read in ``answer_format``.

    Reward:
        1 for irreducible factors whose product is the polynomial, 0 otherwise; the polynomial itself is never right. In
        the easiest tasks, two linear factors with constants from -4 to 4, any fixed answer is right in 0.035 of the
        cases by chance.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("factors", 2, 4, limits=(2, 6)),
            IntAxis("degree", 1, 4),
            IntAxis("leading", 1, 4, limits=(1, 12)),
            IntAxis("size", 4, 20, limits=(3, 100)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count, degree, leading, size = (params[name] for name in self.param_space.names)
        draws = rng.random(count + 1).tolist()
        number = 1 + int(draws[-1] * leading)
        # The first factor has the full degree.
        factors = [_draw_irreducible(rng, degree, leading, size)]
        factors += [_draw_irreducible(rng, 1 + int(u * min(degree, 2)), leading, size) for u in draws[1:count]]
        factors.sort(key=lambda factor: (len(factor), factor))
        polynomial = multiply_all([*factors, (number,)])
        solution = str(number) if number > 1 else ""
        for factor, power in Counter(factors).items():
            solution += f"({format_polynomial(factor)})" + (f"^{power}" if power > 1 else "")
        return Task(
            f"Factor {format_polynomial(polynomial)} completely over the integers. Answer with a product, such as "
            "2(x + 1)^2(x^2 - 3).",
            (number, tuple(factors)),
            solution=solution,
            content=format_polynomial(polynomial),
            data=polynomial,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        try:
            number, factors = read_product(strip_statement(answer))
        except UnreadableAnswer as error:
            return Verdict(0.0, False, feedback=str(error), malformed=True)
        degree = sum((len(factor) - 1) * power for factor, power in factors)
        if degree != len(task.data) - 1:
            return Verdict(0.0, False, feedback="The product does not have the degree of the polynomial.")
        found: Counter[Polynomial] = Counter()
        for factor, power in factors:
            if len(factor) == 1:
                number *= factor[0] ** power
            else:
                sign = -1 if factor[-1] < 0 else 1
                number *= sign**power
                found[tuple(sign * coefficient for coefficient in factor)] += power
        # Factorisation over the integers is unique, so that no other answer can be right.
        if (number, found) == (task.reference[0], Counter(task.reference[1])):
            return Verdict(1.0, True, feedback="Correct.")
        whole = multiply_all(factor for factor, power in found.items() for _ in range(power))
        if tuple(number * coefficient for coefficient in whole) == task.data:
            return Verdict(0.0, False, feedback="The product is right, but it can be factored further.")
        return Verdict(0.0, False, feedback="The product is not the polynomial.")

    def solution_steps(self, task: Task) -> list[str]:
        """List one factor divided out per line."""
        number, factors = task.reference
        rest: Polynomial = tuple(coefficient // number for coefficient in task.data)
        whole = format_polynomial(task.data)
        lines = [f"{whole} = {number}({format_polynomial(rest)})"] if number > 1 else []
        for factor in factors[:-1]:
            quotient = divide_exactly(rest, factor)
            lines.append(f"{format_polynomial(rest)} = ({format_polynomial(factor)})({format_polynomial(quotient)})")
            rest = quotient
        return [*lines, self.oracle(task)]


def _draw_irreducible(rng: np.random.Generator, degree: int, leading: int, size: int) -> Polynomial:
    """Draw an irreducible polynomial: constant up to ``size``, other coefficients up to 9, and a leading one from 1 to
    ``leading``."""
    while True:
        draws = rng.random(degree + 1).tolist()
        middle = [int(u * 19) - 9 for u in draws[1:-1]]
        found = (nonzero_integer(draws[0], size), *middle, 1 + int(draws[-1] * leading))
        if is_irreducible(found):
            return found


register("palaestra/PolynomialFactor-v0", f"{__name__}:PolynomialFactor")
