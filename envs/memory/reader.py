"""The frozen reader: answers a question from the memory alone, by rules, so that only the memory decides.

A sentence answers a question if it names the subject (and the date of an event) and holds a value of the attribute that
is asked for; of several values in it the one nearest to the subject counts, of several sentences the one written last.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from .stories import NAMES, StoryFact

_SENTENCES = re.compile(r"[.;\n!?]+")
_WORDS = re.compile(r"[a-z]+|\d+")
_USER = {"i", "my", "me", "mine", "user"}
_PEOPLE = {name.lower() for name in NAMES}


def read_answer(asked: StoryFact, texts: Iterable[str]) -> str | None:
    """The value that the memory gives for a fact; None where no sentence answers.

    Args:
        asked: the fact; its value is not looked at.
        texts: what the memory holds, in the order in which it was written.
    """
    values = {value.lower(): value for value in asked.values}
    date = set(_WORDS.findall(asked.date.lower()))
    answer = None
    for text in texts:
        for sentence in _SENTENCES.split(text.lower()):
            words = _WORDS.findall(sentence)
            if not date <= set(words):
                continue
            if asked.subject:
                places = [place for place, word in enumerate(words) if word == asked.subject.lower()]
            elif _PEOPLE & set(words):
                continue  # what a sentence with a name says is about that person
            else:
                places = [place for place, word in enumerate(words) if word in _USER]
            found = [place for place, word in enumerate(words) if word in values]
            if places and found:
                nearest = min(found, key=lambda at: (min(abs(at - place) for place in places), -at))
                answer = values[words[nearest]]
    return answer


def count_right(asked: Iterable[StoryFact], texts: Iterable[str]) -> int:
    """Number of questions that the memory answers rightly."""
    held = list(texts)
    return sum(read_answer(fact, held) == fact.value for fact in asked)
