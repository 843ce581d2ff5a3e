"""What all sites share."""

from __future__ import annotations

import re
import sqlite3
from collections import deque

import pytest
from palaestra.envs.web.sites import site
from palaestra.envs.web.sites.site import count_noun
from werkzeug.test import Client


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "reply", "1 reply"), (2, "reply", "2 replies"), (0, "vote", "0 votes"), (21, "day", "21 days")],
)
def test_nouns_agree_with_their_number(number: int, noun: str, text: str):
    assert count_noun(number, noun) == text


def test_a_query_has_the_columns_of_its_own_database_whatever_the_connection_served_before(monkeypatch):
    monkeypatch.setattr(site, "_idle", deque())
    contents = []
    for names in (["id", "name"], ["id", "name", "city", "street"]):
        database = sqlite3.connect(":memory:")
        database.execute(f"CREATE TABLE account ({', '.join(names)})")
        database.execute(f"INSERT INTO account VALUES ({', '.join('?' * len(names))})", names)
        contents.append(database.serialize())
        database.close()
    for content, count in zip(contents * 2, (2, 4, 2, 4), strict=True):
        database = site.connect(content)
        row = database.execute("SELECT * FROM account").fetchone()
        site.release(database)
        assert len(row) == count
        assert list(row) == row.keys()


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours "#rrggbb" (WCAG 2)."""

    def luminance(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_site_has_a_look_of_its_own_that_can_be_read_in_light_and_dark():
    sheets = {}
    names = {site.SITES[name].name for name in site.SITES} - {"tricks"}  # which has no pages
    for name in names:
        answer = Client(site._serve_asset(f"/static/{name}.css")).get("/")
        assert answer.content_type.startswith("text/css")
        sheets[name] = answer.text
        colours = dict(re.findall(r"--([\w-]+): light-dark\((#\w{6}, #\w{6})\)", answer.text))
        for text, ground in (
            *((text, ground) for text in ("ink", "soft", "accent", "error") for ground in ("ground", "paper")),
            *(("ink", "note"), ("accent", "note"), ("on-accent", "accent")),
        ):
            for one, other in zip(colours[text].split(", "), colours[ground].split(", "), strict=True):
                assert contrast(one, other) >= 4.5, (name, text, ground, one, other)
    assert len(set(sheets.values())) == len(sheets) == 7


@pytest.mark.parametrize("path", ["style.css", "nothing.css", "shop", "../shop.css", "shop/style.css"])
def test_nothing_but_the_sheets_of_sites_is_served_as_an_asset(path: str):
    assert site._serve_asset(f"/static/{path}").status_code == 404
