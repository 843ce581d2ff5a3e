"""Verifier "countdown": an arithmetic expression over given numbers that must reach a target exactly.

Only this module's grammar reads the answer: no ``eval``, ``ast`` or computer algebra.

    expression = term (("+" | "-") term)*
    term       = factor (("*" | "/") factor)*
    factor     = number | "(" expression ")"

The grammar has no sign, power or equals sign. Values are exact rationals; as each given number may be used once, the
work and the size of all intermediate results are bounded by the task and not by the answer.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, rejected

MAX_LENGTH = 1_000
MAX_DEPTH = 50
_TOKEN = re.compile(r"[ \t]*([0-9]{1,18}(?![0-9])|[-+*/()])")


class ExpressionError(ValueError):
    """Error for a text that is not an expression over the given numbers; the message is one sentence for the agent."""


@VERIFIERS.register("countdown")
def verify_countdown(answer: str, reference: Mapping[str, Any]) -> Verdict:
    """Check that ``answer`` is an expression over the given numbers, each used at most once, that equals the target.

    Args:
        answer: an expression such as ``(25 - 5) * 3``, with ASCII digits, + - * / and parentheses. A trailing ``= 60``
            is refused as malformed.
        reference: ``{"numbers": [25, 5, 3], "target": 60}``, positive ints.

    Raises:
        InputError: the reference is not of this form.
    """
    numbers, target = _check_reference(reference)
    try:
        value = evaluate_expression(answer, numbers)
    except ExpressionError as error:
        return rejected(str(error))
    if value != target:
        return Verdict(0.0, False, feedback=f"The expression does not equal {target}.")
    return CORRECT


def evaluate_expression(text: str, numbers: Sequence[int]) -> Fraction:
    """Compute the exact value of an expression over ``numbers``, each used at most once.

    Raises:
        ExpressionError: the text is not in the grammar, too long or too deep, uses a number too often, or divides by
            zero.
    """
    if len(text) > MAX_LENGTH:
        raise ExpressionError(f"The expression is longer than {MAX_LENGTH} characters.")
    return _Parser(text, numbers).parse()


class _Parser:
    """Recursive descent with one token of look-ahead, evaluating while it reads."""

    def __init__(self, text: str, numbers: Sequence[int]):
        self._tokens = _tokens(text)
        self._token = next(self._tokens)
        self._left = Counter(numbers)
        self._depth = 0

    def parse(self) -> Fraction:
        value = self._expression()
        if self._token:
            raise ExpressionError(f"There is an unexpected {self._token!r} in the expression.")
        return value

    def _next(self) -> str:
        token, self._token = self._token, next(self._tokens)
        return token

    def _expression(self) -> Fraction:
        value = self._term()
        while self._token in ("+", "-"):
            value = value + self._term() if self._next() == "+" else value - self._term()
        return value

    def _term(self) -> Fraction:
        value = self._factor()
        while self._token in ("*", "/"):
            if self._next() == "*":
                value *= self._factor()
                continue
            divisor = self._factor()
            if divisor == 0:
                raise ExpressionError("The expression divides by zero.")
            value /= divisor
        return value

    def _factor(self) -> Fraction:
        token = self._next()
        if token == "(":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise ExpressionError(f"The parentheses are nested more than {MAX_DEPTH} deep.")
            value = self._expression()
            if self._next() != ")":
                raise ExpressionError("A parenthesis is not closed.")
            self._depth -= 1
            return value
        if not token.isdigit():
            wrong = f"A number is missing before {token!r}." if token else "The expression is incomplete."
            raise ExpressionError(wrong)
        number = int(token)
        if not self._left[number]:
            raise ExpressionError(f"The number {number} is not given, or is used more often than given.")
        self._left[number] -= 1
        return Fraction(number)


def _tokens(text: str) -> Iterator[str]:
    """Yield the tokens, then empty strings forever."""
    text = text.strip()
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise ExpressionError("Only + - * / ( ) and the given numbers may occur in the expression.")
        position = match.end()
        yield match[1]
    while True:
        yield ""


def _check_reference(reference: Any) -> tuple[list[int], int]:
    if isinstance(reference, Mapping) and set(reference) >= {"numbers", "target"}:
        numbers, target = reference["numbers"], reference["target"]
        usable = isinstance(numbers, Sequence) and len(numbers) > 0
        if usable and all(isinstance(n, int) and not isinstance(n, bool) and n > 0 for n in [*numbers, target]):
            return list(numbers), target
    raise InputError(
        f"the countdown verifier needs {{'numbers': [25, 5, 3], 'target': 60}} as reference, not {reference!r}."
    )
