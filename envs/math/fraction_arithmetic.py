"""palaestra/FractionArithmetic-v0: sums, differences, products and quotients of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from ...rewards import Verdict
from ...rewards.answers.numbers import plain_number
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .precedence import apply_operator, evaluate_in_order, format_expression, order_free_key


class FractionArithmetic(Question):
    """Compute an expression of fractions.

    Description:
        Positive fractions in lowest terms joined by +, -, * and /; products and quotients bind first, all from left to
        right. The result is never a whole number.

    Parameters:
        terms (2 to 5, on request up to 12): number of fractions.
        size (9 to 99, log-spaced, on request 5 to 9999): the largest numerator and denominator.
        operations ("*", "*/", "+-", "+-*/"): the operators that may occur; the last one listed occurs at least once.
        form ("any", "lowest"): the answer may be any exact number, or must be a fraction in lowest terms.

    Observation:
        Text such as ``What is (3/4) - (5/6) * (1/2)? Answer with a fraction p/q.``

    Actions:
        Text with one number (``-7/12``; with form "any" also ``-14/24`` or ``0.75``), read in ``answer_format``.

    Reward:
        1 for the exact value in the form asked for, 0 otherwise.

    Termination:
        After the first answer.

    Source:
        School arithmetic; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("terms", 2, 5, limits=(2, 12)),
            IntAxis("size", 9, 99, log=True, limits=(5, 9999)),
            ChoiceAxis("operations", ("*", "*/", "+-", "+-*/")),
            ChoiceAxis("form", ("any", "lowest")),
        ]
    )
    verifier = "number"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        terms, size, operations = params["terms"], params["size"], params["operations"]
        while True:
            draws = rng.random(3 * terms).tolist()
            values = [_draw_fraction(draws[i], draws[terms + i], size) for i in range(terms)]
            operators = [operations[int(u * len(operations))] for u in draws[2 * terms : 3 * terms - 1]]
            operators[int(draws[3 * terms - 1] * (terms - 1))] = operations[-1]
            result = evaluate_in_order(values, operators, apply_operator)[-1][3]
            if result.denominator > 1:
                break
        expression = format_expression([f"({value})" for value in values], operators)
        lowest = params["form"] == "lowest"
        form = "a fraction p/q in lowest terms" if lowest else "a fraction p/q"
        data = (values, operators, lowest)
        key = order_free_key([f"({value})" for value in values], operators)
        prompt, terse = f"What is {expression}? Answer with {form}.", f"{expression} = ? Answer with {form}."
        return Task(prompt, str(result), content=expression, split_key=key, data=data, terse=terse)

    def verify(self, task: Task, answer: str) -> Verdict:
        verdict = super().verify(task, answer)
        if (
            verdict.success
            and task.data[2]
            and "".join((plain_number(answer, stated=True) or "").split()) != task.reference
        ):
            return Verdict(0.0, False, feedback="The value is right, but it is not a fraction p/q in lowest terms.")
        return verdict

    def solution_steps(self, task: Task) -> list[str]:
        """List one operation per line, with a common denominator or an inverted divisor."""
        values, operators, _ = task.data
        return [
            *(_format_step(*done) for done in evaluate_in_order(values, operators, apply_operator)),
            self.oracle(task),
        ]


def _draw_fraction(u: float, v: float, size: int) -> Fraction:
    """Draw a fraction that is not whole, its numerator and denominator at most ``size``."""
    denominator = 2 + int(u * (size - 1))
    numerator = 1 + int(v * size)
    # Take the next coprime numerator; if there is none, use the denominator less 1, which is always coprime.
    while numerator <= size and math.gcd(numerator, denominator) > 1:
        numerator += 1
    return Fraction(numerator if numerator <= size else denominator - 1, denominator)


def _format_step(a: Fraction, operator: str, b: Fraction, result: Fraction) -> str:
    """Write one operation with its intermediate form: ``(1/2) + (1/3) = 3/6 + 2/6 = 5/6``."""
    if operator in "+-":
        common = math.lcm(a.denominator, b.denominator)
        p, q = a.numerator * (common // a.denominator), b.numerator * (common // b.denominator)
        unreduced = p + q if operator == "+" else p - q
        middle = f"{p}/{common} {operator} {q}/{common} = {unreduced}/{common}"
    else:
        other = b if operator == "*" else 1 / b
        turned = "" if operator == "*" else f"({a}) * ({other}) = "
        middle = f"{turned}{a.numerator * other.numerator}/{a.denominator * other.denominator}"
    reduced = "" if middle.endswith(f" {result}") or middle == str(result) else f" = {result}"
    return f"({a}) {operator} ({b}) = {middle}{reduced}"


register("palaestra/FractionArithmetic-v0", f"{__name__}:FractionArithmetic")
