"""palaestra/DecimalArithmetic-v0: decimals, with exact results or, after a division, rounded ones."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from .precedence import apply_operator, evaluate_in_order, format_expression, order_free_key


class DecimalArithmetic(Question):
    """Compute an expression of decimals.

    Description:
        Positive decimals joined by +, -, * and at most one /; products and quotients bind first, all from left to
        right. Without / the answer is the exact result; with / it is the result, rounded once at the end to ``places``
        decimals, halves away from zero. The answer is never a whole number.

    Parameters:
        terms (2 to 5, on request up to 12): number of numbers.
        places (1 to 4, on request up to 8): decimals of every number; the last is not 0.
        digits (1 to 4, on request up to 10): digits before the point, at most; one number has exactly this many.
        operations ("+-", "+-*", "+-*/"): the operators that may occur; the last one listed occurs at least once.

    Observation:
        Text such as ``What is 3.7 + 2.5 * 0.4? Answer with the exact decimal.``

    Actions:
        Text with one number (``4.7``; trailing zeros do not matter), read in ``answer_format``.

    Reward:
        1 for the exact value, or, if rounding is asked for, the exactly rounded value; 0 otherwise.

    Termination:
        After the first answer.

    Source:
        School arithmetic; generated here.
    """

    param_space = ParamSpace(
        [
            IntAxis("terms", 2, 5, limits=(2, 12)),
            IntAxis("places", 1, 4, limits=(1, 8)),
            IntAxis("digits", 1, 4, limits=(1, 10)),
            ChoiceAxis("operations", ("+-", "+-*", "+-*/")),
        ]
    )
    verifier = "number"

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        terms, places, operations = params["terms"], params["places"], params["operations"]
        while True:
            draws = rng.random(4 * terms + 1).tolist()
            longest = int(draws[-1] * terms)
            values = [
                _draw_number(params["digits"], places, draws[4 * i : 4 * i + 3], full=i == longest)
                for i in range(terms)
            ]
            # At most one division: its place is drawn separately.
            common = operations.rstrip("/")
            operators = [common[int(draws[4 * i + 3] * len(common))] for i in range(terms - 1)]
            operators[int(draws[4 * terms - 1] * (terms - 1))] = operations[-1]
            exact = evaluate_in_order(values, operators, apply_operator)[-1][3]
            result = _round(exact, places) if "/" in operations else exact
            if result.denominator > 1:
                break
        expression = format_expression([_format_decimal(value, places) for value in values], operators)
        request = "Answer with the exact decimal."
        if "/" in operations:
            request = (
                f"Round only the final result, to {_format_places(places)} (halves away from zero). "
                "Answer with the rounded decimal."
            )
        return Task(
            f"What is {expression}? {request}",
            str(result),
            solution=_format_exact(result),
            content=expression,
            split_key=f"{places} {order_free_key(values, operators)}",
            data=(values, operators, places),
            terse=f"{expression} = ? {request}",
        )

    def solution_steps(self, task: Task) -> list[str]:
        """List one operation per line; values that are not finite decimals are written as fractions."""
        values, operators, places = task.data
        done = evaluate_in_order(values, operators, apply_operator)
        lines = [
            f"{_format_exact(a)} {operator} {_format_exact(b)} = {_format_exact(result)}"
            for a, operator, b, result in done
        ]
        if "/" in operators:
            lines.append(f"{_format_exact(done[-1][3])} rounded to {_format_places(places)} = {self.oracle(task)}")
        return [*lines, self.oracle(task)]


def _format_places(places: int) -> str:
    return "1 decimal" if places == 1 else f"{places} decimals"


def _draw_number(digits: int, places: int, draws: list[float], full: bool) -> Fraction:
    """Draw a decimal with exactly ``places`` decimals and at most (``full``: exactly) ``digits`` digits before them."""
    length = digits if full else 1 + int(draws[0] * digits)
    low = 10 ** (length - 1) if full or length > 1 else 0
    whole = low + int(draws[1] * (10**length - low))
    # Tails from 1 to 10**places - 1 whose last digit is not 0: nine out of each ten.
    index = int(draws[2] * 9 * 10 ** (places - 1))
    tail = index // 9 * 10 + index % 9 + 1
    return Fraction(whole * 10**places + tail, 10**places)


def _round(value: Fraction, places: int) -> Fraction:
    """Round ``value`` to ``places`` decimals, halves away from zero."""
    scale = 10**places
    units = (2 * abs(value.numerator) * scale + value.denominator) // (2 * value.denominator)
    return Fraction(units if value > 0 else -units, scale)


def _format_decimal(value: Fraction, places: int) -> str:
    """Write ``value``, a multiple of ``10**-places``, with exactly this many decimals."""
    units = abs(value.numerator) * (10**places // value.denominator)
    digits = str(units).rjust(places + 1, "0")
    return f"{'-' * (value < 0)}{digits[:-places]}.{digits[-places:]}"


def _format_exact(value: Fraction) -> str:
    """Write the shortest exact form: a whole number or a finite decimal, else ``(p/q)``."""
    twos, rest = 0, value.denominator
    while rest % 2 == 0:
        twos, rest = twos + 1, rest // 2
    fives = 0
    while rest % 5 == 0:
        fives, rest = fives + 1, rest // 5
    if rest > 1:
        return f"({value})"
    return _format_decimal(value, max(twos, fives)) if value.denominator > 1 else str(value)


register("palaestra/DecimalArithmetic-v0", f"{__name__}:DecimalArithmetic")
