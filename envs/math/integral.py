"""palaestra/Integral-v0: an antiderivative of an elementary function."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.phrases import strip_statement
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .derivative import function_text, inner_function, join_factors, power_of_x
from .elementary_functions import Functions, read_reference
from .polynomials import nonzero_integer
from .symbolic_answers import UnreadableAnswer, format_sum, read_expression

# A coefficient and its factor.
Term = tuple[int | Fraction, str]

RULES = ("powers", "functions", "substitution", "parts")
CONSTANTS = "CcKk"
# The antiderivative of an outer function: its sign and name.
_OUTER = {"sin": (-1, "cos"), "cos": (1, "sin"), "e": (1, "e")}


class Integral(Question):
    """Find an antiderivative of a function of x.

    Description:
        A sum of terms: powers of x; sines, cosines and exponentials of multiples of x, and 1/x; derivatives, by the
        chain rule, of functions of ``a*x^k + b``; products of powers with sines, cosines, exponentials and ln(x), to be
        integrated by parts. The function is never its own antiderivative.

    Parameters:
        terms (2 to 4, on request 1 to 8): number of terms.
        rule ("powers", "functions", "substitution", "parts"): the kinds of terms that may occur: the one named, at
            least once, and all listed before it.
        size (9 to 20, on request 2 to 1000): the largest absolute value of a coefficient.

    Observation:
        Text such as ``Find an antiderivative of f(x) = 3*x^2 - 5*sin(2*x) for x > 0. ...``

    Actions:
        Text with one expression, in plain mathematics or LaTeX, with or without ``+ C``, read in ``answer_format``.

    Reward:
        1 for an expression whose derivative equals the function, 0 otherwise. The expression may use x, numbers,
        + - * / ^, e, ln, trigonometric and hyperbolic functions, and one of C, c, K and k as a constant; operators that
        stand for a computation, such as ``Integral(...)``, are refused.

    Termination:
        After the first answer.

    Source:
        School calculus; generated here.
    """

    param_space = ParamSpace(
        [IntAxis("terms", 2, 4, limits=(1, 8)), ChoiceAxis("rule", RULES), IntAxis("size", 9, 20, limits=(2, 1000))]
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
        return Task(
            f"Find an antiderivative of f(x) = {question} for x > 0. Answer with an expression in x, such as "
            "2*x^3 - (1/2)*e^(2*x); a constant C may be added.",
            question,
            solution=format_sum(term for _, antiderivative in pairs for term in antiderivative),
            content=format_sum(sorted(function for function, _ in pairs)),
            data=pairs,
        )

    def verify(self, task: Task, answer: str) -> Verdict:
        functions = Functions(CONSTANTS)
        try:
            found = functions.derivative(functions.read(read_expression(strip_statement(answer))))
            right = functions.equal(found, read_reference(task.reference))
        except UnreadableAnswer as error:
            return Verdict(0.0, False, feedback=str(error)[:300], malformed=True)
        return Verdict(float(right), right, feedback="Correct." if right else "Its derivative is not the function.")

    def solution_steps(self, task: Task) -> list[str]:
        """List an antiderivative of each term."""
        lines = [f"({format_sum(terms)})' = {format_sum([function])}" for function, terms in task.data]
        return [*lines, self.oracle(task)]


def _powers(draws: Iterator[float], size: int, most: int = 0) -> tuple[Term, list[Term]]:
    c, n = nonzero_integer(next(draws), size), 1 + int(next(draws) * max(8, most))
    return (c, power_of_x(n)), [(Fraction(c, n + 1), power_of_x(n + 1))]


def _functions(draws: Iterator[float], size: int) -> tuple[Term, list[Term]]:
    c, a, name = (
        nonzero_integer(next(draws), size),
        2 + int(next(draws) * 8),
        ("sin", "cos", "e", "ln")[int(next(draws) * 4)],
    )
    if name == "ln":
        return (c, "/x"), [(c, "ln(x)")]
    sign, other = _OUTER[name]
    return (c, function_text(name, inner_function(a))), [
        (Fraction(sign * c, a), function_text(other, inner_function(a)))
    ]


def _substitution(draws: Iterator[float], size: int) -> tuple[Term, list[Term]]:
    """Make x^(k-1) times a function of a x^k + b."""
    c, a, b, k = (
        nonzero_integer(next(draws), size),
        2 + int(next(draws) * 4),
        1 + int(next(draws) * 9),
        2 + int(next(draws) * 2),
    )
    name, inside = ("sin", "cos", "e", "ln", "^")[int(next(draws) * 5)], inner_function(a, k, b)
    share = Fraction(c, a * k)
    if name == "^":
        n = 2 + int(next(draws) * 4)
        return (c, join_factors(power_of_x(k - 1), f"({inside})^{n}")), [(share / (n + 1), f"({inside})^{n + 1}")]
    if name == "ln":
        return (c, f"{power_of_x(k - 1)}/({inside})"), [(share, f"ln({inside})")]
    sign, other = _OUTER[name]
    return (c, join_factors(power_of_x(k - 1), function_text(name, inside))), [
        (sign * share, function_text(other, inside))
    ]


def _parts(draws: Iterator[float], size: int) -> tuple[Term, list[Term]]:
    """Make x^n times a function."""
    c, a, n = nonzero_integer(next(draws), size), 2 + int(next(draws) * 4), 1 + int(next(draws) * 3)
    name = ("sin", "cos", "e", "ln")[int(next(draws) * 4)]
    if name == "ln":
        share = Fraction(c, n + 1)
        return (c, join_factors(power_of_x(n), "ln(x)")), [
            (share, join_factors(power_of_x(n + 1), "ln(x)")),
            (-share / (n + 1), power_of_x(n + 1)),
        ]
    function, terms = (c, join_factors(power_of_x(n), function_text(name, inner_function(a)))), list[Term]()
    factor = Fraction(c)
    # Integrate by parts: differentiate the power, integrate the other factor, alternate the sign.
    while n >= 0:
        sign, name = _OUTER[name]
        factor *= Fraction(sign, a)
        terms.append((factor, join_factors(power_of_x(n), function_text(name, inner_function(a)))))
        factor *= -n
        n -= 1
    return function, terms


_TERMS = {"powers": _powers, "functions": _functions, "substitution": _substitution, "parts": _parts}

register("palaestra/Integral-v0", f"{__name__}:Integral")
