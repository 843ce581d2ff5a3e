r"""Verifier "text": equality of texts after a normalisation, which `verify_text` states in full."""

from __future__ import annotations

import unicodedata

from ...errors import InputError
from ..answers.numbers import WIDE
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

MAX_LENGTH = 10_000
MAX_WRAPPERS = 4
_WRAPPERS = (
    *(("$", "$"), ("**", "**"), ("*", "*"), ('"', '"'), ("`", "`")),
    *((f"\\{name}{{", "}") for name in ("text", "textbf", "textit", "textrm", "mathrm", "mbox", "boxed")),
)


_TYPOGRAPHY = {
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b\u2032\u02bc"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb"), '"'),
    **dict.fromkeys(map(ord, "\u2010\u2011\u2012\u2013\u2014\u2212\ufe63"), "-"),
    **dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"), ""),
    **str.maketrans(WIDE),
    ord("\u2026"): "...",
}


@VERIFIERS.register("text")
def verify_text(answer: str, reference: str, *, ignore_case: bool = True) -> Verdict:
    r"""Check that ``answer`` and ``reference`` are the same text.

    Both are brought to Unicode normal form C, runs of white space become one space, the ends are stripped, and case is
    folded unless ``ignore_case`` is False. Kinds of quotation marks and hyphens, characters of double width and those
    without width make no difference. ``\text{}`` and its like, ``\boxed{}``, ``$ $``, ``** **`` or quotation marks
    around the whole text, and full stops and exclamation marks after it, do not count. Other punctuation and accents
    count. An answer is malformed if it is empty, or longer than 10,000 characters plus four times the reference.

    Raises:
        InputError: the reference is not text, or is blank.
    """
    if not isinstance(reference, str) or not reference.strip():
        raise InputError(f"the text verifier needs text that is not blank as reference, not {reference!r}.")
    if len(answer) > 4 * len(reference) + MAX_LENGTH:
        return rejected("The answer is far longer than a correct one.")
    given = normalise(answer, ignore_case)
    if not given:
        return rejected("The answer is empty.")
    gold = normalise(reference, ignore_case)
    return CORRECT if given == gold or _bare(given) == _bare(gold) else WRONG


def _bare(text: str) -> str:
    """Remove wrappers around all of ``text`` and a full stop or exclamation mark after it, unless nothing remains."""
    for _ in range(MAX_WRAPPERS):
        inner = text[:-1].rstrip() if text.endswith((".", "!")) and not text.endswith("..") else text
        for left, right in _WRAPPERS:
            within = inner[len(left) : -len(right)]
            if within and inner.startswith(left) and inner.endswith(right) and not (left in within or right in within):
                inner = within.strip()
                break
        if inner in ("", text):
            return text
        text = inner
    return text


def normalise(text: str, ignore_case: bool = True) -> str:
    """Bring text to Unicode normal form C with single spaces, stripped, and with case folded if ``ignore_case``.
    Quotation marks, hyphens and characters of double width become plain ones; characters without width are removed."""
    text = " ".join(unicodedata.normalize("NFC", text.translate(_TYPOGRAPHY)).split())
    # Folding can decompose a character, hence the second composition.
    return unicodedata.normalize("NFC", text.casefold()) if ignore_case else text
