"""palaestra/Derivative-v0: the derivative of an elementary function."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...rewards import Verdict
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .answer_spelling import stated
from .elementary_functions import Functions, known
from .polynomials import signed
from .symbolic_answers import Unreadable, read_expression, written

# A sum as coefficients and what they multiply.
Terms = list[tuple[int, str]]

RULES = ("powers", "functions", "products", "quotients", "chains")
# The derivative of an outer function: its sign and name.
_OUTER = {"sin": (1, "cos"), "cos": (-1, "sin"), "e": (1, "e")}


class Derivative(Question):
    """Differentiate a function of x.

    Description:
        A sum of terms: powers of x; sines, cosines, exponentials and logarithms of multiples of x; products of these
        with powers; quotients of linear functions; powers and the same four functions of ``a*x^k + b``.

    Parameters:
        terms (2 to 5; open from 1 to 8): how many terms.
        rule ("powers", "functions", "products", "quotients", "chains"): the terms that may occur, each with all that
            stand before it; one term at least is of this kind.
        size (9 to 20; open from 2 to 1000): the largest absolute value of a coefficient.

    Observation:
        Text such as ``Differentiate f(x) = 3*x^2 - 5*sin(2*x). Answer with an expression in x, ...``

    Actions:
        Text with one expression, in plain mathematics or LaTeX, read as ``answer_format`` says.

    Reward:
        1 for an expression that equals the derivative, however it is written, 0 otherwise. It may use x, numbers,
        + - * / ^, e, ln and trigonometric and hyperbolic functions; operators that stand for a computation, such as
        ``diff(...)``, are not read.

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
        question = written(function for function, _ in pairs)
        answer = written(term for _, derivative in pairs for term in derivative)
        return Task(
            f"Differentiate f(x) = {question}. Answer with an expression in x, such as 6*x^2 - e^(2*x)*cos(3*x).",
            answer,
            content=written(sorted(function for function, _ in pairs)),
            data=pairs,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        functions = Functions()
        try:
            right = functions.equal(functions.read(read_expression(stated(answer))), known(task.reference))
        except Unreadable as error:
            return Verdict(0.0, False, feedback=str(error)[:300], malformed=True)
        return Verdict(float(right), right, feedback="Correct." if right else "This is not the derivative.")

    def solution_steps(self, task: Task) -> list[str]:
        """The derivative of each term."""
        lines = [f"({written([function])})' = {written(derivative)}" for function, derivative in task.data]
        return [*lines, self.oracle(task)]


def inner(a: int, k: int = 1, b: int = 0) -> str:
    """``a*x^k + b``."""
    return written([(a, power(k)), (b, "")])


def power(k: int) -> str:
    """``x^k``, or "" for k = 0."""
    return "" if not k else "x" if k == 1 else f"x^{k}"


def applied(name: str, inside: str) -> str:
    """A function of what is inside."""
    return f"e^({inside})" if name == "e" else f"{name}({inside})"


def times(*factors: str) -> str:
    """A product of texts, of which "" is 1."""
    return "*".join(factor for factor in factors if factor)


def _powers(draws: Iterator[float], size: int, most: int = 0) -> tuple[tuple[int, str], Terms]:
    c, n = signed(next(draws), size), 2 + int(next(draws) * max(7, most))
    return (c, power(n)), [(c * n, power(n - 1))]


def _functions(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, name = signed(next(draws), size), 2 + int(next(draws) * 8), ("sin", "cos", "e", "ln")[int(next(draws) * 4)]
    function = c, applied(name, inner(a))
    if name == "ln":
        return function, [(c, "/x")]
    sign, other = _OUTER[name]
    return function, [(sign * c * a, applied(other, inner(a)))]


def _products(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, n = signed(next(draws), size), 2 + int(next(draws) * 8), 1 + int(next(draws) * 5)
    name = ("sin", "cos", "e", "ln")[int(next(draws) * 4)]
    outer = applied(name, "x" if name == "ln" else inner(a))
    function, first = (c, times(power(n), outer)), (c * n, times(power(n - 1), outer))
    if name == "ln":
        return function, [first, (c, power(n - 1))]
    sign, other = _OUTER[name]
    return function, [first, (sign * c * a, times(power(n), applied(other, inner(a))))]


def _quotients(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    a, b, c, d = 1 + int(next(draws) * 9), signed(next(draws), 9), 1 + int(next(draws) * 9), signed(next(draws), 9)
    # Never a constant.
    d += a * d == b * c
    return (1, f"({inner(a, b=b)})/({inner(c, b=d)})"), [(a * d - b * c, f"/({inner(c, b=d)})^2")]


def _chains(draws: Iterator[float], size: int) -> tuple[tuple[int, str], Terms]:
    c, a, b, k = signed(next(draws), size), 2 + int(next(draws) * 4), signed(next(draws), 9), 2 + int(next(draws) * 2)
    name, inside = ("sin", "cos", "e", "ln", "^")[int(next(draws) * 5)], inner(a, k, b)
    slope = c * a * k
    if name == "^":
        n = 3 + int(next(draws) * 4)
        return (c, f"({inside})^{n}"), [(n * slope, times(power(k - 1), f"({inside})^{n - 1}"))]
    function = c, applied(name, inside)
    if name == "ln":
        return function, [(slope, f"{power(k - 1)}/({inside})")]
    sign, other = _OUTER[name]
    return function, [(sign * slope, times(power(k - 1), applied(other, inside)))]


_TERMS = {
    "powers": _powers,
    "functions": _functions,
    "products": _products,
    "quotients": _quotients,
    "chains": _chains,
}

register("palaestra/Derivative-v0", f"{__name__}:Derivative")
