"""Scripts made from right ones of schemas: other spellings, and mistakes in each rule."""

from __future__ import annotations

from palaestra.benchmarks.sql.schema_variants import label_definitions
from palaestra.envs.sql.databases.relations import read_domain
from palaestra.envs.sql.definitions.definition import Definition
from palaestra.envs.sql.definitions.table_design import ColumnDesign, TableDesign

SCHEMA = read_domain("shop", ("store | store | stores", "    name name place | name"))
TABLE = TableDesign(
    "sale",
    "sale_id",
    (
        ColumnDesign("store_id", "int", required=True, parent="store"),
        ColumnDesign("price", "real", low=1.5, default=2),
        ColumnDesign("kind", "text", required=True, among=("new", "old")),
    ),
    (("store_id", "kind"),),
)


def test_each_rule_is_left_out_once_and_written_in_other_ways():
    definition = Definition("create", SCHEMA, TABLE)
    found = list(label_definitions(definition, definition.statements("sqlite"), "sqlite"))
    right = {one.made: one.text for one in found if one.right}
    wrong = [one.made for one in found if not one.right]
    assert "FOREIGN KEY (store_id) REFERENCES store (store_id)" in right["rules of the table"]
    assert "CREATE UNIQUE INDEX index_0 ON sale (store_id, kind);" in right["unique indexes"]
    assert wrong.count("NOT NULL left out") == wrong.count("CHECK left out") == 2
    for made in ("pair left out", "DEFAULT left out", "reference left out", "key left out", "other delete action"):
        assert wrong.count(made) == 1, made
