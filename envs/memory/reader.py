"""Reader that answers questions from the memory alone, by fixed rules, so that only the contents of the memory decide.

A sentence answers a question if it names the subject (and the date of an event) and has a value of the attribute asked
for. Of several values in a sentence, the one nearest to the subject counts; of several sentences, the one written last.
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
    """Return the value that the memory gives for a fact; None if no sentence answers.

    Args:
        asked: the fact asked for; ``asked.value`` is not used.
        texts: the texts in the memory, in the order in which they were written.
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
                continue  # a sentence with a name is about that person, not about the user
            else:
                places = [place for place, word in enumerate(words) if word in _USER]
            found = [place for place, word in enumerate(words) if word in values]
            if places and found:
                nearest = min(found, key=lambda at: (min(abs(at - place) for place in places), -at))
                answer = values[words[nearest]]
    return answer


def count_right(asked: Iterable[StoryFact], texts: Iterable[str]) -> int:
    """Return the number of facts in ``asked`` for which `read_answer` returns the right value."""
    held = list(texts)
    return sum(read_answer(fact, held) == fact.value for fact in asked)
