"""The verdict on large databases: slow queries are refused, each time alike, and fast ones are judged by their rows."""

from __future__ import annotations

from typing import Any

import pytest
from palaestra.envs.sql.engines import EngineFailure, QueryLimits, make_engine
from palaestra.envs.sql.engines import large_grading as judged
from palaestra.envs.sql.engines.large_grading import TOO_SLOW, grade_large
from palaestra.rewards.verifiers.sql import Database

from .engines import engine_or_skip

TABLES = "CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, store INTEGER NOT NULL);"
NUMBERS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3000)"
SALES = Database(schema=f"{TABLES}\n{NUMBERS} INSERT INTO sale SELECT i, i * i % 7 FROM n;")
GOLD = "SELECT store, COUNT(*) FROM sale GROUP BY store"
SLOW = "SELECT DISTINCT store, (SELECT COUNT(*) FROM sale AS b WHERE b.store = a.store) FROM sale AS a"
PAIRS = "SELECT a.store, COUNT(DISTINCT a.sale_id) FROM sale AS a, sale AS b WHERE a.sale_id <= b.sale_id GROUP BY 1"


def grade(query: str, engine: str = "sqlite") -> Any:
    return grade_large(query, GOLD, SALES, 3000, ordered=False, engine=engine, schema=TABLES)


@pytest.mark.parametrize("query", [SLOW, PAIRS, SLOW.replace("b.store = a.store", "b.store LIKE a.store")])
def test_a_slow_query_is_refused_in_the_same_way_each_time(query: str):
    verdicts = [grade(query) for _ in range(20)]
    assert {(one.success, one.valid, one.malformed, one.feedback) for one in verdicts} == {
        (
            *(False, True, True),
            f"{TOO_SLOW} on tables of up to 3,000 rows: it takes more than 20 times the operations of a plain one.",
        )
    }


def test_operations_are_the_same_each_time_and_are_limited():
    loaded = make_engine("sqlite").load(SALES)
    (operations,) = {loaded.query(GOLD, QueryLimits(operations=10**9)).operations for _ in range(20)}
    assert 10_000 < operations < 100_000
    loaded.query(GOLD, QueryLimits(operations=operations))
    with pytest.raises(TimeoutError, match="operations"):
        loaded.query(GOLD, QueryLimits(operations=operations - 1_000))


@pytest.mark.parametrize("engine", ["sqlite", "duckdb", "postgres"])
def test_fast_queries_are_right_if_their_rows_are(engine: str):
    engine_or_skip(engine)
    for query in (GOLD, f"WITH one AS ({GOLD}) SELECT * FROM one", GOLD.replace("*", "sale_id")):
        assert grade(query, engine).success
    wrong = grade(GOLD.replace("sale GROUP", "sale WHERE sale_id < 3000 GROUP"), engine)
    assert (wrong.success, wrong.malformed) == (False, False)
    assert grade("SELECT nothing FROM sale", engine).feedback.startswith("The query fails")


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_other_engines_have_a_limit_of_time(engine: str, monkeypatch):
    engine_or_skip(engine)
    monkeypatch.setattr(judged, "LEAST_SECONDS", 0.01)
    monkeypatch.setattr(judged, "FACTOR", 0.1)
    cubes = "SELECT COUNT(*), 1 FROM sale AS a, sale AS b, sale AS c WHERE a.sale_id + b.sale_id <> c.sale_id"
    assert f"{TOO_SLOW} on tables of up to 3,000 rows: it takes more than 0.0 s." in grade(cubes, engine).feedback


def test_a_failure_of_the_engine_says_nothing_of_the_query(monkeypatch):
    grade(GOLD)

    def lose(*_):
        raise EngineFailure("the server is gone")

    monkeypatch.setattr(judged, "_run", lose)
    assert not grade("SELECT 1").valid
