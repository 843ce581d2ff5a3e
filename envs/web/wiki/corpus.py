"""Encyclopaedia of a made-up world as plain data: articles with links, redirects, and a search by BM25.

``make_corpus(seed, size)`` caches the last corpora used. A corpus is immutable; states of episodes have only its seed
and size.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import overload

import numpy as np

from ....errors import MissingExtra
from ...code.programs.dice import Dice
from .listings import LISTED_AT
from .wiki_relations import BY_KIND, RELATIONS, WikiRelation
from .world import WikiWorld, name_of_value

# Maximum characters of a part of an article; a longer sentence is a part by itself.
PART = 900
# Words that many names share; they do not make names similar.
_COMMON_WORDS = frozenset({"the", "of", "battle", "siege", "bridge", "university", "mount", "hill"})
_WORD = re.compile(r"\w+")
LINK = re.compile(r"\[\[([^\[\]|]+)(?:\|([^\[\]|]+))?\]\]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of an article, with links as ``[[title]]`` or ``[[title|text]]``, and the relation that it states (""
    for none); ``listed`` is True if it lists the things that have the article's thing as value of the relation."""

    text: str
    relation: str = ""
    listed: bool = False


@dataclass(frozen=True, slots=True)
class Article:
    """A page of the encyclopaedia. ``kind`` is the kind of the thing that it is about, or "disambiguation" for a page
    that lists several things of one name."""

    title: str
    kind: str
    sentences: tuple[Sentence, ...]
    text: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", " ".join([sentence.text for sentence in self.sentences]))

    @property
    def parts(self) -> list[tuple[Sentence, ...]]:
        """Sentences in parts of at most `PART` characters; a longer sentence is a part by itself."""
        parts: list[list[Sentence]] = [[]]
        length = 0
        for sentence in self.sentences:
            if parts[-1] and length + len(sentence.text) > PART:
                parts.append([])
                length = 0
            parts[-1].append(sentence)
            length += len(sentence.text) + 1
        return [tuple(part) for part in parts]

    @property
    def links(self) -> list[str]:
        """Titles of the linked articles, in order and without duplicates."""
        return list(dict.fromkeys(title for title, _ in LINK.findall(self.text)))


class Articles(Sequence[Article]):
    """Articles of a corpus, each written by ``write(number)`` when it is first read. In ``written``, None stands for an
    article that has not been read."""

    def __init__(self, number: int, write: Callable[[int], Article]):
        self.written: list[Article | None] = [None] * number
        self._write = write

    def __len__(self) -> int:
        return len(self.written)

    @overload
    def __getitem__(self, number: int) -> Article: ...
    @overload
    def __getitem__(self, number: slice) -> list[Article]: ...
    def __getitem__(self, number: int | slice) -> Article | list[Article]:
        if isinstance(number, slice):
            return [self[place] for place in range(*number.indices(len(self)))]
        found = self.written[number]
        if found is None:
            found = self.written[number] = self._write(number if number >= 0 else number + len(self))
        return found


