"""Readers of answers that are expressions, by the grammar of the verifier "math", and a writer of sums.

An expression is plain nested data: a number is a `Fraction`, a variable its name, everything else a tuple of an
operation and its operands: ``2x + 1`` is ``("+", ("*", 2, "x"), 1)``. Nothing is evaluated, so that calls such as
``expand(...)`` or ``Integral(...)`` are not accepted as answers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, TypeAlias

Expression: TypeAlias = "Fraction | str | tuple[Any, ...]"

MAX_LENGTH = 2_000
# Split "xcos(2x)", which is a product and not a function name.
_TOUCHING = re.compile(r"x(?=(?:sin|cos|tan|sec|ln|exp)\b)")


class UnreadableAnswer(ValueError):
    """Raised for an answer that does not have the required form; the message is one sentence of feedback."""


def parse_answer(answer: str) -> Any:
    """Parse ``answer`` into the classes of the verifier's grammar.

    Raises:
        UnreadableAnswer: the text is outside the grammar, or too long.
    """
    if len(answer) > MAX_LENGTH:
        raise UnreadableAnswer(f"The answer is longer than {MAX_LENGTH:,} characters.")
    # Import the grammar only here: it is slow to load, and most programs never need it.
    from ...rewards.verifiers.mathematics.grammar import read
    from ...rewards.verifiers.mathematics.tree import Malformed

    try:
        return read(answer)
    except Malformed as error:
        raise UnreadableAnswer(str(error)) from None
    except RecursionError:
        raise UnreadableAnswer("The expression is nested too deeply.") from None


def read_expression(answer: str) -> Expression:
    """Return the single expression in ``answer``, perhaps after ``F(x) =``.

    Raises:
        UnreadableAnswer: the text is outside the grammar, or is no single expression.
    """
    value = parse_answer(_TOUCHING.sub("x*", answer))
    sides = getattr(value, "sides", ())
    if len(sides) == 2 and value.operators == ("=",) and str(getattr(sides[0], "name", "")).endswith("(x)"):
        value = sides[1]
    try:
        return _to_tuple(value)
    except RecursionError:
        raise UnreadableAnswer("The expression is nested too deeply.") from None


def _to_tuple(value: Any) -> Expression:
    if hasattr(value, "op"):
        return (value.op, *map(_to_tuple, value.args))
    if hasattr(value, "name"):
        return value.name
    if type(value).__name__ == "Num":
        return value.value
    raise UnreadableAnswer("The answer must be a single expression.")


def format_sum(terms: Iterable[tuple[int | Fraction, str]], times: str = "*") -> str:
    """Write a sum as text: ``[(3, "x^2"), (-1, "x"), (Fraction(1, 2), "")]`` becomes ``3*x^2 - x + 1/2``.

    Args:
        terms: pairs of a coefficient and its factor, which may begin with a slash (``"/x"``); zeros are left out.
        times: the text between coefficient and factor.
    """
    text = ""
    for coefficient, body in terms:
        if not coefficient:
            continue
        size = abs(coefficient)
        if not body:
            term = str(size)
        elif size == 1:
            term = f"1{body}" if body[0] == "/" else body
        else:
            number = str(size) if size.denominator == 1 else f"({size})"
            term = f"{number}{body}" if body[0] == "/" else f"{number}{times}{body}"
        sign = "-" if coefficient < 0 else "+"
        text += f" {sign} {term}" if text else term if sign == "+" else f"-{term}"
    return text or "0"
