"""Schemas: their notation, their DDL, and the parts of them that tasks use."""

from __future__ import annotations

from palaestra.envs.sql.databases.domains import read_domains
from palaestra.envs.sql.databases.relations import read_domain

SHOP = """
store | store | stores
    name name place | name
sale | sale | sales | store?
    price? real 1 4 0.5 | price
    ~ cost int 1 9 2 | unit cost
"""


def test_a_schema_is_read_and_written_as_sql():
    schema = read_domain("shop", SHOP.split("\n"))
    assert schema.ddl == (
        "CREATE TABLE store (store_id INTEGER PRIMARY KEY, name TEXT NOT NULL);\n"
        "CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, store_id INTEGER REFERENCES store, price REAL, "
        "cost INTEGER NOT NULL);"
    )
    assert schema.outline == "store(store_id, name)\nsale(sale_id, store_id -> store, price, cost)"
    assert schema.children("store") == ["sale"]
    assert schema.ancestors("sale") == {"store"}
    assert schema["sale"]["cost"].phrase == "unit cost"


def test_a_part_has_no_reference_to_absent_tables_and_only_the_spare_columns_asked_for():
    schema = read_domain("shop", SHOP.split("\n"))
    assert [field.name for field in schema.select(["sale"])["sale"].fields] == ["sale_id", "price"]
    assert [field.name for field in schema.select(["sale"], [("sale", "cost")])["sale"].fields][-1] == "cost"


def test_there_are_nine_domains_of_three_to_eight_tables_with_parents_before_children():
    domains = read_domains()
    assert len({domain.domain for domain in domains}) == 9
    for domain in domains:
        assert 3 <= len(domain.names) <= 8
        for place, relation in enumerate(domain.relations):
            assert {field.values[0] for field in relation.parents} <= set(domain.names[:place])
            names, phrases = ([getattr(field, key) for field in relation.fields] for key in ("name", "phrase"))
            assert len(set(names)) == len(names)
            assert len(set(phrases)) == len(phrases)
