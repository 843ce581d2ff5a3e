"""Statements of changes of schemas."""

from __future__ import annotations

from dataclasses import replace

from palaestra.envs.sql.databases.relations import read_domain
from palaestra.envs.sql.definitions.definition import Definition
from palaestra.envs.sql.definitions.table_design import ColumnDesign, TableDesign, design_of

SCHEMA = read_domain("shop", ("sale | sale | sales", "    price real 1 9 0.5 | price", "    cost? real 1 9 1 | cost"))
SALE = design_of(SCHEMA["sale"])


def test_tables_write_their_rules():
    columns = (
        ColumnDesign("store_id", "int", parent="store", action="CASCADE"),
        ColumnDesign("kind", "text", required=True, default="new", among=("new", "old")),
        ColumnDesign("price", "real", low=1.5, unique=True),
    )
    table = TableDesign("sale", "sale_id", columns, (("kind", "price"),))
    assert table.sql("sqlite") == (
        "CREATE TABLE sale (sale_id INTEGER PRIMARY KEY, store_id INTEGER REFERENCES store ON DELETE CASCADE, "
        "kind TEXT NOT NULL DEFAULT 'new' CHECK (kind IN ('new', 'old')), price REAL UNIQUE CHECK (price >= 1.5), "
        "UNIQUE (kind, price))"
    )
    assert "price DOUBLE PRECISION" in table.sql("postgres")


def test_a_column_is_added_by_alter_where_the_engine_can():
    new = ColumnDesign("floor", "int", required=True, default=7)
    table = replace(SALE, columns=(*SALE.columns, new))
    added = Definition("add", SCHEMA, table, "sale", (*SALE.names, "7"), filled=("floor", 7))
    assert added.statements("sqlite") == ["ALTER TABLE sale ADD COLUMN floor INTEGER NOT NULL DEFAULT 7"]
    assert len(added.statements("duckdb")) == 5
    stated = replace(table, columns=(*SALE.columns, replace(new, default=None)))
    assert replace(added, table=stated).statements("sqlite")[0] == "CREATE TABLE sale_before AS SELECT * FROM sale"


def test_names_change_by_alter():
    renamed = replace(SALE, name="deal", columns=(replace(SALE.columns[0], name="amount"), SALE.columns[1]))
    assert Definition("rename", SCHEMA, renamed, "sale", SALE.names).statements("duckdb") == [
        "ALTER TABLE sale RENAME COLUMN price TO amount",
        "ALTER TABLE sale RENAME TO deal",
    ]
    fewer = replace(SALE, columns=SALE.columns[:1])
    dropped = Definition("drop", SCHEMA, fewer, "sale", fewer.names)
    assert dropped.statements("sqlite") == ["ALTER TABLE sale DROP COLUMN cost"]
    assert dropped.after == [("sale", ("sale_id", "price"))]
    assert Definition("drop", SCHEMA, None, "sale").statements("sqlite") == ["DROP TABLE sale"]


def test_a_part_is_split_off_with_the_rows_that_have_a_value():
    part = TableDesign("sale_cost", "sale_id", (replace(SALE.columns[1], required=True),), key_parent="sale")
    fewer = replace(SALE, columns=SALE.columns[:1])
    statements = Definition("split", SCHEMA, fewer, "sale", fewer.names, part).statements("sqlite")
    assert statements[-2].endswith("SELECT sale_id, cost FROM sale_before WHERE cost IS NOT NULL")
    assert "sale_id INTEGER PRIMARY KEY REFERENCES sale" in statements[-3]
