"""Rows compared with others of their table, on rows worked out by hand."""

from __future__ import annotations

import pytest
from palaestra.envs.sql.queries.constructs.self_comparisons import (
    PeerAggregate,
    PeerBenchmark,
    PeerPairs,
    SharedGroup,
)
from palaestra.envs.sql.queries.query_tree import ColumnName, Compare, replace

from .firm import NAME, SCHEMA, TEAM, WAGE, ask, run, same_misses

KEY = ColumnName("worker", "worker_id")
GROUP = SharedGroup(TEAM, null_safe=True)
COUNT = PeerAggregate("worker", (NAME,), (), GROUP, WAGE, ">", "COUNT(*)")
NEXT = PeerAggregate("worker", (NAME,), (), GROUP, WAGE, ">", "NEAREST")
PAIRS = PeerPairs("worker", (NAME,), (NAME,), (), GROUP, KEY, ">")
ABOVE = PeerBenchmark("worker", (NAME,), (), GROUP, WAGE, ">", "AVG")
LEAST = PeerBenchmark("worker", (NAME,), (), GROUP, WAGE, "=", "MIN")


@pytest.mark.parametrize(
    ("query", "rows"),
    [
        (COUNT, [("Ann", 2), ("Bo", 0), ("Cy", 0), ("Di", 1), ("Eve", 0)]),
        (NEXT, [("Ann", 7), ("Bo", None), ("Cy", None), ("Di", 9), ("Eve", None)]),
        (PAIRS, [("Ann", "Bo"), ("Ann", "Cy"), ("Bo", "Cy"), ("Di", "Eve")]),
        (ABOVE, [("Bo",), ("Cy",), ("Eve",)]),
        (LEAST, [("Ann",), ("Di",)]),
    ],
)
def test_a_row_is_compared_with_its_group_and_those_without_a_group_are_one(query, rows):
    assert run(query) == rows


def test_near_misses_differ():
    for query in (COUNT, PAIRS, LEAST):
        assert same_misses(query) == []
    # Above Ann's are two equal wages, the next and the last at once.
    assert len(same_misses(NEXT)) == 1
    # Each wage lies on the same side of four averages: of the group or all, of all wages or of different ones.
    assert len(same_misses(ABOVE)) == 3
    ((_, plain),) = GROUP.changes(SCHEMA)
    assert run(replace(COUNT, group_by=plain)) == [("Ann", 2), ("Bo", 0), ("Cy", 0), ("Di", 0), ("Eve", 0)]


def test_questions_name_the_group_and_the_order():
    assert ask(COUNT) == (
        "For every worker, give its name and the number of all workers that have the same team as it (two without a "
        "team count as the same) and have a larger wage than it (0 if there are none). Do not remove duplicate rows."
    )
    assert ask(NEXT, "names") == (
        "For every row of worker, give worker.name and the smallest worker.wage above its own among all rows of worker "
        "that have the same worker.team_id as it (two that are NULL count as the same), or NULL if there is none. Do "
        "not remove duplicate rows."
    )
    first = PeerPairs("worker", (NAME,), (NAME,), (Compare(WAGE, ">=", 5),), GROUP, WAGE, "<")
    assert ask(first) == (
        "For every pair of workers that have the same team (two without a team count as the same) and of which the "
        "first has a larger wage than the second, give the first one's name and the second one's name. Do not remove "
        "duplicate rows. Take only pairs in which the first is one whose wage is at least 5; the second need not meet "
        "this."
    )
    assert run(first) == [("Bo", "Ann"), ("Cy", "Ann"), ("Eve", "Di")]
    assert ask(ABOVE).startswith(
        "For every worker, give its name. Keep only those whose wage is more than the average wage of all workers "
        "(itself included) that have the same team as it (two without a team count as the same)."
    )
