"""Probes of schemas: what each rule adds is told from schemas with one rule too few or too many."""

from __future__ import annotations

from dataclasses import replace

import pytest
from palaestra.envs.sql.databases.relations import read_domain
from palaestra.envs.sql.definitions.definition import Definition
from palaestra.envs.sql.definitions.definition_probes import definition_misses, list_columns, list_probes
from palaestra.envs.sql.definitions.table_design import ColumnDesign, TableDesign, design_of
from palaestra.envs.sql.engines.engine import QueryLimits, Script
from palaestra.envs.sql.engines.sqlite_scripts import run_script_here
from palaestra.rewards.verifiers.sql import Database

_LINES = ("store | store | stores", "    name name place | name", "    area int 1 9 1 | floor area")
SCHEMA = read_domain("shop", _LINES)
SHOP = Database(schema=f"{SCHEMA.ddl} INSERT INTO store VALUES (1, 'North', 3), (2, 'South', 4), (3, 'East', 4);")
PLAIN = TableDesign("sale", "sale_id", (ColumnDesign("store_id", "int", parent="store"), ColumnDesign("price", "int")))


def outcomes(definition: Definition, probes=None):
    script = Script(tuple(definition.statements("sqlite")), True, probes or list_probes(definition))
    return run_script_here(SHOP, script, QueryLimits(9.0)).outcomes


def with_price(**rules):
    return replace(PLAIN, columns=(PLAIN.columns[0], replace(PLAIN.columns[1], **rules)))


@pytest.mark.parametrize(
    "table",
    [
        PLAIN,
        with_price(required=True),
        with_price(default=4),
        with_price(low=3),
        with_price(unique=True, required=True),
        with_price(kind="text", among=("low", "high")),
        replace(PLAIN, columns=(replace(PLAIN.columns[0], action="CASCADE"), PLAIN.columns[1])),
        replace(PLAIN, columns=(replace(PLAIN.columns[0], action="SET NULL"), PLAIN.columns[1])),
        replace(with_price(required=True), pairs=(("store_id", "price"),)),
    ],
)
def test_each_mistake_in_a_table_is_told(table):
    definition = Definition("create", SCHEMA, table)
    probes, expected = list_probes(definition), outcomes(definition)
    assert sum(one is not None for one in expected) > 3
    assert sum(one is None for one in expected) > 1
    misses = list(definition_misses(definition))
    assert len(misses) > 6
    for kind, miss in misses:
        is_other_type = kind == "type"  # SQLite stores any type in any column; the columns' types tell
        assert outcomes(miss, probes) != expected or is_other_type, miss.sql()


def test_rows_so_far_must_stay_and_get_the_values_asked_for():
    old = design_of(SCHEMA["store"])
    table = replace(old, columns=(*old.columns, ColumnDesign("floor", "int", required=True)))
    definition = Definition("add", SCHEMA, table, "store", (*old.names, "7"), filled=("floor", 7))
    assert outcomes(definition)[0] == ((1, "North", 3, 7), (2, "South", 4, 7), (3, "East", 4, 7))
    kinds = {kind for kind, miss in definition_misses(definition) if outcomes_or_error(miss) != outcomes(definition)}
    assert {"rows", "value", "null", "default"} <= kinds


def outcomes_or_error(definition: Definition):
    try:
        return outcomes(definition)
    except ValueError as error:
        return str(error)


def test_columns_are_listed_with_classes_of_types():
    definition = Definition("create", SCHEMA, with_price(kind="date"))
    assert set(list_columns(definition)) == {
        *(("store", "store_id", "whole"), ("store", "name", "text"), ("store", "area", "whole")),
        *(("sale", "sale_id", "whole"), ("sale", "store_id", "whole"), ("sale", "price", "text")),
    }


def test_a_table_in_place_of_a_view_is_told_as_it_shows_old_rows():
    view = ("big", ("name",), "SELECT name FROM store WHERE area > 3")
    definition = Definition("view", SCHEMA, view=view)
    expected = outcomes(definition)
    assert expected[1:] == ((("South",), ("East",)), ())
    assert [outcomes(miss, list_probes(definition)) == expected for _, miss in definition_misses(definition)] == [
        *(False, False),
    ]
