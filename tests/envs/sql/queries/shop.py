"""A small schema and its query parts, for tests."""

from __future__ import annotations

from palaestra.envs.sql.databases.relations import read_domain
from palaestra.envs.sql.queries.query_tree import ColumnName, Compare, JoinTo, OrderKey, SelectQuery

_LINES = (
    "store | store | stores",
    "    name name place | name",
    "    area int 1 9 1 | floor area",
    "sale | sale | sales | store?",
    "    price real 1 9 0.5 | price",
    "    cost? real 1 9 0.5 | unit cost",
    "    sold_on date | sale date",
)
SCHEMA = read_domain("shop", _LINES)
PRICE, COST, NAME = ColumnName("sale", "price"), ColumnName("sale", "cost"), ColumnName("store", "name")
JOIN = JoinTo("INNER", ColumnName("store", "store_id"), ColumnName("sale", "store_id"))
QUERY = SelectQuery(
    (PRICE, NAME),
    "sale",
    (JOIN,),
    (Compare(PRICE, ">", 3.5),),
    order=(OrderKey(PRICE), OrderKey(ColumnName("sale", "sale_id"), True)),
    limit=2,
)
