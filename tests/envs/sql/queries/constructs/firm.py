"""A schema with a hierarchy, children in two tables and a view, with a few rows, for tests."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import numpy as np
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.databases.contents import make_database
from palaestra.envs.sql.databases.relations import Field, View, read_domain
from palaestra.envs.sql.queries.query_tree import ColumnName
from palaestra.envs.sql.queries.wording import write_question

_LINES = (
    "team | team | teams",
    "    name name place | name",
    "worker | worker | workers | team?",
    "    name name person | name",
    "    wage int 1 9 1 | wage",
    "trip | trip | trips | worker",
    "    cost real 1 9 0.5 | cost",
    "    tax? real 1 9 0.5 | tax",
    "    made_on date | trip date",
    "gift | gift | gifts | worker",
    "    value? int 1 9 1 | value",
)
SUPERIOR = Field("superior_id", "self", "superior id", nullable=True, values=("worker",))
SCHEMA = read_domain("firm", _LINES).with_field("worker", SUPERIOR)
VIEW = View("worker_trips", "trip", "SELECT worker_id, COUNT(*) AS number FROM trip GROUP BY worker_id", ("worker_id",))
VIEWED = replace(SCHEMA, views=(VIEW,))
NAME, WAGE, TEAM = (ColumnName("worker", name) for name in ("name", "wage", "team_id"))
# Bo is the superior of Cy and Di, Di of Eve; Ann is alone. Ann, Bo and Cy are a team, Di and Eve are in none.
ROWS = {
    "team": [(1, "Harbour")],
    "worker": [
        (1, 1, "Ann", 5, None),
        (2, 1, "Bo", 7, None),
        (3, 1, "Cy", 7, 2),
        (4, None, "Di", 3, 2),
        (5, None, "Eve", 9, 4),
    ],
    "trip": [
        (1, 1, 2.0, None, "2022-03-31"),
        (2, 1, 2.0, 1.0, "2022-05-01"),
        (3, 2, 4.0, 0.5, "2022-05-31"),
        (4, 2, 1.0, None, "2023-05-02"),
        (5, 3, 6.0, 3.0, "2022-06-01"),
    ],
    "gift": [(1, 1, 3), (2, 1, 3), (3, 1, 8), (4, 2, None), (5, 4, 2)],
}


def run(query, schema=SCHEMA):
    """The rows of a query, sorted."""
    with contextlib.closing(make_database(schema, ROWS)) as connection:
        return sorted(connection.execute(query.sql()).fetchall(), key=repr)


def same_misses(query, schema=SCHEMA):
    """The SQL of the query's own near misses with the query's result."""
    return [miss.sql() for _, miss in query.changes(schema) if run(miss, schema) == run(query, schema)]


class First(Dice):
    """Always the first wording."""

    def one(self, items):
        return items[0]


def ask(query, style="phrases", schema=SCHEMA):
    return write_question(query, schema, style, First(np.random.default_rng(0)))
