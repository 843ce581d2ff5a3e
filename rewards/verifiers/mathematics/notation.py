r"""Notations of whole answers outside the grammar of values; `grammar.read` tries them if the grammar fails.

``$69$, $84$`` is a list in several formulas, ``65\text{ children tickets}`` a number and a counted noun of several
words, ``3:30 pm`` a time of day, ``x > 2: (2, \infty)`` one set written twice, ``1, 2; 3`` a list of lists. Every
function takes a text without outer marks, is linear in its length, and returns None for other notations.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from . import units
from .build import is_operand, scalar
from .lexer import closing_brace
from .solutions import is_region, region
from .tree import Quantity, Unit, Value, ValueGroup, as_num, symbols
from .vocabulary import ARITHMETIC, CONNECTIVES, DOUBTS, MAGNITUDES, PORTIONS, SHORT_WORDS, TEXT

MAX_WORDS = 6
MAX_LISTS = 20
_DOLLAR = re.compile(r"(?<!\\)\$\$?|\\[()\[\]]")
_LETTERS = re.compile(r"[^\W\d_]+")
_TIME = re.compile(
    r"(?P<hour>[0-9]{1,2}) ?(?:: ?(?P<minute>[0-9]{2}))?(?: |~|\\[,; ]){0,3}"
    r"(?:\\(?:text|mathrm|textrm|mbox|textbf) ?\{ ?(?=[^{}]{1,6}\}))?"
    r"(?P<half>[aApP])\.? ?[mM]\.?(?: ?\})?"
)
_IN_WORDS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -"


def in_other_notation(core: str, parse: Callable[[str], Value]) -> Value | None:
    """Read a text without outer marks in one of these notations; None for any other text.

    Args:
        core: the text.
        parse: function that reads a text by the grammar of values.

    Raises:
        Malformed: a part of the text is outside the grammar of values.
    """
    minutes = time_of_day(core)
    if minutes is not None:
        return ValueGroup("time", (as_num(minutes),))
    if (joined := in_one_formula(core)) is not None:
        return _several(joined, parse) or parse(joined)
    if (value := _several(core, parse)) is not None:
        return value
    found = split_counted_noun(core)
    if found is None:
        return None
    head, words = found
    if len(words) == 1:
        # One word may be a unit.
        return parse(f"{head}\\text{{ {words[0]}}}")
    value = parse(head)
    if not is_operand(value) or symbols(scalar(value)):
        return None
    noun = units.unit_of_noun(words[-1]).dimensions[0][0].removeprefix("of ")
    return Quantity(scalar(value), Unit(((" ".join(("of", *words[:-1], noun)).lower(), 1),)))


def _several(core: str, parse: Callable[[str], Value]) -> Value | None:
    """Read lists separated by semicolons, or an inequality and its interval separated by a colon, or None."""
    parts = [part for part in core.split(";") if part.strip()]
    if 1 < len(parts) <= MAX_LISTS and "," in core:
        return ValueGroup(";", tuple(map(parse, parts)))
    left, colon, right = core.partition(":")
    if not colon or ":" in right or not any(sign in left for sign in "<>≤≥\\"):
        return None
    place, interval = region(parse(left)), parse(right)
    return interval if place is not None and is_region(interval) and place[1] == interval else None


def in_one_formula(text: str) -> str | None:
    """Join several formulas, with separators and numbers between them, into one: ``$2$ or $-2$`` to ``2 or -2``."""
    parts = _DOLLAR.split(text)
    # Marks come in pairs; formulas are at the odd positions.
    if len(parts) < 3 or len(parts) % 2 == 0:
        return None
    if any(word not in CONNECTIVES for part in parts[::2] for word in _LETTERS.findall(part)):
        return None
    # The space keeps "$8$,$400$" two numbers.
    return " ".join(part.strip() for part in parts).strip()


def time_of_day(text: str) -> int | None:
    """Convert a time with "am" or "pm" to minutes after midnight; None for any other text."""
    match = _TIME.fullmatch(text.strip())
    if match is None:
        return None
    hour, minute = int(match["hour"]), int(match["minute"] or 0)
    if not 1 <= hour <= 12 or minute > 59:
        return None
    return (hour % 12 + (12 if match["half"] in "pP" else 0)) * 60 + minute


def split_counted_noun(text: str) -> tuple[str, list[str]] | None:
    r"""Split a number with words after it, in plain text or ``\text{}``, into the number's text and the words."""
    text = text.strip()
    head, tail = text, ""
    if text.endswith("}"):
        start = max(text.rfind(f"\\{name}") for name in TEXT)
        brace = text.find("{", start)
        if start >= 0 and brace >= 0 and closing_brace(text, brace) == len(text) - 1:
            head, tail = text[:start], text[brace + 1 : -1]
    if not tail:
        head = text.rstrip(_IN_WORDS)
        tail = text[len(head) :]
    words = tail.strip(" .").replace("-", " ").split()
    while words and words[0] in MAGNITUDES:
        head = f"{head} {words.pop(0)}"
    if not 1 <= len(words) <= MAX_WORDS or not head or not all(map(_countable, words)):
        return None
    return head, words


def _countable(word: str) -> bool:
    """Return True if a word may belong to a noun: it neither changes the number before it nor expresses doubt."""
    lower = word.lower()
    changes = lower in SHORT_WORDS or lower in ARITHMETIC or lower.removesuffix("s") in PORTIONS or lower in DOUBTS
    return len(word) > 2 and word.isascii() and word.isalpha() and not changes
