"""Questions of training data that stand in a test set: found by n-grams of words, and left out.

As for TÜLU 3 (arXiv 2411.15124, Section 3.2), a text is taken for a copy of a test question if more than half of the
question's words lie in n-grams of eight words that both have.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import InputError
from .sources import read_source

WORDS = 8
"""Words of an n-gram."""
MOST = 0.5
"""Largest share of a test question's words that a training text may repeat."""

_TOKEN = re.compile(r"\w+")
_COLUMNS = ("question", "prompt", "problem", "instruction", "input", "query", "text", "messages", "conversations")


class TestTexts:
    """Test questions, against which training texts are compared.

    Args:
        texts: the questions. One of fewer than ``words`` words is compared as a whole.
        words: words of an n-gram.
        most: largest share of a question's words that may be in n-grams of a text.
    """

    __test__ = False  # no test of pytest's

    def __init__(self, texts: Iterable[str], words: int = WORDS, most: float = MOST):
        self.most = most
        self._sizes: list[int] = []
        self._lengths: set[int] = set()
        self._places: defaultdict[tuple[str, ...], list[tuple[int, int]]] = defaultdict(list)
        for text in texts:
            tokens = _split(text)
            if not tokens:
                continue
            length = min(words, len(tokens))
            self._lengths.add(length)
            for start in range(len(tokens) - length + 1):
                self._places[tuple(tokens[start : start + length])].append((len(self._sizes), start))
            self._sizes.append(len(tokens))

    def __len__(self) -> int:
        return len(self._sizes)

    def overlap(self, text: str) -> float:
        """Return the largest share of a test question's words that lie in n-grams of a text, in [0, 1]."""
        tokens = _split(text)
        covered: defaultdict[int, set[int]] = defaultdict(set)
        for length in self._lengths:
            for start in range(len(tokens) - length + 1):
                for question, place in self._places.get(tuple(tokens[start : start + length]), ()):
                    covered[question].update(range(place, place + length))
        return max((len(places) / self._sizes[question] for question, places in covered.items()), default=0.0)

    def has(self, text: str) -> bool:
        """Return True if a text repeats a test question."""
        return self.overlap(text) > self.most


def read_tests(sources: Sequence[str]) -> TestTexts:
    """Read the questions of test sets: files, folders or data sets of the hub, of any layout.

    Raises:
        InputError: a source cannot be read, or has no question.
    """
    texts: list[str] = []
    for source in sources:
        found = [text for _, record in read_source(source) if (text := question_of(record))]
        if not found:
            raise InputError(f"the test set {source} has no questions; give records with a column such as 'question'.")
        texts += found
    return TestTexts(texts)


def question_of(record: Mapping[str, Any]) -> str:
    """Return the text of a record that asks: the first likely column, or else the longest text; "" without any."""
    columns = {str(name).lower(): value for name, value in record.items()}
    for name in _COLUMNS:
        if (text := _text(columns.get(name))).strip():
            return text
    return max((value for value in columns.values() if isinstance(value, str)), key=len, default="")


def _text(value: Any) -> str:
    """Return a text, or the texts of all messages of a conversation but the replies."""
    if isinstance(value, str):
        return value
    messages = value if isinstance(value, list) else []
    asked = [m for m in messages if isinstance(m, Mapping) and m.get("role", m.get("from")) not in ("assistant", "gpt")]
    return "\n".join(str(message.get("content", message.get("value", ""))) for message in asked)


def _split(text: str) -> list[str]:
    return _TOKEN.findall(text.casefold())
