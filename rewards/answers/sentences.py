"""Extraction of the last sentence of a problem's text, which is usually the question.

A full stop counts as the end of a sentence only where a sentence can end: not in a decimal, after a title ("Mr."), an
initial ("J. Doe") or an abbreviation inside a sentence ("approx. 5 kg").
"""

from __future__ import annotations

import re

_END = re.compile(r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]$]*+\s++(?=(?P<next>\S{0,40}))")
_LAST_WORD = re.compile(r"[A-Za-z](?:[A-Za-z.]*[A-Za-z])?$")
_WINDOW = 30  # characters in which the word before a full stop is looked for


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Abbreviations that a name or a number follows.
_TITLES = _words(
    """
    mr mrs ms mx dr prof st mt ft gen col maj capt cpt lt sgt cpl adm rev hon fr pres gov sen rep messrs mme mlle
    no nos vs fig eq vol pp sec ch approx ca e.g i.e viz cf
    """
)
_BEFORE_NUMBERS = _words("no nos fig eq vol pp sec ch ft")
# Words that may begin a sentence and are not surnames.
_OPENERS = _words(
    """
    a after all also an and another as assume at before both but by calculate compute consider determine during each
    every everyone evaluate express find finally first for from give given her his how however i if in initially it
    its let many my next now of on once one only otherwise our round she he simplify since so some solve suppose that
    the their then there therefore these they this those to today together tomorrow two three four what when where
    whereas which while who whose why with write yesterday you your
    """
)
_ASKING = _words("how what which who when where find calculate determine compute")


def last_sentence(text: str) -> str:
    """Return the last sentence of ``text``."""
    text = text.strip()
    start = 0
    for end in _END.finditer(text):
        if _ends_sentence(text[max(0, end.start() - _WINDOW) : end.start()], text[end.start()], end["next"]):
            start = end.end()
    return text[start:]


def _ends_sentence(before: str, mark: str, following: str) -> bool:
    """Return True if the punctuation ``mark`` between two pieces of text ends a sentence."""
    if mark != ".":
        return True
    word = re.sub(r"^\W+|\W+$", "", following)
    found = _LAST_WORD.search(before)
    last = found[0] if found else ""
    opens = word.lower() in _OPENERS or re.sub(r"['\u2019].*", "", word).lower() in _OPENERS
    if last.lower() in _BEFORE_NUMBERS:
        return not word[:1].isdigit() and (opens or last.lower() in ("no", "ft"))
    if last.lower() in _TITLES:
        return False
    if len(last) == 1 and last.isupper() and before[-2:-1] in ("", " ", "."):
        # "J. Doe", but "vitamin C. How many".
        return opens
    return not word[:1].islower() or following[:1] in "$\\" or word.lower() in _ASKING
