"""Hierarchies and series, on rows worked out by hand."""

from __future__ import annotations

import pytest
from palaestra.envs.sql.queries.constructs.recursive_queries import BelowCounts, Hierarchy, MonthSeries, RelatedRows
from palaestra.envs.sql.queries.query_tree import AggregateOf, ColumnName, Compare, replace

from .firm import NAME, WAGE, ask, run, same_misses

CHAIN = Hierarchy("worker", "superior_id", "superior", "worker")
BELOW = RelatedRows("worker", (NAME,), (), CHAIN, 2, False, True)
ABOVE = replace(BELOW, start=5, upwards=True)
DEPTHS = replace(BELOW, start=None)
COUNTS = BelowCounts("worker", (NAME,), (), CHAIN)
MONTHS = MonthSeries(
    "trip", (), ColumnName("trip", "made_on"), 2022, 3, 5, AggregateOf("SUM", ColumnName("trip", "cost"))
)


@pytest.mark.parametrize(
    ("query", "rows", "same"),
    [
        (BELOW, [("Cy", 1), ("Di", 1), ("Eve", 2)], 1),
        (ABOVE, [("Bo", 2), ("Di", 1)], 1),
        (DEPTHS, [("Ann", 1), ("Bo", 1), ("Cy", 2), ("Di", 2), ("Eve", 3)], 0),
        (replace(BELOW, columns=(AggregateOf("SUM", WAGE),), distance=False), [(19,)], 1),
        (COUNTS, [("Ann", 0), ("Bo", 3), ("Cy", 0), ("Di", 1), ("Eve", 0)], 0),
        (MONTHS, [(3, 2.0), (4, None), (5, 6.0)], 0),
    ],
)
def test_rows_at_any_distance_and_months_without_rows_are_found(query, rows, same):
    assert run(query) == rows
    # Two steps reach all rows below Bo and above Eve.
    assert len(same_misses(query)) == same


def test_rows_on_the_way_need_not_meet_the_conditions():
    query = replace(BELOW, where=(Compare(WAGE, ">", 6),))
    assert run(query) == [("Cy", 1), ("Eve", 2)]
    assert run(replace(query, through=True)) == [("Cy", 1)]


def test_questions_say_who_stands_below_whom():
    explained = (
        "worker.superior_id is the id of another worker, its superior (NULL if it has none). A worker stands below its "
        "superior, its superior's superior, and so on; these stand above it. "
    )
    assert ask(BELOW) == (
        f"{explained}For every worker that stands below the worker with the id 2, give its name and the number of "
        "steps from it up to the worker with the id 2 (1 if that is its superior). Do not remove duplicate rows."
    )
    assert ask(replace(ABOVE, where=(Compare(WAGE, ">", 6),)), "names") == (
        f"{explained}For every row of worker that stands above the row of worker with worker_id 5, give worker.name "
        "and the number of steps from the row of worker with worker_id 5 up to it (1 if it is the superior there). "
        "Keep only those where worker.wage is more than 6; others on the way need not meet this. Do not remove "
        "duplicate rows."
    )
    assert ask(MONTHS) == (
        "For each month from March to May 2022, give the number of the month (3 to 5) and the sum of the cost of all "
        "trips whose trip date lies in it. List months without any as well."
    )
