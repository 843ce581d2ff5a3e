"""Views, on rows worked out by hand."""

from __future__ import annotations

from palaestra.envs.sql.databases.relations import View, replace
from palaestra.envs.sql.queries.constructs.schema_views import TotalsThroughView
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_steps import write_steps
from palaestra.envs.sql.queries.query_tree import ColumnName, SelectQuery

from .firm import NAME, SCHEMA, VIEWED, ask, run, same_misses

QUERY = TotalsThroughView("worker", (NAME,), (), "worker_trips", "trip", None, True)
COST = ColumnName("trip", "cost")
DEAR = replace(SCHEMA, views=(View("dear_trips", "trip", "SELECT * FROM trip WHERE cost >= 4", ("cost",)),))


def test_rows_that_a_view_leaves_out_have_zero():
    assert run(QUERY, VIEWED) == [("Ann", 2), ("Bo", 2), ("Cy", 1), ("Di", 0), ("Eve", 0)]
    assert same_misses(QUERY, VIEWED) == []
    assert ask(QUERY, schema=VIEWED) == (
        "For every worker, give its name and the number of all its trips. A worker with none of these trips is listed "
        "as well. Do not remove duplicate rows."
    )


def test_the_average_of_a_view_is_over_its_rows():
    compared = replace(QUERY, compared="<")
    # On average of those with trips, a worker has made 5/3 of them.
    assert run(compared, VIEWED) == [("Cy", 1)]
    assert "whose number is less than the average number of all rows of that view." in ask(compared, schema=VIEWED)


def test_a_table_and_a_view_of_it_are_near_misses_of_each_other():
    table = SelectQuery((COST,), "trip")
    view = replace(table, view="dear_trips")
    assert run(table, DEAR) == [(1.0,), (2.0,), (2.0,), (4.0,), (6.0,)]
    assert run(view, DEAR) == [(4.0,), (6.0,)]
    assert ("view", view) in near_misses(table, DEAR)
    assert ("view", table) in near_misses(view, DEAR)
    assert ask(view, schema=DEAR).startswith("For every trip that the view dear_trips contains, give its cost.")
    assert write_steps(view)[0] == "The rows come from the view dear_trips."


def test_prompts_show_the_view():
    assert VIEWED.ddl.split("\n")[-1] == (
        "CREATE VIEW worker_trips AS SELECT worker_id, COUNT(*) AS number FROM trip GROUP BY worker_id;"
    )
    assert VIEWED.outline.split("\n")[-1] == VIEWED.ddl.split("\n")[-1]
