"""Witnesses: databases on which near misses have other results."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    IsMissing,
    JoinTo,
    OrderKey,
    SelectQuery,
    StartsWith,
)
from palaestra.envs.sql.queries.witnesses import FEWEST, choose_focus, derive_rows, find_witnesses, read_elsewhere
from palaestra.rewards.verifiers.sql import compare_results, same_rows

from .shop import COST, NAME, PRICE, QUERY, SCHEMA

AREA = ColumnName("store", "area")


def seek_witnesses(query, seed, first=None):
    rows = draw_rows(SCHEMA, seed if first is None else first)
    with contextlib.closing(make_database(SCHEMA, rows)) as connection:
        return find_witnesses(query, SCHEMA, rows, connection, seed)


def test_a_count_of_all_rows_has_no_columns_to_change():
    """By chance, some contents have as many rows as the first ones, so that further ones are sought."""
    for seed in range(12):
        assert seek_witnesses(SelectQuery((AggregateOf("COUNT"),), "store"), seed, 2).expected


def test_every_near_miss_of_a_plain_query_is_told_on_some_database():
    witnesses = seek_witnesses(QUERY, 1)
    assert witnesses.survivors == ()
    assert FEWEST <= len(witnesses.expected) <= len(witnesses.near_misses)
    assert {"join", "comparison", "order", "limit", "column", "distinct", "condition"} <= set(witnesses.near_misses)
    for wrong in (QUERY.sql().replace(">", ">="), QUERY.sql().replace("JOIN", "LEFT JOIN")):
        assert not compare_results(wrong, witnesses.expected, ordered=True).success
    assert compare_results(QUERY.sql().lower(), witnesses.expected, ordered=True).success


def test_a_query_without_its_last_key_is_told_where_rows_tie():
    query = replace(QUERY, order=(OrderKey(PRICE), OrderKey(ColumnName("sale", "sale_id"))))
    for seed in range(5):
        witnesses = seek_witnesses(query, seed)
        assert set() < {*witnesses.tied} <= {*witnesses.expected}
        accident = query.sql().replace(", sale.sale_id", "")
        judged = [
            compare_results(text, witnesses.expected, ordered=True, tied=tied).success
            for text, tied in ((accident, ()), (accident, witnesses.tied), (query.sql(), witnesses.tied))
        ]
        assert judged == [True, False, True]
        assert not any(kind == "order" for kind, _ in witnesses.survivors)


def test_an_equivalent_query_is_known_as_such_and_accepted():
    # No sale is without price, so that both count the same.
    query = SelectQuery((AggregateOf("COUNT", PRICE),), "sale")
    witnesses = seek_witnesses(query, 2)
    assert ("null", "SELECT COUNT(*) FROM sale") in witnesses.equivalent
    assert witnesses.survivors == ()
    assert compare_results("SELECT COUNT(*) FROM sale", witnesses.expected, ordered=False).success


def test_the_result_that_the_prompt_lets_one_compute_is_wrong_on_another_database():
    for seed in range(20):
        witnesses = seek_witnesses(SelectQuery((AggregateOf("MIN", PRICE),), "sale"), seed)
        assert witnesses.is_good
        assert not compare_results(
            f"VALUES ({witnesses.expected[0][1][0][0]})", witnesses.expected, ordered=False
        ).success


def test_near_misses_that_are_not_run_are_told_as_by_running_them():
    columns = (PRICE, COST)
    told = {"limit": 0, "distinct": 0, "column": 0}
    for query in (SelectQuery(columns, "sale"), SelectQuery(columns, "sale", limit=4, order=(OrderKey(PRICE),))):
        for kind, miss in near_misses(query, SCHEMA):
            if (way := derive_rows(miss, query)) is None:
                continue
            for seed in range(8):
                with contextlib.closing(make_database(SCHEMA, draw_rows(SCHEMA, seed, most=4 + seed))) as connection:
                    rows, wrong = (connection.execute(one.sql()).fetchall() for one in (query, miss))
                assert same_rows(way(rows), rows, False) == same_rows(wrong, rows, False)
                told[kind] += not same_rows(wrong, rows, False)
    assert all(told.values())


def test_a_bound_in_a_nested_query_is_told():
    inner = SelectQuery((AggregateOf("AVG", COST),), "sale", where=(Compare(PRICE, ">", 3.5),))
    query = SelectQuery((AggregateOf("COUNT", COST, True),), "sale", where=(Compare(COST, ">=", inner),))
    witnesses = seek_witnesses(query, 5)
    assert witnesses.is_good
    for wrong in ("price > 3.51", "price >= 3.5", "price < 3.5"):
        text = query.sql().replace("price > 3.5", wrong)
        assert not compare_results(text, witnesses.expected, ordered=False).success


def test_a_bound_at_the_mean_is_told_by_a_flat_column():
    query = SelectQuery(
        (AggregateOf("COUNT"),), "sale", where=(Compare(COST, ">", SelectQuery((AggregateOf("AVG", COST),), "sale")),)
    )
    place = ("sale", "cost")
    plain, near, flat = (focus.only.get(place, ()) for focus in choose_focus(query, SCHEMA))
    assert (len(plain), len({*near}) > 4, len(flat)) == (0, True, 1)
    witnesses = seek_witnesses(query, 3)
    assert all("cost >= (SELECT AVG(cost)" not in sql for _, sql in witnesses.survivors)


@pytest.mark.parametrize("operator", [">", ">=", "<", "<="])
@pytest.mark.parametrize("column", [AREA, COST], ids=["whole", "real"])
def test_other_averages_in_a_nested_query_are_told_or_proved_equal(operator, column):
    mean = SelectQuery((AggregateOf("AVG", column),), column.table)
    name = column.name
    query = SelectQuery((AggregateOf("COUNT"),), column.table, where=(Compare(column, operator, mean),))
    whole = f"SUM({name}) / COUNT({name})" if column == AREA else f"CAST(AVG({name}) AS INTEGER)"
    wrong = {f"ROUND(AVG({name}))", whole}
    wrong |= {f"SUM({name}) * 1.0 / COUNT(*)"} if column == COST else set()
    witnesses = seek_witnesses(query, 4)
    assert [one for one in witnesses.survivors if one[0] == "average"] == []
    # No whole number lies between the average and the same without its fraction.
    equal = {whole} if column == AREA and operator in (">", "<=") else set()
    assert {text for kind, text in witnesses.equivalent if kind == "average"} == {
        query.sql().replace(f"AVG({name})", one) for one in equal
    }
    # Halves that are rounded down, as other engines do.
    for one in (*wrong, f"ROUND(AVG({name}) - 1e-6)"):
        text = query.sql().replace(f"AVG({name})", one)
        assert compare_results(text, witnesses.expected, ordered=False).success == (one in equal)


def test_what_is_told_is_refused_by_the_few_databases_that_are_kept():
    mean = SelectQuery((AggregateOf("AVG", COST),), "sale", where=(Compare(PRICE, "<", 7),))
    nested = replace(QUERY, where=(Compare(COST, ">", mean),), limit=None)
    grouped = SelectQuery((PRICE, AggregateOf("AVG", COST)), "sale", group=(PRICE,), order=(OrderKey(PRICE),))
    for query in (QUERY, nested, grouped):
        for seed in range(3):
            witnesses = seek_witnesses(query, seed)
            accepted = {text for _, text in (*witnesses.survivors, *witnesses.equivalent)}
            assert len(witnesses.expected) < len(witnesses.near_misses) / 2
            for _, miss in near_misses(query, SCHEMA):
                ordered, text = bool(query.order), miss.sql()
                judged = compare_results(text, witnesses.expected, ordered=ordered, tied=witnesses.tied)
                assert judged.success == (text in accepted), text


def test_columns_that_are_compared_have_equal_values_and_keep_their_constraints():
    where = (Compare(COST, "<=", PRICE), IsMissing(COST, True))
    query = SelectQuery((PRICE, COST), "sale", where=where)
    assert None in choose_focus(query, SCHEMA)[0].values["sale", "cost"]
    assert None not in choose_focus(query, SCHEMA)[0].values["sale", "price"]
    witnesses = seek_witnesses(query, 3)
    assert not compare_results(query.sql().replace("<=", "<"), witnesses.expected, ordered=False).success


def test_a_pattern_is_told_where_capitals_differ_from_small_letters():
    query = SelectQuery((AREA,), "store", where=(StartsWith(NAME, "R"),))
    for seed in range(6):
        witnesses = seek_witnesses(query, seed)
        for wrong in ("LIKE '%R%'", "GLOB '*R*'"):
            text = query.sql().replace("LIKE 'R%'", wrong)
            assert not compare_results(text, witnesses.expected, ordered=False).success


def test_a_pattern_that_the_query_lacks_is_also_read_as_by_engines_that_heed_capitals():
    right = "SELECT kind FROM a WHERE name LIKE 'R%'"
    assert read_elsewhere("SELECT kind FROM a WHERE kind LIKE 'R%'", right) == "SELECT kind FROM a WHERE kind GLOB 'R*'"
    assert read_elsewhere(f"{right} LIMIT 3", right) == f"{right} LIMIT 3"


def test_witnesses_keep_the_references_of_the_schema():
    join = JoinTo("LEFT", ColumnName("store", "store_id"), ColumnName("sale", "store_id"))
    query = replace(QUERY, joins=(join,), limit=None)
    for seed in range(5):
        for database, _ in seek_witnesses(query, seed).expected:
            with contextlib.closing(make_database(SCHEMA, {"store": [], "sale": []})) as connection:
                connection.deserialize(database.image)
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
