"""palaestra/PolynomialExpand-v0: a product of polynomials as a sum."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .polynomials import Monomial, nonzero_integer, read_sum
from .symbolic_answers import UnreadableAnswer, format_sum

# Coefficients of monomials; the exponents of x, y and z stand for the monomial.
Sum = dict[tuple[int, ...], int]

NAMES = "xyz"


class PolynomialExpand(Question):
    """Multiply out a product of polynomials and collect like terms.

    Description:
        Two or three factors, each a sum of terms with whole coefficients; every variable occurs.

    Parameters:
        factors (2 to 3, on request up to 4): number of factors.
        terms (2 to 4): number of terms in each factor.
        variables (1 to 3): number of variables: x; x and y; or x, y and z.
        size (9 to 20, on request 2 to 100): the largest absolute value of a coefficient.

    Observation:
        Text such as ``Expand (2x + 3)(x - 4) and collect like terms. Answer with a polynomial, ...``

    Actions:
        Text with one sum (``2x^2 - 5x - 12``, ``-12 - 5*x + 2*x**2``), its terms in any order, read in
        ``answer_format``.

    Reward:
        1 for the same polynomial as a sum with like terms collected, 0 otherwise. An expression that contains a product
        of sums, such as the question itself, is not an answer.

    Termination:
        After the first answer.

    Source:
        School algebra; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("factors", 2, 3, limits=(2, 4)),
            IntAxis("terms", 2, 4),
            IntAxis("variables", 1, 3),
            IntAxis("size", 9, 20, limits=(2, 100)),
        ]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        factors, terms, variables, size = (params[name] for name in ("factors", "terms", "variables", "size"))
        pool = _POOLS[variables] if variables > 1 else _POOLS[1][-terms:]
        while True:
            draws = iter(rng.random(2 * factors * terms).tolist())
            given = [_draw_factor(draws, pool, terms, size) for _ in range(factors)]
            product = _expand_product(given)
            occurring = {place for key in product for place, power in enumerate(key) if power}
            if len(occurring) == variables and len(product) > 1:
                break
        question = "".join(f"({_format_polynomial(factor)})" for factor in given)
        return Task(
            f"Expand {question} and collect like terms. Answer with a polynomial, such as {_EXAMPLES[variables]}.",
            {_to_monomial(key): coefficient for key, coefficient in product.items()},
            solution=_format_polynomial(product),
            content="".join(sorted(f"({_format_polynomial(factor)})" for factor in given)),
            data=given,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        try:
            terms = read_sum(strip_statement(answer))
        except UnreadableAnswer as error:
            return Verdict(0.0, False, feedback=str(error), malformed=True)
        total: dict[Monomial, Any] = {}
        for monomial, coefficient in terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        if {monomial: coefficient for monomial, coefficient in total.items() if coefficient} != task.reference:
            return Verdict(0.0, False, feedback="The answer is not the product.")
        if len(total) < len(terms):
            return Verdict(0.0, False, feedback="The sum is right, but like terms are not collected.")
        return Verdict(1.0, True, feedback="Correct.")

    def solution_steps(self, task: Task) -> list[str]:
        """List one multiplication per line."""
        left, lines = task.data[0], []
        for right in task.data[1:]:
            product = _expand_product([left, right])
            lines.append(f"({_format_polynomial(left)})({_format_polynomial(right)}) = {_format_polynomial(product)}")
            left = product
        return [*lines, self.oracle(task)]


def _draw_factor(draws: Any, pool: list[tuple[int, ...]], terms: int, size: int) -> Sum:
    """Draw a sum of different monomials of the pool, at least one of them not constant."""
    free, factor = list(pool), {}
    for _ in range(terms):
        key = free.pop(int(next(draws) * len(free)))
        factor[key] = nonzero_integer(next(draws), size)
    return {key: factor[key] for key in pool if key in factor}


def _expand_product(factors: list[Sum]) -> Sum:
    """Return the product of the factors, its terms by falling degree."""
    left: Sum = {(0, 0, 0): 1}
    for right in factors:
        total: Sum = {}
        for (i, j, k), a in left.items():
            for (p, q, r), b in right.items():
                key = (i + p, j + q, k + r)
                total[key] = total.get(key, 0) + a * b
        left = total
    order = sorted(left, key=lambda key: (-sum(key), *(-power for power in key)))
    return {key: left[key] for key in order if left[key]}


def _format_polynomial(polynomial: Sum) -> str:
    return format_sum(((coefficient, _TEXTS[key]) for key, coefficient in polynomial.items()), times="")


def _to_monomial(key: tuple[int, ...]) -> Monomial:
    return tuple((name, power) for name, power in zip(NAMES, key) if power)


_EXAMPLES = {1: "2x^2 - 3x + 5", 2: "2x^2*y - 3x + 5", 3: "2x^2*y*z - 3x + 5"}
_POOLS = {
    1: [(3, 0, 0), (2, 0, 0), (1, 0, 0), (0, 0, 0)],
    2: [(2, 0, 0), (1, 1, 0), (0, 2, 0), (1, 0, 0), (0, 1, 0), (0, 0, 0)],
    3: [(2, 0, 0), (0, 2, 0), (0, 0, 2), (1, 1, 0), (1, 0, 1), (0, 1, 1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, 0)],
}
_TEXTS = {
    key: "*".join(name if power == 1 else f"{name}^{power}" for name, power in _to_monomial(key))
    for key in itertools.product(range(13), repeat=3)
    if sum(key) <= 12
}

register("palaestra/PolynomialExpand-v0", f"{__name__}:PolynomialExpand")