class Corpus:
    """Encyclopaedia of a world.

    Attributes:
        world: the facts of the world.
        articles: all pages: article i describes thing i; disambiguation pages follow. A page is written when it
            is first read.
        near: for each thing, the other things whose names share a word with its name; of people only last names count.
    """

    def __init__(self, seed: int, size: int):
        self.seed, self.size = seed, size
        self.world = world = WikiWorld(seed, size)
        bearers: dict[str, list[int]] = {}
        for number, thing in enumerate(world.things):
            bearers.setdefault(thing.name, []).append(number)
        self._titles = [
            thing.name if len(bearers[thing.name]) == 1 else f"{thing.name} ({thing.description})"
            for thing in world.things
        ]
        self._by_alias: dict[str, list[int]] = {}
        for number, thing in enumerate(world.things):
            for alias in thing.aliases:
                self._by_alias.setdefault(alias, []).append(number)
        shared = {name: several for name, several in {**self._by_alias, **bearers}.items() if len(several) > 1}
        self._titles += shared
        listed: dict[int, dict[str, list[int]]] = {}
        for (relation, value), members in world.having.items():
            if RELATIONS[relation].is_link:
                listed.setdefault(value, {})[relation] = members
        self._listed = [
            [(one, own[one.relation]) for one in LISTED_AT.get(thing.kind, ()) if one.relation in own]
            if (own := listed.get(number))
            else []
            for number, thing in enumerate(world.things)
        ]
        self._stated = [
            [relation for relation in BY_KIND[thing.kind] if relation.name in thing.facts] for thing in world.things
        ]
        # An article takes one draw for the order of its relations, and two for each sentence but the first.
        sizes = [1 + 2 * len(stated) + 2 * len(listed) for stated, listed in zip(self._stated, self._listed)]
        self._starts = [0, *itertools.accumulate(sizes)]
        self._draws = Dice(np.random.default_rng((seed, size, 1))).draws(self._starts[-1])
        self._shared = list(shared.items())
        self.articles = Articles(size + len(shared), self._write_article)

    def title(self, number: int) -> str:
        return self._titles[number]

    @cached_property
    def _pages(self) -> dict[str, int]:
        """Normal spelling of a title or redirect -> number of the article."""
        pages = [(alias, several[0]) for alias, several in self._by_alias.items() if len(several) == 1]
        pages += [(title, number) for number, title in enumerate(self._titles)]
        return {normalise_title(name): number for name, number in pages}

    def find(self, title: str) -> int | None:
        """Return the number of the article with this title or redirect, ignoring case; None if there is no such
        article."""
        return self._pages.get(normalise_title(title))

    def redirects(self) -> dict[str, str]:
        """Return redirect -> title of the article. Redirects are the aliases that only one thing has."""
        names = {alias for thing in self.world.things for alias in thing.aliases}
        found = {name: self.find(name) for name in sorted(names)}
        return {name: self._titles[n] for name, n in found.items() if n is not None and n < self.size}

    @cached_property
    def links(self) -> list[tuple[int, ...]]:
        """Numbers of the articles that each article links to, in the order of its text."""
        found: list[tuple[int, ...]] = []
        for number, listed in enumerate(self._listed):
            facts = self.world.things[number].facts
            targets = [facts[relation.name] for relation in self._in_order(number) if relation.is_link]
            found.append(tuple(dict.fromkeys(targets + [other for _, members in listed for other in members])))
        return [*found, *(tuple(several) for _, several in self._shared)]

    @cached_property
    def linked_from(self) -> list[list[int]]:
        """Numbers of the articles that link to each article, without disambiguation pages."""
        before: list[list[int]] = [[] for _ in self.articles]
        for number, links in enumerate(self.links[: self.size]):
            for other in links:
                before[other].append(number)
        return before

    @cached_property
    def near(self) -> list[tuple[int, ...]]:
        every = [
            frozenset(_WORD.findall(thing.name.rpartition(" ")[2] if thing.kind == "person" else thing.name))
            for thing in self.world.things
        ]
        by_word: dict[str, list[int]] = {}
        for number, words in enumerate(every):
            for word in words:
                if word.lower() not in _COMMON_WORDS:
                    by_word.setdefault(word, []).append(number)
        return [
            tuple(sorted({other for word in words for other in by_word.get(word, ())} - {number}))
            for number, words in enumerate(every)
        ]

    def search(self, query: str) -> list[int]:
        """Return the numbers of the articles that contain words of the query, ranked by BM25."""
        words = [word for word in split_words(query[:400]) if word in self._index.vocab_dict]
        if not words:
            return []
        # Round, so that the ranking does not depend on the last bits of a float.
        scores = np.round(self._index.get_scores(words).astype(np.float64), 4)
        order = np.lexsort((np.arange(len(scores)), -scores))
        return [number for number in order.tolist() if scores[number] > 0]

    @cached_property
    def _index(self):
        try:
            import bm25s
        except ImportError:
            raise MissingExtra("search in the made-up encyclopaedia", "web") from None
        index = bm25s.BM25(k1=1.5, b=0.75, method="lucene")
        documents = [split_words(f"{page.title} {strip_links(page.text)}") for page in self.articles]
        index.index(documents, show_progress=False)
        return index

    def _link(self, number: int) -> str:
        title, name = self._titles[number], self.world.things[number].name
        return f"[[{title}]]" if title == name else f"[[{title}|{name}]]"

    def _in_order(self, number: int) -> list[WikiRelation]:
        """Return the relations that an article states, in its order: all things of a kind have the same cyclic order,
        from a random start."""
        stated = self._stated[number]
        turn = int(self._draws[self._starts[number]] * len(stated))
        return [*stated[turn:], *stated[:turn]]

    def introduction(self, number: int) -> str:
        """Return the first sentence of an article."""
        if number >= self.size:
            return f"{self._titles[number]} may be:"
        thing = self.world.things[number]
        is_person = thing.kind == "person"
        verb = "was" if is_person and "died" in thing.facts else "is"
        article = "an" if thing.description[0] in "aeio" else "a"
        also = f", also called {thing.aliases[0]}," if thing.aliases and not is_person else ""
        return f"{thing.name}{also} {verb} {article} {thing.description}."

    def kind(self, number: int) -> str:
        """Return the kind of an article."""
        return self.world.things[number].kind if number < self.size else "disambiguation"

    def _write_article(self, number: int) -> Article:
        sentences = [Sentence(self.introduction(number))]
        if number >= self.size:
            sentences += self._list_bearers(self._shared[number - self.size][1])
            return Article(self._titles[number], self.kind(number), tuple(sentences))
        thing = self.world.things[number]
        pronoun = "It" if thing.kind != "person" else "She" if thing.female else "He"
        dice = Dice.with_draws(self._draws[self._starts[number] + 1 : self._starts[number + 1]])

        def state(wordings: Sequence[str], value: str) -> str:
            subject = pronoun if dice.chance(0.6) else thing.name
            return dice.one(wordings).format(S=subject, s=thing.name, o=value)

        for relation in self._in_order(number):
            value = thing.facts[relation.name]
            value = self._link(value) if relation.is_link else name_of_value(self.world, relation.name, value)
            sentences.append(Sentence(state(relation.sentences, value), relation.name))
        for listing, members in self._listed[number]:
            *first, last = map(self._link, members)
            wordings = listing.sentences
            if not first:
                wordings = [f"T{listing.only[1:].format('{s}')} is {{o}}."]
            value = f"{', '.join(first)} and {last}" if first else last
            sentences.append(Sentence(state(wordings, value), listing.relation, listed=True))
        return Article(self._titles[number], thing.kind, tuple(sentences))

    def _list_bearers(self, several: Sequence[int]) -> list[Sentence]:
        """Return the sentences of a disambiguation page after the first."""
        sentences = []
        for number in several:
            thing = self.world.things[number]
            title = self._titles[number]
            told = f", {thing.description}" if title == thing.name else ""
            born = f", born {thing.facts['born'][0]}" if thing.kind == "person" else ""
            sentences.append(Sentence(f"[[{title}]]{told}{born};"))
        return sentences


def strip_links(text: str, titles: bool = False) -> str:
    """Return the text with each link replaced by the link's text or, with ``titles``, by the linked article's title."""
    return LINK.sub(lambda found: found[1] if titles else found[2] or found[1], text)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case; the search compares these."""
    return _WORD.findall(text.lower())


def normalise_title(title: str) -> str:
    """Return a title in a normal spelling: NFKC, case folded, single spaces, no link brackets."""
    title = unicodedata.normalize("NFKC", title).strip(" \t\r\n\"'`*[]").casefold().replace("_", " ")
    return " ".join(title.split())


@lru_cache(maxsize=128)
def make_corpus(seed: int, size: int) -> Corpus:
    """Return the corpus of a seed with ``size`` articles, plus disambiguation pages."""
    return Corpus(seed, size)
