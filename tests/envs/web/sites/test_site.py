"""What all sites share."""

from __future__ import annotations

import sqlite3
from collections import deque

import pytest
from palaestra.envs.web.sites import site
from palaestra.envs.web.sites.site import count_noun


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
