"""Near misses: every kind of mistake, and none that is no query."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_tree import AggregateOf, ColumnName, Compare, OrderKey, SelectQuery

from .shop import COST, NAME, PRICE, QUERY, SCHEMA


def test_a_query_is_missed_in_every_part():
    found = {(kind, query.sql()) for kind, query in near_misses(QUERY, SCHEMA)}
    plain = QUERY.sql()
    expected = {
        ("join", plain.replace("JOIN", "LEFT JOIN")),
        ("comparison", plain.replace(">", ">=")),
        ("comparison", plain.replace(">", "<")),
        ("condition", plain.replace("WHERE sale.price > 3.5 ", "")),
        ("distinct", plain.replace("SELECT", "SELECT DISTINCT")),
        ("column", plain.replace("sale.price, store.name", "store.name, sale.price")),
        ("column", plain.replace("SELECT sale.price", "SELECT sale.cost")),
        ("order", plain.replace("BY sale.price", "BY sale.price DESC")),
        ("order", plain.replace(", sale.sale_id DESC", "")),
        ("limit", plain.replace("LIMIT 2", "LIMIT 3")),
        ("limit", plain.replace("LIMIT 2", "LIMIT 1")),
    }
    assert expected <= found


def test_rows_without_a_partner_are_missed_in_an_inner_query():
    mean = SelectQuery((AggregateOf("AVG", PRICE),), "sale")
    query = replace(QUERY, where=(Compare(PRICE, ">", mean),))
    found = {changed.sql() for kind, changed in near_misses(query, SCHEMA) if kind == "nesting"}
    assert found == {query.sql().replace("FROM sale)", "FROM sale WHERE store_id IS NOT NULL)")}


def test_averages_are_missed_wherever_they_are_but_in_the_order():
    whole, real = (AggregateOf("AVG", one) for one in (ColumnName("store", "area"), COST))
    inner = SelectQuery((real,), "sale", where=(Compare(PRICE, ">", 2),))
    query = SelectQuery(
        (NAME, whole),
        "store",
        where=(Compare(COST, ">", inner),),
        group=(NAME,),
        having=(Compare(whole, ">", 3),),
        order=(OrderKey(whole), OrderKey(NAME)),
    )
    text = query.sql()
    quotient, filled = "SUM(area) / COUNT(area)", "SUM(cost) * 1.0 / COUNT(*)"
    found = {changed.sql() for kind, changed in near_misses(query, SCHEMA) if kind == "average"}
    everywhere = {one for one in found if "AVG" not in one.replace("ROUND(AVG", "").replace("CAST(AVG", "")}
    assert len(everywhere) == 2  # all rounded, or all without their fraction
    assert found - everywhere == {
        *(text.replace("name, AVG(area)", f"name, {one}") for one in (quotient, "ROUND(AVG(area))")),
        *(text.replace("HAVING AVG(area)", f"HAVING {one}") for one in (quotient, "ROUND(AVG(area))")),
        *(text.replace("AVG(cost)", one) for one in ("CAST(AVG(cost) AS INTEGER)", "ROUND(AVG(cost))", filled)),
    }


def test_every_near_miss_runs():
    mean = SelectQuery((AggregateOf("AVG", COST),), "sale")
    nested = replace(QUERY, where=(Compare(COST, ">", mean),))
    with contextlib.closing(make_database(SCHEMA, draw_rows(SCHEMA, 0))) as connection:
        for _, query in [*near_misses(QUERY, SCHEMA), *near_misses(nested, SCHEMA)]:
            connection.execute(query.sql()).fetchall()
