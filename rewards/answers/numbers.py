r"""Reader of numbers: ``1,234``, ``\$42``, ``-7/2`` with any minus sign, ``(42)``, ``4.2e1``, ``72 clips``.

Environments, the verifiers "number" and "integer" on replies, data files and pages all read numbers with these
functions. No arithmetic is evaluated, and a number with two common readings is rejected. All scans are linear.
"""

from __future__ import annotations

import re
from fractions import Fraction

from .marks import bare
from .phrases import strip_statement
from .sentences import last_sentence

MAX_LENGTH = 1_000
_MOST_EXPONENT = 400

# Characters of double width -> plain characters.
WIDE = {chr(wide): chr(wide - 0xFEE0) for wide in range(0xFF01, 0xFF5F)}
# Notation of LaTeX and print -> plain signs. `MARKS` may stand around a number, but not within one.
NOTATION = {
    **dict.fromkeys(("~", "\\(", "\\)", "\\[", "\\]", "\\ ", "\\;", "\u00a0", "\u2009", "\u202f"), " "),
    **dict.fromkeys(("\\left", "\\right", "\\,", "\\!", "\u200b", "\u2060", "\ufeff"), ""),
    **dict.fromkeys(("\\approx", "\u2248", "\\equiv", "\u2261"), "="),
    **dict.fromkeys(("\u2212", "\u2013", "\u2010", "\u2011", "\ufe63"), "-"),
    **{"{,}": ",", "\\{": "{", "\\}": "}", "\\$": "$", "\\%": "%", "\\times": "*", "\u00d7": "*", "\\cdot": "*"},
    **WIDE,
}
MARKS = ("**", "$", "`")
_SIGN = re.compile("|".join(map(re.escape, sorted((*NOTATION, *MARKS), key=len, reverse=True))))
_FRACTION = re.compile(r"\\[dt]?frac ?(\{ ?[+-]?[0-9]+ ?\}|[0-9]) ?(\{ ?[0-9]+ ?\}|[0-9])")
_TEXT = re.compile(r"\\(?:text|mathrm|mbox)\{([^{}\\]*)\}")
# A sign before a number is part of the number, as lists of numbers contain no sums.
_LOOSE = re.compile(r"([+-])[ \t]+(?=[0-9.])")
_BRACKETED = re.compile(r"([+-]?)[(\[{]([^()\[\]{}]*)[)\]}]")
_NUMBER = re.compile(
    r"([+-]?) ?((?i:[$\u20ac\u00a3\u00a5]|usd|eur|gbp)?) ?([+-]?)"
    r"([0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]*)?|[0-9]{1,3}(?: [0-9]{3})+(?:\.[0-9]*)?|[0-9]+ ?/ ?[0-9]+"
    r"|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    r"(?:[eE]([+-]?[0-9]{1,3})| ?\* ?10\^(?:\{([+-]?[0-9]{1,3})\}|([0-9])))?"
    r" ?(%|[$\u20ac\u00a3\u00a5]|[A-Za-z][A-Za-z\u00b2\u00b3 -]*)?"
)
_HEADING = re.compile(r"#+ ?|(?:final |correct )?answer ", re.IGNORECASE)
_ADDED = re.compile(r" (?:in total|in all|altogether|overall)$", re.IGNORECASE)
# Continuation of a sentence after a number and its unit ("... in the box", "... each day").
_REST = re.compile(
    r"\s+(?:after|at|before|between|by|during|each|for|from|in|left|now|on|than|to|today|when|while|with)\b"
    r"(?:(?!\b(?:or|not|if|unless|maybe|perhaps|about|most|least|best|worst|more|less|fewer)\b)[^0-9])*",
    re.IGNORECASE,
)
_COUNTED = re.compile(r"how many (?:such |different )?([a-z]+)(?: of ([a-z]+))?")
_WORD = re.compile(r"[a-z]+|%")
# Words that change the number before them, or state another number; they are not units.
NOT_UNITS = frozenset(
    (
        *("hundred", "thousand", "million", "billion", "trillion", "dozen", "score", "half", "halves", "third"),
        *("quarter", "fourth", "fifth", "tenth", "squared", "cubed", "twice", "double", "triple", "e", "or", "and"),
        *("to", "plus", "minus", "times", "not", "no", "less", "more", "fewer", "greater", "than", "about"),
        *("around", "over", "under", "least", "most", "up", "if", "how", "many", "much", "is", "are", "was"),
        *("were", "be", "at", "but", "except", "only", "almost", "nearly", "roughly", "k", "bn", "one", "two"),
        *("three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve", "twenty", "thirty"),
        *("forty", "fifty", "sixty", "seventy", "eighty", "ninety"),
    )
)
_CURRENCY = frozenset({"dollar", "usd", "euro", "eur", "gbp", "$", "\u20ac", "\u00a3", "\u00a5"})
# Digits alone, an integer, a decimal or a fraction; each alternative begins with a different kind of text, so that
# matching takes one pass.
_RATIONAL = re.compile(r"([+-]?)(?:([0-9]+)[ \t]*/[ \t]*([0-9]+)|([0-9]+)(?:\.([0-9]*))?|\.([0-9]+))")


