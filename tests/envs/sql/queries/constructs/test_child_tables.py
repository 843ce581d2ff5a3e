"""Aggregates of children in two tables, on rows worked out by hand."""

from __future__ import annotations

from palaestra.envs.sql.queries.constructs.child_tables import ChildAggregate, ChildAggregates
from palaestra.envs.sql.queries.query_tree import ColumnName, Compare, replace

from .firm import NAME, ask, run, same_misses

TRIPS = ChildAggregate("trip", "worker_id", "SUM", ColumnName("trip", "cost"), ())
GIFTS = ChildAggregate("gift", "worker_id", "COUNT", None, (Compare(ColumnName("gift", "value"), ">=", 3),))
QUERY = ChildAggregates("worker", (NAME,), (), (TRIPS, GIFTS))


def test_children_of_two_tables_are_counted_apart():
    assert run(QUERY) == [("Ann", 4.0, 3), ("Bo", 5.0, 0), ("Cy", 6.0, 0), ("Di", None, 0), ("Eve", None, 0)]
    joined = replace(QUERY, form="joined")
    # Each of Ann's two trips meets each of her three gifts.
    assert run(joined)[0] == ("Ann", 12.0, 6)
    assert run(replace(QUERY, form="distinct"))[0] == ("Ann", 2.0, 3)
    assert run(replace(QUERY, form="inner")) == [("Ann", 4.0, 3)]
    assert same_misses(QUERY) == []


def test_numbers_of_children_are_compared():
    counts = tuple(replace(part, function="COUNT", column=None) for part in QUERY.parts)
    compared = replace(QUERY, counts=counts, compared=">")
    assert run(compared) == [("Bo", 5.0, 0), ("Cy", 6.0, 0)]
    # A join pairs no two children of Bo and Cy, who have none in one of the tables.
    assert same_misses(compared) == [replace(compared, form="joined").sql()]


def test_questions_say_which_children_count():
    assert ask(QUERY) == (
        "For every worker, give its name, then the sum of the cost of its trips, and then the number of its gifts "
        "whose value is at least 3. A worker with none of these trips or none of these gifts is listed as well. Do not "
        "remove duplicate rows."
    )
    assert "the sum of trip.cost of rows of trip that refer to it, and then the number of rows of gift" in ask(
        QUERY, "names"
    )
