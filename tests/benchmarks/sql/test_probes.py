"""Probes: averages and orders written otherwise, and none of them accepted."""

from __future__ import annotations

from palaestra.benchmarks.sql.labels import write_for
from palaestra.benchmarks.sql.probes import other_averages, other_orders, probe_graders

NESTED = "SELECT AVG(b) FROM t WHERE a > (SELECT AVG(a) FROM t WHERE b < 2) ORDER BY AVG(b), c LIMIT 3"


def test_averages_of_nested_queries_are_written_in_other_ways():
    found = dict(other_averages(NESTED))
    assert len(found) == len(set(found.values())) == 5
    assert found["average: NULL as 0"] == NESTED.replace("AVG(a)", "SUM(a) * 1.0 / COUNT(*)")
    assert not dict(other_averages("SELECT AVG(a) FROM t"))


def test_a_mistake_is_the_same_in_other_dialects():
    text = "SELECT SUM(t.a) / COUNT(t.a), SUM(b) * 1.0 / COUNT(*) FROM t"
    assert write_for(text, "sqlite") == text
    duckdb = write_for(text, "duckdb")
    assert "SUM(t.a) // " in duckdb
    assert "SUM(b) * 1.0 / " in duckdb


def test_orders_lose_their_last_key_or_all():
    assert dict(other_orders(NESTED)) == {
        "order: without the last key": NESTED.replace(", c", ""),
        "order: left out": NESTED.replace(" ORDER BY AVG(b), c", ""),
    }
    assert [name for name, _ in other_orders("SELECT a FROM t UNION SELECT b FROM t ORDER BY 1")] == ["order: left out"]
    assert not dict(other_orders("SELECT a FROM (SELECT a FROM t ORDER BY a)"))


def test_mistakes_that_contents_tell_are_refused():
    found = {one.mistake: one for one in probe_graders(["sqlite"], 3)}
    assert len(found) == 7
    assert all(one.tasks >= one.wrong >= 1 for one in found.values())
    assert sum(one.wrong for one in found.values()) > 20
    assert sum(one.accepted["sqlite"] for one in found.values()) == 0
