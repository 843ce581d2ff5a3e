"""Verifier "integer": exact, with a strict grammar of a sign and digits."""

from __future__ import annotations

import re

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

# ASCII digits only: str.isdigit and \d also accept other scripts' digits, and int() underscores and inner spaces.
_INTEGER = re.compile(r"[+-]?[0-9]+")
MAX_LENGTH = 1_000


@VERIFIERS.register("integer")
def verify_integer(answer: str, reference: int) -> Verdict:
    """Check that ``answer`` is the integer ``reference``.

    Accepted: an optional sign and ASCII digits, with white space around; leading zeros do not matter. Refused as
    malformed: anything else (thousands separators, decimals, units, words), and more than 1,000 characters.

    Raises:
        InputError: the reference is not an int.
    """
    if isinstance(reference, bool) or not isinstance(reference, int):
        raise InputError(f"the integer verifier needs an int as reference, not {reference!r}.")
    # Far longer answers are refused unread, so that time is bounded.
    text = answer.strip() if len(answer) <= 2 * MAX_LENGTH else ""
    if len(text) > MAX_LENGTH or not _INTEGER.fullmatch(text):
        return rejected("The answer must be one integer, such as -42.")
    return CORRECT if int(text) == reference else WRONG
