"""Passages of plain text, their sentences, and words by how much the word before leaves open.

A source is a text file, a folder of such files, or records with a column ``text`` in any form that
`envs.datasets.sources` reads. Without one, the text is that of made-up encyclopaedias.
"""

from __future__ import annotations

import functools
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..datasets.sources import SUFFIXES, is_hub_name, read_source
from ..web.wiki.corpus import make_corpus, strip_links

LEAST = 3
"""Fewest sentences of a passage."""
MOST = 40
"""Most sentences of a passage; longer ones are cut."""
TIERS = ("low", "middle", "high")
"""Thirds of the words of a corpus, by `TextCorpus.entropies`."""
_KINDS = (".txt", ".md", ".rst", ".text")
_SENTENCE = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9À-Þ])|\n+(?=\s*[-*#|>])")
_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_ARTICLES = 40


def split_words(text: str) -> list[str]:
    """Return the words of a text, case-folded and without punctuation."""
    return [word.casefold() for word in _WORD.findall(text)]


def split_sentences(text: str) -> list[str]:
    """Split a text at ends of sentences, and before items of lists and headings; white space becomes single spaces."""
    parts = (" ".join(part.split()) for part in _SENTENCE.split(text))
    return [part for part in parts if _WORD.search(part)]


@dataclass(frozen=True)
class TextPlace:
    """Place of a word: the number of its passage, and its span of characters in the passage's text."""

    passage: int
    start: int
    end: int


@dataclass(frozen=True, eq=False)
class TextCorpus:
    """Passages of at least `LEAST` sentences each."""

    passages: tuple[tuple[str, ...], ...]

    @cached_property
    def entropies(self) -> dict[str, float]:
        """Word -> entropy in nats of the word after it, by counts of pairs c and the frequency f of the second word:
        p = (c + f) / (sum of c + 1), as in interpolated n-gram models."""
        pairs: dict[str, Counter[str]] = {}
        single: Counter[str] = Counter()
        for passage in self.passages:
            words = split_words(" ".join(passage))
            single.update(words)
            for one, two in pairwise(words):
                pairs.setdefault(one, Counter())[two] += 1
        total = single.total()
        share = {word: count / total for word, count in single.items()}
        whole = sum(p * math.log(p) for p in share.values())
        found = {}
        for word, after in pairs.items():
            rest = 1 / (after.total() + 1)
            seen = {two: share[two] for two in after}
            entropy = -sum(p * math.log(p) for p in ((after[two] + share[two]) * rest for two in after))
            open_mass = max(0.0, 1 - sum(seen.values()))
            open_terms = whole - sum(p * math.log(p) for p in seen.values())
            found[word] = entropy - rest * (open_mass * math.log(rest) + open_terms)
        return found

    @cached_property
    def tiers(self) -> dict[str, list[TextPlace]]:
        """Tier -> the words of four letters and more in it, except those that begin a passage; see `TIERS`."""
        places, values = [], []
        for number, passage in enumerate(self.passages):
            words = list(_WORD.finditer(" ".join(passage)))
            for before, word in pairwise(words[4:]):
                if len(word[0]) >= 4 and word[0].isalpha():
                    places.append(TextPlace(number, word.start(), word.end()))
                    values.append(self.entropies[before[0].casefold()])
        parts = np.array_split(np.argsort(values, kind="stable"), len(TIERS))
        return {tier: [places[i] for i in part.tolist()] for tier, part in zip(TIERS, parts)}


@functools.lru_cache(maxsize=32)
def made_up_corpus(seed: int) -> TextCorpus:
    """Return the text of a made-up encyclopaedia."""
    articles = make_corpus(seed, _ARTICLES).articles
    pages = (articles[number] for number in range(_ARTICLES))
    texts = (tuple(strip_links(sentence.text) for sentence in page.sentences) for page in pages)
    return TextCorpus(tuple(text for text in texts if len(text) >= LEAST))


def read_corpus(source: str) -> TextCorpus:
    """Read the passages of a source: paragraphs, of which short ones are joined to the next.

    Raises:
        InputError: there is no such source, or it has no passage of `LEAST` sentences.
    """
    path = Path(source).expanduser()
    files = sorted(path.rglob("*")) if path.is_dir() else [path]
    state = tuple((str(file), file.stat().st_mtime_ns) for file in files if file.is_file())
    corpus = _read_corpus(source, state)
    if not corpus.passages:
        raise InputError(f"{source!r} has no passage of {LEAST} sentences or more; give a longer text.")
    return corpus


@functools.lru_cache(maxsize=8)
def _read_corpus(source: str, state: tuple[tuple[str, int], ...]) -> TextCorpus:
    found = (passage for text in _read_texts(source, state) for passage in split_passages(text))
    return TextCorpus(tuple(dict.fromkeys(found)))


def _read_texts(source: str, state: Sequence[tuple[str, int]]) -> Iterator[str]:
    files = [Path(name) for name, _ in state if name.endswith(_KINDS)]
    if files:
        for file in files:
            yield file.read_text(encoding="utf-8", errors="replace")
        return
    if not is_hub_name(source) and not source.endswith(SUFFIXES) and not Path(source).expanduser().is_dir():
        known = "there is no such file" if not state else "it is no text"
        raise InputError(
            f"source={source!r} cannot be read, as {known}; give a file that ends in {', '.join(_KINDS)}, a folder of "
            "such files, or records with a column 'text'."
        )
    for place, record in read_source(source):
        if not isinstance(text := record.get("text"), str):
            raise InputError(f"{place} of {source!r} has no column 'text'; rename the column that holds the text.")
        yield text


def split_passages(text: str) -> Iterable[tuple[str, ...]]:
    """Yield the sentences of each passage of a text."""
    held: list[str] = []
    for paragraph in re.split(r"\n\s*\n", text):
        held += split_sentences(paragraph)
        if len(held) >= LEAST:
            yield from (tuple(held[low : low + MOST]) for low in range(0, max(len(held) - LEAST + 1, 1), MOST))
            held = []
