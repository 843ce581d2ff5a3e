"""Readers of numbers as the answer to a word problem: "#### 72", "$72", "**72**", "72 clips", "1,200.50".

Every scan is linear in the length of the text, and nothing is evaluated.
"""

from __future__ import annotations

import re
from fractions import Fraction

from ...rewards.verifiers.number import parse_number
from .sentences import last_sentence

MAX_LENGTH = 200
MAX_WRAPPERS = 8
_WRAPPERS = (
    *(("$", "$"), ("**", "**"), ("*", "*"), ("`", "`"), (r"\(", r"\)"), (r"\[", r"\]"), ("(", ")"), ("[", "]")),
    *(('"', '"'), ("'", "'"), (r"\boxed{", "}"), ("<answer>", "</answer>")),
)
_LABEL = re.compile(r"#+|(?:(?:so|thus|therefore|hence),? )?(?:the )?(?:final |correct )?answer(?: is)? ?[:=]? ?", re.I)
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\{([^{}]{0,100})\}")
_AMOUNT = re.compile(
    r"(?P<sign>[+-]?) ?(?P<currency>[$\u20ac\u00a3\u00a5]?) ?(?P<behind>[+-]?)"
    r"(?P<number>[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]+ ?/ ?[0-9]+|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r" ?(?P<tail>%|[$\u20ac\u00a3\u00a5]|[A-Za-z][A-Za-z -]*)?"
)
_WORD = re.compile(r"[a-z]+|%")
# Words that change the number before them, or state another number; they are not units.
_NOT_UNITS = {
    *("hundred", "thousand", "million", "billion", "trillion", "dozen", "score", "half", "halves", "third", "quarter"),
    *("fourth", "fifth", "tenth", "squared", "cubed", "twice", "double", "triple", "e", "or", "and", "to", "plus"),
    *("minus", "not", "no", "less", "more", "than", "about", "over", "under", "least", "most", "if", "how", "many"),
    *("much", "is", "are", "was", "were", "be", "at"),
}
_DOLLARS = {"dollar", "usd", "$"}
_CURRENCY_SIGNS = {"$", "\u20ac", "\u00a3", "\u00a5"}


def find_units(question: str) -> frozenset[str]:
    """Return the words that may follow the number that answers ``question``: those of its last sentence, and
    dollars."""
    asked = last_sentence(question).lower()
    words = {_singular(word) for word in _WORD.findall(asked) if not {word, _singular(word)} & _NOT_UNITS}
    if words & {"percent", "percentage", "%"}:
        words |= {"percent", "%"}
    return frozenset(words | _DOLLARS)


def read_amount(answer: str, units: frozenset[str] = frozenset()) -> Fraction | None:
    r"""Read the number in ``answer``; return None where there is no single number.

    Readable are integers, decimals and fractions as by the verifier "number", with commas between thousands, a currency
    sign, dollar signs, asterisks, brackets or ``\boxed{}`` around it, "####" or "The answer is" before it, a full stop
    after it, and a unit all words of which are in ``units``. Several numbers, words that change a number ("dozen",
    "thousand"), other units, and more than 200 characters are not readable.
    """
    if len(answer) > MAX_LENGTH:
        return None
    text = answer.replace("{,}", ",").replace("\\$", "$").replace("\\%", "%").replace("\\!", "")
    text = " ".join(_TEXT.sub(r" \1", text).split())
    for _ in range(MAX_WRAPPERS):
        match = _AMOUNT.fullmatch(text)
        if match:
            return _parse_match(match, units)
        shorter = _strip_wrapper(text)
        if shorter == text:
            return None
        text = shorter
    return None


def _parse_match(match: re.Match[str], units: frozenset[str]) -> Fraction | None:
    tail = (match["tail"] or "").lower()
    words = [_singular(word) for word in re.split(r"[ -]+", tail.strip()) if word]
    if set(words) - units - _DOLLARS - _CURRENCY_SIGNS:
        return None
    if match["sign"] and match["behind"]:
        return None
    value = parse_number(match["number"].replace(",", ""))
    return -value if value is not None and "-" in (match["sign"], match["behind"]) else value


def _strip_wrapper(text: str) -> str:
    """Remove one wrapper of ``text``: a pair of marks, a label before it, or a full stop after it."""
    for left, right in _WRAPPERS:
        if len(text) > len(left) + len(right) and text.startswith(left) and text.endswith(right):
            return text[len(left) : -len(right)].strip()
    label = _LABEL.match(text)
    if label:
        return text[label.end() :].strip()
    return text[:-1].rstrip() if text.endswith((".", "!")) else text


def _singular(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
