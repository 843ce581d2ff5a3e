"""Faults: each slip is refused by the database, and is the one that its words name."""

from __future__ import annotations

import sqlite3

import pytest
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.queries.faults import faults
from palaestra.envs.sql.queries.query_tree import AggregateOf, ColumnName, Compare, SelectQuery, YearOf

from .shop import JOIN, NAME, PRICE, QUERY, SCHEMA

YEAR = YearOf(ColumnName("sale", "sold_on"))
GROUPED = SelectQuery(
    (YEAR, AggregateOf("COUNT")),
    "sale",
    where=(Compare(PRICE, ">", 3.5),),
    group=(YEAR,),
    having=(Compare(AggregateOf("COUNT"), ">", 1),),
)
NAMED = SelectQuery((ColumnName("store", "store_id"), NAME), "sale", (JOIN,), (Compare(NAME, "=", "Old Mill"),))


@pytest.mark.parametrize(
    ("query", "kinds"),
    [
        (QUERY, {"table", "column", "join", "clauses"}),
        (GROUPED, {"table", "column", "function", "clauses", "aggregate"}),
        (NAMED, {"table", "column", "join", "ambiguity", "quotation"}),
    ],
)
def test_every_slip_is_refused(query: SelectQuery, kinds: set[str]):
    connection = make_database(SCHEMA, draw_rows(SCHEMA, 1))
    connection.execute(query.sql())
    found = list(faults(query, SCHEMA))
    assert {kind for kind, _, _ in found} == kinds
    for _, _, wrong in found:
        with pytest.raises(sqlite3.OperationalError):
            connection.execute(wrong)


def test_slips_in_other_dialects_are_slips_there():
    found = {kind: wrong for kind, _, wrong in faults(GROUPED, SCHEMA, "postgres")}
    assert set(found) == {"table", "column", "function", "clauses", "aggregate"}
    assert found["function"].startswith("SELECT DATE_FORMAT(sold_on, '%Y'), COUNT(*)")
    assert "EXTRACT(YEAR FROM" in found["aggregate"]


def test_slips_are_the_ones_that_their_words_name():
    found = {(kind, mistake): wrong for kind, mistake, wrong in faults(GROUPED, SCHEMA)}
    assert found["table", "The table is called sale."].count(" FROM sales ") == 1
    assert " soldon" in found["column", "The column is called sold_on."].replace("(", " ").replace(", ", " ")
    misplaced = found["aggregate", "A condition on an aggregate belongs to HAVING."]
    assert "WHERE price > 3.5 AND COUNT(*) > 1 GROUP BY" in misplaced
    assert found["clauses", "WHERE stands before GROUP BY."].index("GROUP BY") < misplaced.index("WHERE") + 60
