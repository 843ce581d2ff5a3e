"""Verifier "first-word": the first word of the answer must be the right one, as for graph questions in Guru."""

from __future__ import annotations

import re

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

MAX_LENGTH = 10_000
_WORD = re.compile(r"[^\W_][\w-]*")


@VERIFIERS.register("first-word")
def verify_first_word(answer: str, reference: str, *, ignore_case: bool = True) -> Verdict:
    """Check that the first word of ``answer`` is ``reference`` (Guru, arXiv 2506.14965).

    A word is a run of letters, digits, underscores and hyphens that begins with a letter or digit. Only the whole first
    word counts, so that listing several words gains nothing.

    Args:
        answer: the text; more than 10,000 characters are refused unread.
        reference: one word of at most 100 characters.
        ignore_case: compare without regard to case.

    Raises:
        InputError: the reference is not one word.
    """
    if not isinstance(reference, str) or len(reference) > 100 or not _WORD.fullmatch(reference):
        raise InputError(f"the first-word verifier needs one word as reference, not {reference!r}.")
    match = _WORD.search(answer) if len(answer) <= MAX_LENGTH else None
    if match is None:
        return rejected("The answer must begin with one word.")
    word = match[0]
    same = word.casefold() == reference.casefold() if ignore_case else word == reference
    return CORRECT if same else WRONG
