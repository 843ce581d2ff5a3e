"""Judge of a value written by an agent: a name or alias, a date in the usual formats, or a number."""

from __future__ import annotations

import datetime
import re
from functools import lru_cache

from ....rewards.answers import numbers
from .corpus import Corpus, normalise_title
from .world import MONTHS, Value

_NOT_WORDS = re.compile(r"[^\w]+")
_MONTHS = [name[:3].lower() for name in MONTHS]
_MONTH = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?(?: of)?[ -]({_MONTH})\.?,?[ -](\d{{3,4}})", re.IGNORECASE)
_MONTH_FIRST = re.compile(rf"({_MONTH})\.? (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{3,4}})", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_MOST = 200


def read_date(text: str) -> tuple[int, int, int] | None:
    """Return (year, month, day) of a date such as "12 March 1845", "March 12, 1845" or "1845-03-12"; None for any other
    text or a date that does not exist."""
    text = text[:_MOST].strip().removeprefix("on ")
    if found := _ISO.fullmatch(text):
        year, month, day = found.groups()
    elif found := _DAY_FIRST.fullmatch(text):
        day, month, year = found.groups()
    elif found := _MONTH_FIRST.fullmatch(text):
        month, day, year = found.groups()
    else:
        return None
    number = int(month) if month.isdecimal() else _MONTHS.index(month[:3].lower()) + 1
    try:
        read = datetime.date(int(year), number, int(day))
    except ValueError:
        return None
    return read.year, read.month, read.day


def read_number(text: str) -> int | None:
    """Return a whole number of at least 0, with or without a unit: "48,000 people"; None for any other text."""
    value = numbers.read_number(text[:_MOST].strip().removeprefix("in "), units=None)
    return value.numerator if value is not None and value >= 0 and value.denominator == 1 else None


def normalise_name(text: str) -> str:
    """Return a name in a normal spelling: lower case, no punctuation, no article."""
    return " ".join(_NOT_WORDS.sub(" ", normalise_title(text[:_MOST])).split()).removeprefix("the ")


def names_of(corpus: Corpus, number: int) -> frozenset[str]:
    """Return the accepted names of a thing, normalised by `normalise_name`: the title of its article, its name with and
    without the description, and its aliases that no other thing has."""
    thing = corpus.world.things[number]
    names = {corpus.title(number), thing.name, f"{thing.description} {thing.name}"}
    names |= {alias for alias in thing.aliases if corpus.find(alias) == number}
    return frozenset(normalise_name(name) for name in names)


@lru_cache(maxsize=128)
def known_names(corpus: Corpus) -> frozenset[str]:
    """Return the accepted names of all things of the encyclopaedia; see `names_of`."""
    return frozenset().union(*(names_of(corpus, number) for number in range(corpus.size)))


def judge_value(corpus: Corpus, text: str, value: Value, is_thing: bool) -> bool | None:
    """Compare an agent's text with the correct value.

    Args:
        corpus: the corpus whose names count, if the value is a thing.
        text: one name, date or number.
        value: the correct value.
        is_thing: True if the value is the number of a thing.

    Returns:
        True if the text is correct, False if it is wrong; None if the text is no value of this kind, or a name that
        nothing in the corpus has.
    """
    if is_thing:
        written = normalise_name(text)
        return written in names_of(corpus, value) if written in known_names(corpus) else None
    read = read_date(text) if isinstance(value, tuple) else read_number(text)
    return None if read is None else read == value
