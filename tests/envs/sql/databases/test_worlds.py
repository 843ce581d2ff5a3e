"""Worlds: repeatable, legal, and with the special cases of their focuses."""

from __future__ import annotations

import contextlib

import numpy as np
import pytest
from palaestra.envs.sql.databases.contents import draw_rows, make_database
from palaestra.envs.sql.databases.domains import read_domains
from palaestra.envs.sql.databases.worlds import Focus, draw_worlds

SCHEMA = read_domains()[0]
WANTED, FEW = {("sale", "quantity"): [7]}, {("sale", "sold_on"): ["2022-01-03"], ("sale", "discount"): [2, 3]}
SALES = Focus({"sale"}, WANTED, FEW)


def draw(focuses, count=8, seed=0, schema=SCHEMA):
    others = draw_rows(schema, seed)
    return draw_worlds(schema, np.random.default_rng(seed), focuses, others, count), others


@pytest.mark.parametrize("schema", read_domains(), ids=lambda schema: schema.domain)
def test_worlds_keep_the_constraints_of_the_schema(schema):
    for tables in (schema.names[-2:], schema.names):
        worlds, others = draw([Focus({*tables}, {})], schema=schema)
        for world in range(worlds.count):
            # NOT NULL and the keys are checked by sqlite as the rows go in, references afterwards.
            with contextlib.closing(make_database(schema, others | worlds.rows(world))) as connection:
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_same_seed_gives_the_same_worlds():
    one, other, third = (draw([SALES], seed=seed)[0] for seed in (3, 3, 4))
    assert one.rows(5) == other.rows(5) != third.rows(5)
    assert one.rows(5) != one.rows(6)


def test_a_focus_gives_wanted_values_repeated_rows_and_columns_of_few_values():
    worlds, others = draw([SALES])
    repeated = 0
    for world in range(worlds.count):
        (rows,) = worlds.rows(world).values()
        assert len(rows) > len(others["sale"])
        assert [row[0] for row in rows] == [*range(1, len(rows) + 1)]
        assert {row[5] for row in rows} == {"2022-01-03"}
        assert {row[6] for row in rows} == {2, 3, None}
        assert sum(row[4] == 7 for row in rows) > len(rows) / 4
        repeated += sum(sum(map(np.equal, row[1:], last[1:])) >= 4 for row, last in zip(rows[1:], rows))
    assert repeated > 20


def test_worlds_take_turns_at_the_focuses():
    plain = Focus({"sale"}, {("sale", "quantity"): [50]})
    flat = Focus({"sale"}, {}, {("sale", "quantity"): [60]})
    worlds, _ = draw([plain, flat], 6)
    found = [{row[4] for row in worlds.rows(world)["sale"]} for world in range(6)]
    assert all(50 in values and 60 not in values for values in found[::2])
    assert all(values == {60} for values in found[1::2])


def test_columns_that_do_not_matter_keep_their_values():
    worlds, first = draw([Focus({"sale"}, {}, names=frozenset({"quantity", "product_id"}))])
    rows = worlds.rows(0)
    held = [row[5] for row in first["sale"]]
    assert [row[5] for row in rows["sale"]] == (held * 2)[: len(rows["sale"])]
    assert [row[4] for row in rows["sale"]] != [row[4] for row in first["sale"]][: len(rows["sale"])]
    assert [*rows] == ["sale"]


def test_numbers_of_values_are_ordered_as_in_sql():
    worlds, _ = draw([SALES])
    quantity, day = worlds.columns["sale", "quantity"], worlds.columns["sale", "sold_on"]
    assert quantity.number_of(4) == 4
    assert np.isnan(quantity.numbers[-1])
    assert quantity.numbers[quantity.values.index(7)] == 7
    assert day.number_of("2022-01-03") < day.number_of("2022-12-31") < day.number_of("2023-01-01")
    name = draw([Focus({"product"}, {})])[0].columns["product", "name"]
    assert name.number_of("no such name") == -1
    assert [name.number_of(value) for value in name.values[:3]] == [0, 1, 2]
