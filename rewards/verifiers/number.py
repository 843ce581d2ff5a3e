"""Verifier "number": exact rationals, written as an integer, a decimal or a fraction."""

from __future__ import annotations

from fractions import Fraction

from ...errors import InputError
from ..answers.numbers import parse_number
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected


@VERIFIERS.register("number")
def verify_number(answer: str, reference: int | str | Fraction) -> Verdict:
    """Check that ``answer`` is exactly the rational number ``reference``.

    Accepted: ``-3``, ``0.75``, ``.75``, ``3/4`` (blanks around the slash, any multiple such as ``6/8``), with a sign
    before and white space around; ASCII digits only. Refused as malformed: exponents, percent signs, separators, units,
    words, a denominator of zero, and more than 1,000 characters. A rounded decimal is not equal.

    Raises:
        InputError: the reference is neither int nor Fraction nor a string in this grammar (a float is not exact).
    """
    if isinstance(reference, str):
        gold = parse_number(reference)
    else:
        exact = isinstance(reference, (int, Fraction)) and not isinstance(reference, bool)
        gold = Fraction(reference) if exact else None
    if gold is None:
        raise InputError(f"the number verifier needs an int, a Fraction or '3/4' as reference, not {reference!r}.")
    value = parse_number(answer)
    if value is None:
        return rejected("The answer must be one number, such as -3, 0.75 or 3/4.")
    return CORRECT if value == gold else WRONG
