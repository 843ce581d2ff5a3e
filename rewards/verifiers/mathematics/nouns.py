"""Counted nouns as units ("5 apples"), for the option ``words`` of the verifier "math"."""

from __future__ import annotations

from .tree import Unit
from .vocabulary import DOUBTS

MAX_WORD = 30  # letters
_MONEY = frozenset(("dollar", "euro", "sterling", "yen", "rupee"))


def noun_words(unit: Unit) -> frozenset[str]:
    """Return the words of a counted noun; empty for a measure."""
    if len(unit.dimensions) != 1 or unit.dimensions[0][1] != 1:
        return frozenset()
    name = unit.dimensions[0][0]
    return frozenset(name.removeprefix("of ").split()) if name.startswith("of ") else frozenset()


def same_noun(a: Unit, b: Unit) -> bool:
    """Return True if one counted noun contains all words of the other, as "children tickets" contains "tickets"."""
    first, second = noun_words(a), noun_words(b)
    return bool(first and second) and (first <= second or second <= first)


def is_harmless(unit: Unit) -> bool:
    """Return True if a unit that only the answer has leaves its number unchanged: a counted noun, whole units of money,
    or degrees."""
    words = noun_words(unit)
    if words:
        return max(map(len, words)) <= MAX_WORD and words.isdisjoint(DOUBTS)
    if unit.factor == 1 and unit.dimensions and unit.dimensions[0][0] in _MONEY | {"unit"}:
        return len(unit.dimensions) == 1
    return unit.dimensions == (("angle", 1),) and bool(unit.pi)
