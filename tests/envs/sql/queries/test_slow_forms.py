"""Queries with a slow form."""

from __future__ import annotations

import pytest
from palaestra.envs.sql.queries.computed import EarlierRows
from palaestra.envs.sql.queries.query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    IsAmong,
    RankOver,
    SelectQuery,
    SetQuery,
)
from palaestra.envs.sql.queries.slow_forms import has_slow_form

PRICE, STORE = ColumnName("sale", "price"), ColumnName("store", "store_id")
SALES = SelectQuery((PRICE,), "sale")
CHILDREN = IsAmong(STORE, SelectQuery((ColumnName("sale", "store_id"),), "sale"), True)
MEAN = Compare(PRICE, ">", SelectQuery((AggregateOf("AVG", PRICE),), "sale"))


@pytest.mark.parametrize(
    ("query", "slow"),
    [
        (SALES, False),
        (SelectQuery((AggregateOf("COUNT"),), "sale", where=(MEAN,)), False),
        (SelectQuery((PRICE,), "sale", where=(IsAmong(PRICE, SALES),)), False),
        (SelectQuery((PRICE, AggregateOf("COUNT")), "sale", group=(PRICE,)), True),
        (SelectQuery((PRICE, RankOver("RANK", PRICE, True)), "sale"), True),
        (SelectQuery((EarlierRows("SUM", PRICE, ColumnName("sale", "sale_id")),), "sale"), True),
        (SelectQuery((EarlierRows("LAG", PRICE, ColumnName("sale", "sale_id")),), "sale"), False),
        (SelectQuery((STORE,), "store", where=(CHILDREN,)), True),
        (SetQuery("UNION", SALES, SelectQuery((STORE,), "store", where=(CHILDREN,))), True),
    ],
)
def test_groups_ranks_and_rows_of_other_tables_have_one(query, slow):
    assert has_slow_form(query) is slow
