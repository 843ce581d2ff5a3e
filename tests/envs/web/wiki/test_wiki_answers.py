"""Values that agents write: names with their further names, dates and numbers in the usual ways."""

from __future__ import annotations

import pytest
from palaestra.envs.web.wiki.corpus import make_corpus
from palaestra.envs.web.wiki.wiki_answers import judge_value, read_date, read_number

CORPUS = make_corpus(1, 160)


@pytest.mark.parametrize(
    "text",
    [
        *("12 March 1845", "March 12, 1845", "12th of March 1845", "1845-03-12", "12 Mar 1845", "on 12 march 1845"),
        *("Mar. 12, 1845", "12-March-1845"),
    ],
)
def test_dates_are_read_in_the_usual_ways(text: str):
    assert read_date(text) == (1845, 3, 12)


@pytest.mark.parametrize(
    "text",
    ["", "1845", "1845-13-01", "March 1845", "12 Brumaire 1845", "12 March 1845 or 1846", "12/3/1845", "31 June 1845"],
)
def test_what_is_no_date_is_none(text: str):
    assert read_date(text) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("48,000", 48000),
        ("48000 people", 48000),
        ("48 000", 48000),
        ("in 1845", 1845),
        ("3", 3),
        ("12 square kilometres", 12),
    ],
)
def test_numbers_are_read_with_separators_and_units(text: str, number: int):
    assert read_number(text) == number


@pytest.mark.parametrize("text", ["", "many", "3 or 4", "4,80", "-3", "3.5", "2 thousand", "2 or fewer", "about 2"])
def test_what_is_no_number_is_none(text: str):
    assert read_number(text) is None


def test_a_thing_is_named_by_title_name_description_and_the_names_that_lead_to_it():
    number = next(n for n, t in enumerate(CORPUS.world.things) if t.kind == "city" and CORPUS.title(n) != t.name)
    thing = CORPUS.world.things[number]
    for text in (
        CORPUS.title(number),
        thing.name.upper(),
        f"the city {thing.name}",
        thing.aliases[0],
        f'"{thing.name}."',
    ):
        assert judge_value(CORPUS, text, number, True) is True
    other = next(n for n, t in enumerate(CORPUS.world.things) if t.kind == "city" and n != number)
    assert judge_value(CORPUS, CORPUS.title(other), number, True) is False
    assert judge_value(CORPUS, "Atlantis", number, True) is None
    assert judge_value(CORPUS, "", number, True) is None


def test_a_name_that_others_share_is_no_name_for_those_whose_alias_it_is():
    shared = next(
        name for name in (a for t in CORPUS.world.things for a in t.aliases) if CORPUS.find(name) >= CORPUS.size
    )
    number = next(n for n, t in enumerate(CORPUS.world.things) if shared in t.aliases)
    assert judge_value(CORPUS, shared, number, True) is not True
