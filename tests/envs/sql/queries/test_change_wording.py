"""Requests for changes in both styles."""

from __future__ import annotations

import numpy as np
import pytest
from palaestra.envs.code.programs.dice import Dice
from palaestra.envs.sql.queries.change_tree import (
    CaseValue,
    Change,
    ChildTotal,
    DeleteRows,
    GivenValue,
    InsertSelected,
    InsertValues,
    ParentValue,
    SetColumn,
    Shifted,
    UpdateRows,
)
from palaestra.envs.sql.queries.change_wording import write_request
from palaestra.envs.sql.queries.query_tree import AggregateOf, ColumnName, Compare, SelectQuery

from .shop import COST, NAME, PRICE, SCHEMA  # isort: skip

KEY, LINK, STORE = ColumnName("sale", "sale_id"), ColumnName("sale", "store_id"), ColumnName("store", "store_id")
AREA = ColumnName("store", "area")
SALES, STORES = SelectQuery((KEY,), "sale"), SelectQuery((STORE,), "store", (), (Compare(NAME, "<>", "North"),))


@pytest.mark.parametrize(
    ("step", "names", "phrases"),
    [
        (
            UpdateRows((SetColumn(COST, Shifted(COST, "-", 2)),), SALES),
            "For every row of sale, set sale.cost to sale.cost minus 2 (NULL stays NULL).",
            "For every sale, set its unit cost to its unit cost minus 2 (NULL stays NULL).",
        ),
        (
            UpdateRows((SetColumn(PRICE, ParentValue(AREA, LINK)),), SALES),
            "set sale.price to the store.area of the row of store that sale.store_id refers to (NULL where "
            "sale.store_id is NULL).",
            "set its price to its store's floor area (NULL without a store).",
        ),
        (
            UpdateRows((SetColumn(AREA, ChildTotal(AggregateOf("COUNT"), LINK, STORE)),), STORES),
            "set store.area to the number of rows of sale with sale.store_id = store.store_id.",
            "For every store whose name is not 'North', set its floor area to the number of all sales that refer to "
            "it.",
        ),
        (
            UpdateRows((SetColumn(PRICE, CaseValue(Compare(COST, "=", 2), GivenValue(1), PRICE)),), SALES),
            "and leave it as it is otherwise.",
            "and leave it as it is otherwise.",
        ),
        (
            DeleteRows(STORES, (LINK,)),
            "Also delete all rows of sale that refer to one of them.",
            "Also delete all sales that refer to one of them.",
        ),
        (
            DeleteRows(STORES, (), (LINK,)),
            "Keep all rows of sale that refer to one of them, with NULL as sale.store_id.",
            "Keep all sales that refer to one of them, with NULL as their store id.",
        ),
        (
            InsertValues("store", ("store_id", "name", "area"), ((7, "East", 3),)),
            "Add this row of store:\n- store_id 7, name 'East', area 3",
            "Add this store:\n- id 7, name 'East', floor area 3",
        ),
        (
            InsertValues("sale", ("sale_id", "price", "sold_on"), ((7, 3, "2022-01-03"),), ("price", "sold_on")),
            "If there is a row with the same sale_id, replace its values by the given ones, and keep its store_id and "
            "cost. If there is none, add it, with NULL as store_id and cost.",
            "If there is a sale with the same id, replace its values by the given ones, and keep its store id and unit "
            "cost. If there is none, add it, with NULL as store id and unit cost.",
        ),
        (
            InsertSelected("sale", ("sale_id", "price"), (Shifted(KEY, "+", 100), PRICE), SALES),
            "with these values (sale.sale_id: sale.sale_id of that row plus 100; sale.price: sale.price of that row; "
            "sale.store_id, sale.cost, and sale.sold_on: NULL).",
            "with these values (id: the sale's id plus 100; price: the sale's price; store id, unit cost, and sale "
            "date: NULL).",
        ),
    ],
)
def test_a_request_says_which_rows_change_and_how(step, names, phrases):
    for style, text in (("names", names), ("phrases", phrases)):
        assert text in write_request(Change((step,)), SCHEMA, style, Dice(np.random.default_rng(0)))


def test_steps_are_told_in_their_order():
    steps = tuple(DeleteRows(one) for one in (STORES, SALES, STORES))
    text = write_request(Change(steps), SCHEMA, "phrases", Dice(np.random.default_rng(0)))
    leads = [line.partition(":")[0] for line in text.split("\n")]
    assert leads == ["First", "Then, on the result of that", "Finally, on the result of that"]
