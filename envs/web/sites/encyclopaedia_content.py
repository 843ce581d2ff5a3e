"""Contents of the encyclopaedia: the articles of a made-up world from `wiki.corpus`, as rows of tables."""

from __future__ import annotations

import sqlite3

import numpy as np

from ..wiki.corpus import make_corpus
from ..wiki.wiki_answers import read_date
from ..wiki.wiki_relations import BY_KIND
from ..wiki.world import Value, write_date
from .databases import insert_rows

# Relation with a number, a year or a date as value -> label in the infobox of an article.
LABELS = {
    "independence": "Independent since",
    "country_area": "Area in km²",
    "region_area": "Area in km²",
    "population": "Population",
    "charter": "Town charter",
    "river_length": "Length in km",
    "height": "Height in m",
    "ascent": "First ascent",
    "university_founded": "Founded",
    "born": "Born",
    "died": "Died",
    "published": "Published",
    "pages": "Pages",
    "staged": "First staged",
    "minutes": "Minutes",
    "established": "Established",
    "employees": "Employees",
    "fought": "Fought",
    "described": "First described",
    "opened": "Opened",
    "bridge_length": "Length in m",
}
PLURALS = {
    "battle": "Battles",
    "bridge": "Bridges",
    "city": "Cities",
    "company": "Companies",
    "country": "Countries",
    "disambiguation": "Shared names",
    "mountain": "Mountains",
    "novel": "Novels",
    "person": "People",
    "play": "Plays",
    "region": "Regions",
    "river": "Rivers",
    "species": "Species",
    "university": "Universities",
}
MEASURES = {
    kind: tuple((LABELS[one.name], one.value) for one in BY_KIND.get(kind, ()) if one.name in LABELS)
    for kind in PLURALS
}
"""Kind of articles -> pairs (label of a value, kind of the value: "number", "year" or "date")."""
NOTES = ("read again", "check the dates", "for the quiz", "ask the librarian", "homework")


def write_value(kind: str, value: Value) -> tuple[str, int, int]:
    """Return a number, a year or a date as (text, sort key, number or year)."""
    if kind == "date":
        year, month, day = value
        return write_date(value), year * 10_000 + month * 100 + day, year
    return f"{value:,}" if kind == "number" else str(value), value, value


def read_value(kind: str, text: str) -> tuple[str, int, int] | None:
    """Parse a number, a year or a date typed by a visitor. Return the value as `write_value` does, or None if the text
    is malformed."""
    if kind == "date":
        date = read_date(" ".join(text.split()))
        return None if date is None else write_value(kind, date)
    digits = text.replace(",", "") if kind == "number" else text
    if not (digits.isascii() and digits.isdigit() and len(digits) <= 9):
        return None
    return write_value(kind, int(digits))


def read_text(database: sqlite3.Connection, article: int) -> str:
    """Return the text of an article, with links in brackets. Texts that have not been changed are not in the
    database."""
    (text,) = database.execute("SELECT body FROM articles WHERE id = ?", (article,)).fetchone()
    if text is None:
        seed, size = database.execute("SELECT seed, size FROM source").fetchone()
        text = make_corpus(seed, size).articles[article - 1].text
    return text


def fill_encyclopaedia(database: sqlite3.Connection, size: int, rng: np.random.Generator) -> None:
    """Fill the tables with the articles of a world of ``size`` things, and with the visitor's watch list."""
    seed = int(rng.integers(2**31))
    corpus = make_corpus(seed, size)
    database.execute("INSERT INTO source VALUES (?, ?)", (seed, size))
    articles = [
        (number + 1, corpus.title(number), corpus.kind(number), corpus.introduction(number))
        for number in range(len(corpus.articles))
    ]
    insert_rows(database, "articles (id, title, kind, about)", articles)
    facts, links = [], []
    for number, thing in enumerate(corpus.world.things):
        targets = dict.fromkeys(corpus.links[number], "")
        for relation in BY_KIND[thing.kind]:
            if relation.name not in thing.facts:
                continue
            value = thing.facts[relation.name]
            if relation.is_link:
                targets[value] = relation.name
                continue
            facts.append((number + 1, LABELS[relation.name], relation.name, *write_value(relation.value, value)))
        links += [(number + 1, target + 1, relation) for target, relation in targets.items()]
    for number in range(size, len(corpus.articles)):
        links += [(number + 1, target + 1, "") for target in corpus.links[number]]
    insert_rows(database, "facts (article, label, relation, value, place, amount)", facts)
    insert_rows(database, "links", links)
    watched = [
        (article + 1, NOTES[int(rng.integers(len(NOTES)))] if rng.random() < 0.4 else "")
        for article in rng.permutation(size)[:10].tolist()
    ]
    insert_rows(database, "watched (article, note)", watched)
