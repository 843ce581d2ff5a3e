"""Fast path for the most frequent answers: short plain numbers, read without the grammar."""

from __future__ import annotations

import re
from fractions import Fraction

_PLAIN = re.compile(r"\s{0,9}(-?)([0-9]{1,40})(?:\.([0-9]{0,40}))?(?:/([0-9]{1,40}))?\s{0,9}")


def read_short_number(text: str) -> Fraction | None:
    """Read a short text of digits, a decimal or a fraction of digits; None for any other text."""
    match = _PLAIN.fullmatch(text)
    if match is None:
        return None
    sign, whole, places, below = match.groups()
    if below is not None:
        if places is not None or not int(below):
            return None
        value = Fraction(int(whole), int(below))
    elif places:
        value = Fraction(int(whole + places), 10 ** len(places))
    else:
        value = Fraction(int(whole))
    return -value if sign else value
