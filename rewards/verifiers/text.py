r"""The verifier "text": equality after a normalisation that is stated and nothing more."""

from __future__ import annotations

import unicodedata

from ...errors import InputError
from ..verdict import Verdict
from .registry import CORRECT, VERIFIERS, WRONG, rejected

MAX_LENGTH = 10_000
MAX_WRAPPERS = 4
_WRAPPERS = (
    *(("$", "$"), ("**", "**")),
    *((f"\\{name}{{", "}") for name in ("text", "textbf", "textit", "textrm", "mathrm", "mbox", "boxed")),
)


@VERIFIERS.register("text")
def verify_text(answer: str, reference: str, *, ignore_case: bool = True) -> Verdict:
    r"""Check that ``answer`` and ``reference`` are the same text.

    Both are brought to Unicode normal form C, runs of white space become one space, the ends are stripped, and case is
    folded unless ``ignore_case`` is False. ``\text{}`` and its like, ``\boxed{}``, ``$ $`` or ``** **`` around all of
    it and one full stop behind it do not count. Nothing else is forgiven: other punctuation counts. An answer that is
    empty, or far longer than the reference could be (10,000 characters beyond four times its length), is malformed.

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
    """Remove wrappers and a full stop around all of ``text``, unless nothing would remain."""
    for _ in range(MAX_WRAPPERS):
        inner = text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text
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
    """Bring text to normal form C with single spaces, stripped, and with case folded if ``ignore_case``."""
    text = " ".join(unicodedata.normalize("NFC", text).split())
    # Folding can decompose a character, hence the second composition.
    return unicodedata.normalize("NFC", text.casefold()) if ignore_case else text
