"""What logical forms denote, on a world whose facts are set by hand."""

from __future__ import annotations

import pytest
from palaestra.envs.web.wiki.logical_forms import denote, write_noun
from palaestra.envs.web.wiki.world import Thing, WikiWorld


@pytest.fixture
def world() -> WikiWorld:
    """Two novels by one author, a third by another; both were born in one city."""
    made = WikiWorld(0, 20)
    made.things = [
        Thing("city", "Oskvale", facts={"population": 900, "charter": 1400}),
        Thing("person", "Ann Bell", facts={"born": (1800, 2, 3), "birthplace": 0}),
        Thing("person", "Carl Dorn", facts={"born": (1800, 2, 2), "birthplace": 0}),
        Thing("novel", "The Salt Road", facts={"author": 1, "published": 1830, "pages": 300}),
        Thing("novel", "The Iron Road", facts={"author": 1, "published": 1841, "pages": 200}),
        Thing("novel", "The Pale Road", facts={"author": 2, "published": 1830}),
    ]
    made.having = {}
    for number, thing in enumerate(made.things):
        for name, value in thing.facts.items():
            made.having.setdefault((name, value), []).append(number)
    return made


@pytest.mark.parametrize(
    ("form", "values"),
    [
        (("of", "born", ("of", "author", ("thing", 4))), {(1800, 2, 3)}),
        (("of", "population", ("of", "birthplace", ("of", "author", ("thing", 3)))), {900}),
        (("having", "author", ("thing", 1)), {3, 4}),
        (("having", "author", ("having", "birthplace", ("thing", 0))), {3, 4, 5}),
        (("both", ("having", "author", ("thing", 1)), ("having", "published", ("of", "published", ("thing", 5)))), {3}),
        (("count", ("having", "birthplace", ("thing", 0))), {2}),
        (("more", "pages", ("thing", 3), ("thing", 4)), {3}),
        (("more", "published", ("thing", 4), ("thing", 3)), {3}),
        (("more", "born", ("of", "author", ("thing", 3)), ("of", "author", ("thing", 5))), {2}),
        (("more", "published", ("thing", 3), ("thing", 5)), set()),
        (("more", "pages", ("thing", 3), ("thing", 5)), set()),
        (("between", "published", ("thing", 4), "born", ("thing", 1)), {41}),
        (("between", "published", ("thing", 3), "published", ("thing", 5)), set()),
        (("of", "died", ("thing", 1)), set()),
    ],
)
def test_forms_denote_what_the_facts_say(world: WikiWorld, form: tuple, values: set):
    assert denote(world, form) == values


def test_forms_are_worded_from_the_inside():
    form = ("of", "population", ("of", "birthplace", ("having", "author", ("thing", 1))))
    assert write_noun(form, {1: "Ann Bell"}) == "the population of the birthplace of the only novel by Ann Bell"
