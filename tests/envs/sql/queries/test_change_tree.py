"""Changes write themselves as the statements that they stand for."""

from __future__ import annotations

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
from palaestra.envs.sql.queries.query_tree import AggregateOf, ColumnName, Compare, SelectQuery

from .shop import COST, JOIN, NAME, PRICE  # isort: skip

KEY, LINK, STORE = ColumnName("sale", "sale_id"), ColumnName("sale", "store_id"), ColumnName("store", "store_id")
CHEAP = SelectQuery((KEY,), "sale", (), (Compare(PRICE, "<", 3),))
NORTH = SelectQuery((KEY,), "sale", (JOIN,), (Compare(NAME, "=", "North"),))
STORES = SelectQuery((STORE,), "store", (), (Compare(NAME, "=", "North"),))


def test_rows_are_named_by_conditions_or_by_their_keys_if_tables_are_joined():
    update = UpdateRows((SetColumn(PRICE, Shifted(PRICE, "+", 2)), SetColumn(COST, GivenValue(None))), CHEAP)
    assert update.sql() == "UPDATE sale SET price = price + 2, cost = NULL WHERE price < 3"
    assert DeleteRows(NORTH).sql() == (
        "DELETE FROM sale WHERE sale_id IN (SELECT sale.sale_id FROM sale "
        "JOIN store ON store.store_id = sale.store_id WHERE store.name = 'North')"
    )


def test_rows_that_refer_to_deleted_ones_go_first_or_lose_their_reference():
    change = Change((DeleteRows(STORES, (LINK,)), DeleteRows(STORES, (), (LINK,))))
    chosen = "WHERE store_id IN (SELECT store_id FROM store WHERE name = 'North')"
    assert change.statements == [
        f"DELETE FROM sale {chosen}",
        "DELETE FROM store WHERE name = 'North'",
        f"UPDATE sale SET store_id = NULL {chosen}",
        "DELETE FROM store WHERE name = 'North'",
    ]
    assert change.tables == ["store", "sale"]


def test_values_come_from_parents_children_and_cases():
    area = ColumnName("store", "area")
    parent, total = ParentValue(area, LINK), ChildTotal(AggregateOf("COUNT"), LINK, STORE)
    assert parent.sql() == "(SELECT store.area FROM store WHERE store.store_id = sale.store_id)"
    assert total.sql() == "(SELECT COUNT(*) FROM sale WHERE sale.store_id = store.store_id)"
    case = CaseValue(Compare(PRICE, ">", 3), GivenValue(1), COST)
    assert case.sql(False) == "CASE WHEN price > 3 THEN 1 ELSE cost END"


def test_rows_are_inserted_from_words_or_from_other_rows():
    plain = InsertValues("store", ("store_id", "name"), ((7, "East"), (8, None)))
    assert plain.sql() == "INSERT INTO store (store_id, name) VALUES (7, 'East'), (8, NULL)"
    stored = InsertValues("store", ("store_id", "name"), ((7, "East"),), ("name",))
    assert stored.sql().endswith(" ON CONFLICT (store_id) DO UPDATE SET name = excluded.name")
    copied = InsertSelected("sale", ("sale_id", "price"), (Shifted(KEY, "+", 100), PRICE), NORTH)
    assert copied.sql() == (
        "INSERT INTO sale (sale_id, price) SELECT sale.sale_id + 100, sale.price FROM sale "
        "JOIN store ON store.store_id = sale.store_id WHERE store.name = 'North'"
    )
