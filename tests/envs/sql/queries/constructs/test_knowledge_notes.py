"""Notes, on rows worked out by hand."""

from __future__ import annotations

from palaestra.envs.sql.queries.constructs.knowledge_notes import CodeIs, NetNumber, SeasonIs, Term
from palaestra.envs.sql.queries.query_tree import ColumnName, Compare, IsMissing, SelectQuery

from .firm import NAME, SCHEMA, WAGE, ask, run

COST, TAX, DATE = (ColumnName("trip", name) for name in ("cost", "tax", "made_on"))
TERM = Term("notable", Compare(COST, ">=", 2), IsMissing(TAX, True), "AND")
NET = NetNumber("total", COST, "+", TAX)
RULE = "a season runs from the beginning of May to the end of April, and is named after both years."
SEASON = SeasonIs(DATE, "2022-05-01", "2023-04-30", "season 2022/23", RULE)


def misses(query):
    """The results of the near misses of a query's notes."""
    (condition,) = query.where
    return [run(SelectQuery(query.columns, query.table, where=(one,))) for _, one in condition.changes(SCHEMA)]


def test_a_word_stands_for_two_conditions():
    query = SelectQuery((COST,), "trip", where=(TERM,))
    assert run(query) == [(2.0,), (4.0,), (6.0,)]
    assert run(query) not in misses(query)[1:2]
    assert ask(query) == (
        "For every trip counted as notable, give its cost. Do not remove duplicate rows. Note: a trip counts as "
        "notable if its cost is at least 2 and its tax is known (not NULL)."
    )


def test_a_missing_part_of_a_number_counts_as_zero():
    query = SelectQuery((NET,), "trip")
    assert run(query) == [(1.0,), (2.0,), (3.0,), (4.5,), (9.0,)]
    others = [run(SelectQuery((one,), "trip")) for _, one in NET.changes(SCHEMA)]
    assert run(query) not in others
    assert ask(query) == (
        "For every trip, give its total. Do not remove duplicate rows. Note: the total of a trip is the cost plus the "
        "tax; a missing tax counts as 0."
    )
    assert ask(query, "names").endswith(
        "the total of a row of trip is trip.cost plus trip.tax; if trip.tax is NULL, it counts as 0."
    )


def test_a_season_spans_two_years():
    query = SelectQuery((DATE,), "trip", where=(SEASON,))
    assert run(query) == [("2022-05-01",), ("2022-05-31",), ("2022-06-01",)]
    found = misses(query)
    assert [("2022-03-31",), *run(query)] in found
    assert [("2022-05-31",), ("2022-06-01",)] in found
    assert ask(query).startswith("For every trip whose trip date lies in the season 2022/23, give its trip date.")


def test_a_code_stands_for_a_word():
    codes = (("Ann", "first"), ("Bo", "second"), ("Cy", "third"))
    query = SelectQuery((WAGE,), "worker", where=(CodeIs(NAME, "Ann", codes),))
    assert run(query) == [(5,)]
    assert run(query) not in misses(query)
    assert ask(query) == (
        "For every worker whose name is first, give its wage. Do not remove duplicate rows. Note: the name of a worker "
        "is kept as a code, 'Ann' for first, 'Bo' for second, and 'Cy' for third."
    )
