"""Slow forms: they have the rows of the query, and are refused on large tables, where fast forms are accepted."""

from __future__ import annotations

import sqlite3

import pytest
from palaestra.benchmarks.sql.slow_forms import judge_slow_forms, slow_queries

SCRIPT = """
CREATE TABLE t (a INTEGER, b INTEGER); CREATE TABLE u (b INTEGER, c INTEGER);
INSERT INTO t VALUES (1, 1), (2, 1), (2, 1), (3, 2), (9, NULL), (4, 3); INSERT INTO u VALUES (1, 7), (2, 8), (3, 8);
"""


@pytest.mark.parametrize(
    ("gold", "forms"),
    [
        ("SELECT b, COUNT(*), AVG(a) FROM t WHERE a < 9 GROUP BY b", {"subquery for each row"}),
        (
            "SELECT b, MAX(a) FROM t WHERE b < 9 GROUP BY b HAVING COUNT(*) > 0 ORDER BY COUNT(*) DESC, b LIMIT 2",
            {"subquery for each row"},
        ),
        ("SELECT u.c, SUM(t.a) FROM t JOIN u ON u.b = t.b GROUP BY u.c", {"subquery for each row", "join on text"}),
        ("SELECT a, RANK() OVER (PARTITION BY b ORDER BY a DESC) FROM t WHERE b IS NOT NULL", {"rows before each row"}),
        ("SELECT b, LAG(c) OVER (ORDER BY b DESC), SUM(c) OVER (ORDER BY b) FROM u", {"rows before each row"}),
        ("SELECT c FROM u WHERE b NOT IN (SELECT b FROM t WHERE b IS NOT NULL AND a > 2)", {"search for each row"}),
    ],
)
def test_slow_forms_have_the_rows_of_the_query(gold: str, forms: set[str]):
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCRIPT)
    found = dict(slow_queries(gold))
    assert found.keys() == forms
    for text in found.values():
        assert sorted(connection.execute(text), key=str) == sorted(connection.execute(gold), key=str)
    connection.close()


def test_slow_forms_are_refused_and_others_accepted():
    for one in judge_slow_forms("sqlite", 5, 0, 2_000, 2):
        assert one.other == one.changed == 0
        assert (one.slow, one.accepted)[one.form in ("right query", "fast")] == one.queries > 0
