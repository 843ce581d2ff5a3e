"""palaestra/Derivative-v0: the derivative of an elementary function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .elementary_functions import Functions, read_reference
from .polynomials import nonzero_integer
from .symbolic_answers import UnreadableAnswer, format_sum, read_expression

# A sum, as pairs of a coefficient and its factor.
Terms = list[tuple[int, str]]

RULES = ("powers", "functions", "products", "quotients", "chains")
# The derivative of an outer function: its sign and name.
_OUTER = {"sin": (1, "cos"), "cos": (-1, "sin"), "e": (1, "e")}


class Derivative(Question):
    """Differentiate a function of x.

    Description:
        A sum of terms: powers of x; sines, cosines, exponentials and logarithms of multiples of x; products of such a
        function with a power of x; quotients of linear functions; powers and the same four functions of ``a*x^k + b``.

    Parameters:
        terms (2 to 5, on request 1 to 8): number of terms.
        rule ("powers", "functions", "products", "quotients", "chains"): the kinds of terms that may occur: the one
            named, at least once, and all listed before it.
        size (9 to 20, on request 2 to 1000): the largest absolute value of a coefficient.

    Observation:
        Text such as ``Differentiate f(x) = 3*x^2 - 5*sin(2*x). Answer with an expression in x, ...``

    Actions:
        Text with one expression, in plain mathematics or LaTeX, read in ``answer_format``.

    Reward:
        1 for an expression that equals the derivative, however it is written, 0 otherwise. The expression may use x,
        numbers, + - * / ^, e, ln and trigonometric and hyperbolic functions; operators that stand for a computation,
        such as ``diff(...)``, are refused.

    Termination:
        After the first answer.

    Source:
        School calculus; generated here.
    """

    param_space = ParamSpace(
        [IntAxis("terms", 2, 5, limits=(1, 8)), ChoiceAxis("rule", RULES), IntAxis("size", 9, 20, limits=(2, 1000))]
    )

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        count, size, last = params["terms"], params["size"], RULES.index(params["rule"])
        while True:
            draws = iter(rng.random(8 * count + 1).tolist())
            hardest = int(next(draws) * count)
            pairs = []
            for i in range(count):
                rule = RULES[last if i == hardest else int(next(draws) * (last + 1))]
                pairs.append(_TERMS[rule](draws, size) if rule != "powers" else _powers(draws, size, 2 * count))
            if len({function[1] for function, _ in pairs}) == count:
                break
        question = format_sum(function for function, _ in pairs)
        answer = format_sum(term for _, derivative in pairs for term in derivative)
        return Task(
            f"Differentiate f(x) = {question}. Answer with an expression in x, such as 6*x^2 - e^(2*x)*cos(3*x).",
            answer,
            content=format_sum(sorted(function for function, _ in pairs)),
            data=pairs,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        functions = Functions()
        try:
            right = functions.equal(
                functions.read(read_expression(strip_statement(answer))), read_reference(task.reference)
            )
        except UnreadableAnswer as error:
            return Verdict(0.0, False, feedback=str(error)[:300], malformed=True)
        return Verdict(float(right), right, feedback="Correct." if right else "This is not the derivative.")

    def solution_steps(self, task: Task) -> list[str]:
        """List the derivative of each term."""
        lines = [f"({format_sum([function])})' = {format_sum(derivative)}" for function, derivative in task.data]
        return [*lines, self.oracle(task)]


def inner_function(a: int, k: int = 1, b: int = 0) -> str:
    """Return the text of ``a*x^k + b``."""
    return format_sum([(a, power_of_x(k)), (b, "")])


def power_of_x(k: int) -> str:
    """Return the text of ``x^k``, or "" for k = 0."""
    return "" if not k else "x" if k == 1 else f"x^{k}"


def function_text(name: str, inside: str) -> str:
    """Return the text of a function applied to ``inside``."""
    return f"e^({inside})" if name == "e" else f"{name}({inside})"


def join_factors(*factors: str) -> str:
    """Return the text of a product; "" stands for the factor 1."""
    return "*".join(factor for factor in factors if factor)


def _powers(draws: Iterator[float], size: int, most: int = 0) -> tuple[tuple[int, str], Terms]:
    c, n = nonzero_integer(next(draws), size), 2 + int(next(draws) * max(7, most))
    return (c, power_of_x(n)), [(c * n, power_of_x(n - 1))]


def _functions(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, name = (
        nonzero_integer(next(draws), size),
        2 + int(next(draws) * 8),
        ("sin", "cos", "e", "ln")[int(next(draws) * 4)],
    )
    function = c, function_text(name, inner_function(a))
    if name == "ln":
        return function, [(c, "/x")]
    sign, other = _OUTER[name]
    return function, [(sign * c * a, function_text(other, inner_function(a)))]


def _products(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, n = nonzero_integer(next(draws), size), 2 + int(next(draws) * 8), 1 + int(next(draws) * 5)
    name = ("sin", "cos", "e", "ln")[int(next(draws) * 4)]
    outer = function_text(name, "x" if name == "ln" else inner_function(a))
    function, first = (c, join_factors(power_of_x(n), outer)), (c * n, join_factors(power_of_x(n - 1), outer))
    if name == "ln":
        return function, [first, (c, power_of_x(n - 1))]
    sign, other = _OUTER[name]
    return function, [first, (sign * c * a, join_factors(power_of_x(n), function_text(other, inner_function(a))))]


def _quotients(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    a, b, c, d = (
        1 + int(next(draws) * 9),
        nonzero_integer(next(draws), 9),
        1 + int(next(draws) * 9),
        nonzero_integer(next(draws), 9),
    )
    # Ensure that the quotient is not constant.
    d += a * d == b * c
    return (1, f"({inner_function(a, b=b)})/({inner_function(c, b=d)})"), [
        (a * d - b * c, f"/({inner_function(c, b=d)})^2")
    ]


def _chains(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, b, k = (
        nonzero_integer(next(draws), size),
        2 + int(next(draws) * 4),
        nonzero_integer(next(draws), 9),
        2 + int(next(draws) * 2),
    )
    name, inside = ("sin", "cos", "e", "ln", "^")[int(next(draws) * 5)], inner_function(a, k, b)
    slope = c * a * k
    if name == "^":
        n = 3 + int(next(draws) * 4)
        return (c, f"({inside})^{n}"), [(n * slope, join_factors(power_of_x(k - 1), f"({inside})^{n - 1}"))]
    function = c, function_text(name, inside)
    if name == "ln":
        return function, [(slope, f"{power_of_x(k - 1)}/({inside})")]
    sign, other = _OUTER[name]
    return function, [(sign * slope, join_factors(power_of_x(k - 1), function_text(other, inside)))]


_TERMS = {"powers": _powers, "functions": _functions, "products": _products, "quotients": _quotients, "chains": _chains}

register("palaestra/Derivative-v0", f"{__name__}:Derivative")
