"""A reader of articles that knows no world: it finds facts in sentences by the wordings of the relations alone."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from palaestra.envs.web.wiki.corpus import Article
from palaestra.envs.web.wiki.listings import LISTED_AT
from palaestra.envs.web.wiki.wiki_relations import BY_KIND, RELATIONS
from palaestra.envs.web.wiki.world import MONTHS

_LINK = re.compile(r"\[\[([^\]|]+)(?:\|[^\]]*)?\]\]")

Fact = tuple[str, str, Any]
"""A title, a relation, and the value: a title, a number, or (year, month, day)."""


def matches(wording: str, name: str, text: str) -> str | None:
    """The text in the place of the value, where the sentence has this wording."""
    pattern = (
        re.escape(wording).replace(r"\{S\}", f"(?:{re.escape(name)}|He|She|It)").replace(r"\{s\}", re.escape(name))
    )
    found = re.fullmatch(pattern.replace(r"\{o\}", "(.+)"), text)
    return found[1] if found else None


def value_in(text: str, kind: str) -> Any:
    """What a value of this kind says; None where the text is none."""
    if kind == "date":
        found = re.fullmatch(r"(\d+) ([A-Z][a-z]+) (\d{4})", text)
        return (int(found[3]), MONTHS.index(found[2]) + 1, int(found[1])) if found else None
    if kind in ("year", "number"):
        return int(text.replace(",", "")) if re.fullmatch(r"[\d,]+", text) else None
    return found[1] if (found := _LINK.fullmatch(text)) else None


def read_sentence(page: Article, text: str) -> set[tuple[str, bool, Any]]:
    """All that a sentence may say: (relation, whether it is a list, the value or the titles on the list)."""
    name = re.sub(r" \([^)]*\)$", "", page.title)
    found: set[tuple[str, bool, Any]] = set()
    for relation in BY_KIND[page.kind]:
        for wording in relation.sentences:
            value = value_in(matches(wording, name, text) or "", relation.value)
            if value is not None:
                found.add((relation.name, False, value))
    for listing in LISTED_AT.get(page.kind, ()):
        only = listing.only.replace("{}", "{s}")
        for wording in (*listing.sentences, f"T{only[1:]} is {{o}}."):
            listed = matches(wording, name, text)
            if listed and re.fullmatch(rf"{_LINK.pattern}(?:(?:, | and ){_LINK.pattern})*", listed):
                found.add((listing.relation, True, tuple(m[1] for m in _LINK.finditer(listed))))
    return found


def read_page(page: Article) -> tuple[set[Fact], set[Fact]]:
    """The facts that an article states of its own thing, and those that its lists state of others.

    Raises:
        AssertionError: a sentence can be read in several ways, or in none.
    """
    own: set[Fact] = set()
    listed: set[Fact] = set()
    for sentence in page.sentences[1:]:
        readings = read_sentence(page, sentence.text)
        assert len(readings) == 1, (sentence.text, readings)
        ((relation, is_list, value),) = readings
        if is_list:
            listed |= {(title, relation, page.title) for title in value}
        else:
            own.add((page.title, relation, value))
    return own, listed


def answer(form: tuple[Any, ...], facts: Mapping[tuple[str, str], Any], title_of: Mapping[int, str]) -> set[Any]:
    """Evaluate a logical form over facts that were read, (title, relation) -> value, by looking at each of them."""

    def year(value: Any) -> int:
        return value[0] if isinstance(value, tuple) else value

    head, *rest = form
    if head == "thing":
        return {title_of[rest[0]]}
    if head == "of":
        return {facts[title, rest[0]] for title in answer(rest[1], facts, title_of) if (title, rest[0]) in facts}
    if head == "having":
        wanted = answer(rest[1], facts, title_of)
        return {title for (title, relation), value in facts.items() if relation == rest[0] and value in wanted}
    if head == "both":
        return answer(rest[0], facts, title_of) & answer(rest[1], facts, title_of)
    if head == "count":
        return {len(answer(rest[0], facts, title_of))}
    if head == "more":
        (one,), (other,) = (answer(part, facts, title_of) for part in rest[1:])
        first, second = facts[one, rest[0]], facts[other, rest[0]]
        if RELATIONS[rest[0]].value == "number":
            first, second = -first, -second
        return {one if first < second else other} if first != second else set()
    (one,), (other,) = (answer(("of", *rest[place : place + 2]), facts, title_of) for place in (0, 2))
    return {abs(year(one) - year(other))}
