"""Orders: whether a query sorts its result, and what becomes of rows that it leaves tied."""

from __future__ import annotations

import sqlite3

import pytest
from palaestra.rewards import verify
from palaestra.rewards.verifiers.sql_order import break_ties, is_ordered

SCHEMA = """
CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT, price REAL);
INSERT INTO t VALUES (1, 'ann', 2), (2, 'bob', 1), (3, 'cal', 2), (4, 'ann', 1);
"""


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT 1 ORDER BY 1", True),
        ("SELECT 1 order\n by 1", True),
        ("SELECT 1 FROM (SELECT 2 ORDER BY 1)", False),
        ("SELECT row_number() OVER (ORDER BY id) FROM t", False),
        ("SELECT ')' FROM t ORDER /* x */ BY 1", True),
        ("SELECT 'ORDER BY' -- ORDER BY 1", False),
        ('SELECT "order by" FROM t', False),
    ],
)
def test_whether_a_query_orders(query: str, ordered: bool):
    assert is_ordered(query) == ordered


OPEN = {
    "SELECT id FROM t": [4, 3, 2, 1],
    "SELECT id FROM t LIMIT 2;": [4, 3],
    "SELECT id FROM t ORDER BY price": [4, 2, 3, 1],
    "SELECT id FROM t ORDER BY price DESC -- dear ones first\nLIMIT 3 OFFSET 1 ; -- all": [1, 4, 2],
    "WITH u AS (SELECT * FROM t ORDER BY id) SELECT id FROM u": [4, 3, 2, 1],
    "SELECT name FROM t GROUP BY name ORDER BY COUNT(*) DESC": ["ann", "cal", "bob"],
    # SQLite makes groups in the direction of the order.
    "SELECT price, name FROM t GROUP BY 1, 2 ORDER BY COUNT(*), price DESC": [
        "2.0 cal",
        "2.0 ann",
        "1.0 bob",
        "1.0 ann",
    ],
    "SELECT DISTINCT t.price AS p, name FROM t ORDER BY p DESC": ["2.0 cal", "2.0 ann", "1.0 ann", "1.0 bob"],
    "SELECT name FROM t UNION SELECT 'bea'": ["cal", "bob", "bea", "ann"],
    "SELECT name, RANK() OVER (ORDER BY price) AS r FROM t ORDER BY r": ["ann 1", "bob 1", "cal 3", "ann 3"],
}
TOTAL = {
    "SELECT id FROM t ORDER BY price, id": [2, 4, 1, 3],
    "SELECT name FROM t GROUP BY name ORDER BY COUNT(*) DESC, name": ["ann", "bob", "cal"],
    "SELECT DISTINCT t.price, name n FROM t ORDER BY price, 2 DESC": ["1.0 bob", "1.0 ann", "2.0 cal", "2.0 ann"],
    "SELECT DISTINCT price + 1 FROM t ORDER BY PRICE + 1 DESC LIMIT 1": [3.0],
    "SELECT name FROM t UNION SELECT 'bea' ORDER BY 1 LIMIT 3": ["ann", "bea", "bob"],
}


@pytest.mark.parametrize("query", [*OPEN, *TOTAL])
def test_tied_rows_come_in_both_orders_and_others_in_one(query: str):
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    ways = break_ties(query)
    assert ways is not None
    rows = [connection.execute(way).fetchall() for way in ways]
    connection.close()
    forwards, backwards = ([row[0] if len(row) == 1 else " ".join(map(str, row)) for row in found] for found in rows)
    assert backwards == (OPEN | TOTAL)[query]
    assert (forwards == backwards) == (query in TOTAL)


@pytest.mark.parametrize(
    "query",
    [
        "VALUES (1), (2)",
        "(SELECT 1)",
        "SELECT DISTINCT * FROM t ORDER BY id",
        "SELECT DISTINCT name FROM t ORDER BY id",
        "SELECT DISTINCT t.name, u.name FROM t JOIN t AS u ORDER BY name",
        "",
    ],
)
def test_what_cannot_be_written_so_is_left(query: str):
    assert break_ties(query) is None


def test_an_accidental_order_is_wrong_where_ties_count():
    reference = {"schema": [SCHEMA], "gold": "SELECT name FROM t ORDER BY price, id"}
    for accident in ("SELECT name FROM t ORDER BY price", "SELECT name FROM (SELECT * FROM t ORDER BY price, id)"):
        assert verify("sql", accident, reference).success
        assert not verify("sql", accident, {**reference, "tied": [0]}).success
    outside = "SELECT name FROM (SELECT name, price * 100 + id AS k FROM t) ORDER BY k"
    assert verify("sql", outside, {**reference, "tied": [0]}).success
    # It cannot be written in reverse, and counts as it is.
    assert verify("sql", "VALUES ('bob'), ('ann'), ('ann'), ('cal')", {**reference, "tied": [0]}).success
