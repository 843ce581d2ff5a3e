"""What all sites share."""

from __future__ import annotations

import contextlib
import gc
import re
import sqlite3

import pytest
from palaestra.envs.web.sites import databases, site
from palaestra.envs.web.sites.databases import MOST_IDLE, connect, insert_rows, open_database, release
from palaestra.envs.web.sites.site import count_noun, generate
from werkzeug.test import Client


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [(1, "reply", "1 reply"), (2, "reply", "2 replies"), (0, "vote", "0 votes"), (21, "day", "21 days")],
)
def test_nouns_agree_with_their_number(number: int, noun: str, text: str):
    assert count_noun(number, noun) == text


def make_content(*columns: str) -> bytes:
    with contextlib.closing(open_database()) as database:
        database.execute(f"CREATE TABLE account ({', '.join(columns)})")
        database.execute(f"INSERT INTO account VALUES ({', '.join('?' * len(columns))})", columns)
        return database.save()


@pytest.fixture(autouse=True)
def no_idle_connections(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(databases, "_idle", [])


def test_a_query_has_the_columns_of_its_own_database_whatever_the_connection_served_before():
    contents = [make_content("id", "name"), make_content("id", "name", "city", "street")]
    for content, count in zip(contents * 2, (2, 4, 2, 4), strict=True):
        database = connect(content)
        row = database.execute("SELECT * FROM account").fetchone()
        release(database)
        assert len(row) == count
        assert list(row) == row.keys()


def test_a_content_is_read_once_until_somebody_changes_it():
    first, other = generate("shop", 24, 1), generate("shop", 24, 2)
    connection = connect(first)
    release(connection)
    again = connect(first)
    assert again is connection
    again.execute("DELETE FROM products")
    release(again)
    again = connect(first)
    assert again is connection
    assert len(again.execute("SELECT id FROM products").fetchall()) == 24
    release(again)
    assert connect(other) is connection  # which has the tables of a shop


def test_of_too_many_idle_connections_the_oldest_is_closed():
    contents = [make_content(f"column{number}") for number in range(MOST_IDLE + 2)]
    used = [connect(content) for content in contents]
    for one in used:
        release(one)
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        used[1].execute("SELECT 1")
    assert [connect(content) is one for content, one in zip(contents, used, strict=True)] == [False, False] + [
        True
    ] * 16


def test_rows_that_were_read_are_read_again_after_a_change_and_after_one_that_is_undone():
    database, sql = connect(make_content("id")), "SELECT id FROM account"
    first = database.read(sql)
    assert first == [("id",)]
    assert database.read(sql) is first
    database.execute("BEGIN")
    database.execute("UPDATE account SET id = 2")
    assert database.read(sql) == [(2,)]
    database.execute("ROLLBACK")
    assert database.read(sql) == [("id",)]
    database.execute("UPDATE account SET id = 3")
    assert database.read(sql) == [(3,)]
    database.load(make_content("id"))
    assert database.read(sql) == [("id",)]


@pytest.mark.parametrize("number", [0, 1, 3, 64, 87])
def test_rows_are_inserted_in_their_order_however_many_there_are(number: int):
    with contextlib.closing(open_database()) as database:
        database.execute("CREATE TABLE pairs (id INTEGER PRIMARY KEY, one, two DEFAULT 5)")
        insert_rows(database, "pairs (one)", ((row * row,) for row in range(number)))
        assert database.read("SELECT * FROM pairs") == [(row + 1, row * row, 5) for row in range(number)]


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


def test_no_garbage_is_collected_while_a_site_is_filled_and_collection_goes_on_after_it():
    runs: list[int] = []

    def note(phase: str, info: dict[str, int]) -> None:
        runs.append(info["generation"])

    threshold = gc.get_threshold()
    gc.set_threshold(20, 1_000, 1_000)
    gc.callbacks.append(note)
    try:
        generate.__wrapped__("forum", 24, 3)
        during = len(runs)
        kept = [[] for _ in range(100)]
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*threshold)
    assert gc.isenabled()
    # The fill makes some thousand objects; only what comes before and after it is collected.
    assert during < 20 < 2 * len(kept)
    assert len(runs) > during
