"""Exact evaluation of lines such as ``3x + 4 = 19`` or ``12 * 4 + 7 = 48 + 7 = 55``.

The input is a line of a task or of its solution, which is trusted, and numbers to insert. The result is True, False, or
None for a line that is not an equation. The grammar has sums of products of numbers, x, powers with a small whole
exponent, and parentheses.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache

NUMBER = re.compile(r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?![.]?[0-9])")
BLANK = "#"
MAX_LENGTH = 1_000
MAX_EXPONENT = 64
MAX_BITS = 20_000
MAX_DEPTH = 40
_TOKEN = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|[-+*/^()x#])")


class _NotInGrammar(ValueError):
    """Raised for a line that is not in the grammar, or has too large a value."""


@lru_cache(maxsize=8192)  # the same few lines are tried again whenever an environment is made
def equality_holds(line: str, blank: Fraction = Fraction(0), x: Fraction | None = None) -> bool | None:
    """Return True if all sides of an equation are equal.

    Args:
        line: two or more sides joined by "=".
        blank: the value of each ``#``.
        x: the value of x; None rejects lines with x.

    Returns:
        None if the line is not in the grammar, has only one side, or divides by zero.
    """
    sides = line.split("=")
    if len(sides) < 2 or len(line) > MAX_LENGTH:
        return None
    try:
        values = [_Evaluator(side, blank, x).value() for side in sides]
    except (_NotInGrammar, ZeroDivisionError):
        return None
    return all(value == values[0] for value in values)


def evaluate(text: str, x: Fraction | None = None) -> Fraction | None:
    """Return the value of one side of an equation, or None if it is not in the grammar or divides by zero.

    Args:
        text: the side.
        x: the value of x; None rejects a side with x.
    """
    try:
        return _Evaluator(text, Fraction(0), x).value() if len(text) <= MAX_LENGTH else None
    except (_NotInGrammar, ZeroDivisionError):
        return None


class _Evaluator:
    """Recursive descent with one token of look-ahead; it evaluates as it goes."""

    def __init__(self, text: str, blank: Fraction, x: Fraction | None):
        self._tokens = _tokenise(text)
        self._names = {"#": blank, "x": x}
        self._place = 0
        self._depth = 0

    def value(self) -> Fraction:
        total = self._sum()
        if self._place < len(self._tokens):
            raise _NotInGrammar
        return total

    def _peek(self) -> str:
        return self._tokens[self._place] if self._place < len(self._tokens) else ""

    def _next(self) -> str:
        token = self._peek()
        self._place += 1
        return token

    def _sum(self) -> Fraction:
        total = self._product()
        while self._peek() in ("+", "-"):
            total = total + self._product() if self._next() == "+" else total - self._product()
        return total

    def _product(self) -> Fraction:
        product = self._signed_power()
        while True:
            token = self._peek()
            if token in ("*", "/"):
                self._next()
                factor = self._signed_power()
                product = product * factor if token == "*" else product / factor
            elif token in ("x", "("):
                product *= self._power()
            else:
                return _check_size(product)

    def _signed_power(self) -> Fraction:
        if self._peek() == "-":
            self._next()
            return -self._power()
        return self._power()

    def _power(self) -> Fraction:
        base = self._atom()
        if self._peek() != "^":
            return base
        self._next()
        exponent = self._atom()
        if exponent.denominator != 1 or not 0 <= exponent <= MAX_EXPONENT:
            raise _NotInGrammar
        return _check_size(base ** int(exponent))

    def _atom(self) -> Fraction:
        token = self._next()
        if token == "(":
            self._depth += 1
            if self._depth > MAX_DEPTH:
                raise _NotInGrammar
            inside = self._sum()
            if self._next() != ")":
                raise _NotInGrammar
            self._depth -= 1
            return inside
        if token in self._names:
            value = self._names[token]
            if value is None:
                raise _NotInGrammar
            return value
        if not token[:1].isdigit():
            raise _NotInGrammar
        return Fraction(token)


def _tokenise(text: str) -> list[str]:
    tokens, place, text = [], 0, text.rstrip()
    while place < len(text):
        match = _TOKEN.match(text, place)
        if match is None:
            raise _NotInGrammar
        tokens.append(match[1])
        place = match.end()
    return tokens


def _check_size(value: Fraction) -> Fraction:
    if value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        raise _NotInGrammar
    return value
