"""Queries as SQL."""

from __future__ import annotations

from dataclasses import replace

from palaestra.envs.sql.queries.near_misses import near_misses
from palaestra.envs.sql.queries.query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    EitherOf,
    IsMissing,
    SelectQuery,
    SetQuery,
    Within,
    YearOf,
    count_matches,
    is_ordered_query,
    list_words,
    rewrite,
    write_clauses,
)

from .shop import COST, PRICE, QUERY, SCHEMA


def test_columns_have_their_table_only_where_there_are_several():
    assert QUERY.sql() == (
        "SELECT sale.price, store.name FROM sale JOIN store ON store.store_id = sale.store_id "
        "WHERE sale.price > 3.5 ORDER BY sale.price, sale.sale_id DESC LIMIT 2"
    )
    between = Within(PRICE, 1, 2.5)
    alone = SelectQuery((AggregateOf("COUNT"), AggregateOf("COUNT", COST, True)), "sale", where=(between,))
    assert alone.sql() == "SELECT COUNT(*), COUNT(DISTINCT cost) FROM sale WHERE price BETWEEN 1 AND 2.5"


def test_conditions_nest():
    either = EitherOf(IsMissing(COST, True), Compare(PRICE, "<>", 4))
    mean = SelectQuery((AggregateOf("AVG", COST),), "sale", where=(either,))
    year = YearOf(ColumnName("sale", "sold_on"))
    query = SelectQuery((year,), "sale", where=(Compare(COST, ">=", mean),), distinct=True)
    assert query.sql() == (
        "SELECT DISTINCT CAST(strftime('%Y', sold_on) AS INTEGER) FROM sale WHERE cost >= "
        "(SELECT AVG(cost) FROM sale WHERE (cost IS NOT NULL OR price <> 4))"
    )


def test_clauses_that_are_known_are_not_written_again():
    both = SetQuery(
        "UNION", SelectQuery((COST,), "sale", where=(Compare(PRICE, ">", 2),)), SelectQuery((COST,), "sale")
    )
    for query in (QUERY, both):
        known = write_clauses(query)
        assert query.sql(known) == query.sql()
        for _, miss in near_misses(query, SCHEMA):
            assert miss.sql(known) == miss.sql()
    assert QUERY.sql({id(QUERY.where): "kept"}) == QUERY.sql().replace("sale.price > 3.5", "kept")


def test_a_tree_is_rewritten_from_its_leaves():
    changed = rewrite(QUERY, lambda node: COST if node == PRICE else node)
    assert changed.sql() == QUERY.sql().replace("sale.price", "sale.cost")


def test_a_set_operation_is_ordered_by_its_column():
    side = SelectQuery((COST,), "sale")
    query = SetQuery("EXCEPT", side, side, True, True)
    assert query.sql() == "SELECT cost FROM sale EXCEPT SELECT cost FROM sale ORDER BY 1 DESC"
    assert is_ordered_query(query)
    assert not is_ordered_query(side)


def test_queries_that_differ_in_constants_and_order_alone_have_the_same_words():
    one, other = Compare(PRICE, ">", 3.5), Compare(COST, "=", 1)
    queries = [replace(QUERY, where=where) for where in ((one, other), (other, replace(one, right=2)))]
    assert list_words(queries[0]) == list_words(queries[1]) != list_words(QUERY)


def test_the_matches_of_a_query_are_counted_before_it_is_cut():
    assert count_matches(QUERY).sql() == (
        "SELECT COUNT(*) FROM sale JOIN store ON store.store_id = sale.store_id WHERE sale.price > 3.5"
    )