def parse_number(text: str) -> Fraction | None:
    """Parse a rational number in plain notation (``-3``, ``0.75``, ``.75``, ``3/4``); None for any other text."""
    if len(text) > 2 * MAX_LENGTH:
        return None
    text = text.strip()
    match = _RATIONAL.fullmatch(text) if len(text) <= MAX_LENGTH else None
    if match is None:
        return None
    sign, numerator, denominator, whole, decimals, bare_decimals = match.groups()
    if numerator is not None:
        if int(denominator) == 0:
            return None
        value = Fraction(int(numerator), int(denominator))
    else:
        digits = (decimals or "") if whole is not None else bare_decimals
        value = Fraction(int((whole or "") + digits), 10 ** len(digits))
    return -value if sign == "-" else value


def read_number(text: str, units: frozenset[str] | None = frozenset(), stated: bool = False) -> Fraction | None:
    """Parse a text that consists of one number; return None for any other text. See `plain_number`."""
    plain = plain_number(text, units, stated)
    return None if plain is None else parse_number(plain)


def plain_number(text: str, units: frozenset[str] | None = frozenset(), stated: bool = False) -> str | None:
    r"""Convert a text that consists of one number to the notation of `parse_number`; return None for any other text.

    Accepted are integers, decimals and fractions, ``\frac{3}{4}`` among them; thousands separated by commas or blanks;
    a power of ten (``4.2e1``, ``4.2 \times 10^1``); digits, signs and blanks of other widths; marks, brackets or a
    label around the number; a full stop or exclamation mark after it; a currency sign; and a unit after it.

    Args:
        text: an answer; texts of more than 1,000 characters give None.
        units: words that may follow the number, as `find_units` returns them; None allows up to three words. Words
            that change a number ("thousand", "or more") are never units.
        stated: allow a sentence or an equation that ends in the number, as in `strip_statement`.
    """
    if len(text) > MAX_LENGTH:
        return None
    text = plain_notation(text, marks=False)
    for _ in range(8):
        text = " ".join(text.split())
        match = _NUMBER.fullmatch(_ADDED.sub("", text))
        if match and (written := _write(match, units)) is not None:
            return written
        shorter = bare(text).removesuffix("!")
        if bracketed := _BRACKETED.fullmatch(shorter):
            inner = bracketed[2].strip()
            shorter = bracketed[1] + inner if not (bracketed[1] and inner.startswith(("-", "+"))) else shorter
        if heading := _HEADING.match(shorter):
            shorter = shorter[heading.end() :]
        if len(shorter) > 2 and shorter[0] == shorter[-1] == "*":
            shorter = shorter[1:-1]
        if shorter == text and stated:
            shorter = strip_statement(text, number=True)
            if shorter == text and (rest := _REST.search(text)) and rest.end() == len(text):
                shorter = text[: rest.start()]
        if shorter == text:
            return None
        text = shorter
    return None


def _write(match: re.Match[str], units: frozenset[str] | None) -> str | None:
    sign, currency, behind, number, *powers, tail = match.groups()
    words = [singular(word) for word in re.split(r"[ -]+", (tail or "").lower()) if word]
    allowed = len(words) < 4 if units is None else not set(words) - units - _CURRENCY
    if not allowed or NOT_UNITS.intersection(words) or (sign and behind) or (currency and set(words) & _CURRENCY):
        return None
    digits = number.replace(",", "").removesuffix(".")
    digits = digits.replace(" ", "") if "/" not in digits else digits
    if power := next((power for power in powers if power), ""):
        value = parse_number(digits)
        if value is None or "/" in digits or abs(int(power)) > _MOST_EXPONENT:
            return None
        exact = value * Fraction(10) ** int(power)
        digits = str(exact)
    return f"{'-' if '-' in (sign, behind) else ''}{digits}"


def plain_notation(text: str, marks: bool = True) -> str:
    """Replace the notation of LaTeX and print in ``text``, a number or a list of numbers, by plain signs.

    Args:
        marks: also replace the marks of bold type, code and formulas by blanks.
    """
    text = _SIGN.sub(lambda sign: NOTATION.get(sign[0], " " if marks else sign[0]), text)
    text = _FRACTION.sub(lambda fraction: "/".join(part.strip("{ }") for part in fraction.groups()), text)
    return _LOOSE.sub(r"\1", _TEXT.sub(r" \1" if not marks else r"\1", text))


def find_units(question: str) -> frozenset[str]:
    """Return the words accepted as a unit of a numeric answer: those of the last sentence of ``question`` that ends in
    a question mark (of the last sentence if none does), and names of currencies."""
    asked = last_sentence(question[: question.rfind("?") + 1] or question).lower()
    words = {singular(word) for word in _WORD.findall(asked) if not {word, singular(word)} & NOT_UNITS}
    if words & {"percent", "percentage", "%"}:
        words |= {"percent", "%"}
    return frozenset(words | _CURRENCY)


def find_counted(question: str) -> frozenset[str]:
    """Return the words that ``question`` asks the number of: those right after "how many" ("how many boxes of nails"
    gives both nouns), "of", and names of currencies."""
    found = _COUNTED.findall(question.lower())
    return frozenset(word for pair in found for word in ("of", *map(singular, pair)) if word) | _CURRENCY


def singular(word: str) -> str:
    """Remove the s from the end of a longer word."""
    return word[:-1] if len(word) > 3 and word.endswith("s") else word
