"""Contents: repeatable, legal, and with the NULLs, ties, skew and duplicates that tell queries apart."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from palaestra.envs.sql.databases.contents import Focus, draw_rows, list_values, make_database
from palaestra.envs.sql.databases.domains import read_domains


@pytest.mark.parametrize("schema", read_domains(), ids=lambda schema: schema.domain)
def test_contents_keep_the_constraints_of_the_schema(schema):
    focus = Focus(set(schema.names[-2:]), {})
    for seed in range(3):
        for rows in (draw_rows(schema, seed), draw_rows(schema, seed, focus)):
            # NOT NULL and the keys are checked by sqlite as the rows go in, references afterwards.
            with contextlib.closing(make_database(schema, rows)) as connection:
                assert connection.execute("PRAGMA foreign_key_check").fetchall() == []


def test_the_same_seed_gives_the_same_rows():
    schema = read_domains()[0]
    assert draw_rows(schema, 3) == draw_rows(schema, 3) != draw_rows(schema, 4)


def test_contents_are_skewed_and_correlated_and_have_nulls():
    schema = read_domains()[0]
    quantities, sales, products = [], [], Counter()
    for seed in range(20):
        for row in draw_rows(schema, seed)["sale"]:
            sales.append(row)
            products[seed, row[1]] += 1
            quantities.append((row[4], row[5]))
    discounts = [row[6] for row in sales]
    assert 0.08 < discounts.count(None) / len(discounts) < 0.3
    assert max(products.values()) > 3 * sum(products.values()) / len(products)
    # The quantity and the date of a sale grow together.
    early = [number for number, day in quantities if day < "2022-07"]
    late = [number for number, day in quantities if day >= "2023-01"]
    assert sum(late) / len(late) > sum(early) / len(early) + 0.5


def test_a_focus_gives_wanted_values_repeated_rows_and_columns_of_few_values():
    schema = read_domains()[0]
    focus = Focus(
        {"sale"}, {("sale", "quantity"): [7]}, {("sale", "sold_on"): ["2022-01-03"], ("sale", "discount"): [2, 3]}
    )
    rows = draw_rows(schema, 0, focus)
    assert len(rows["sale"]) > len(draw_rows(schema, 0)["sale"])
    assert len(rows["ward" if "ward" in rows else "supplier"]) < len(draw_rows(schema, 0)["supplier"])
    assert {row[5] for row in rows["sale"]} == {"2022-01-03"}
    assert {row[6] for row in rows["sale"]} == {2, 3, None}
    assert sum(row[4] == 7 for row in rows["sale"]) > len(rows["sale"]) / 3
    assert list_values(schema["sale"]["quantity"]) == (1, 2, 3, 4, 5, 6, 7, 8, 9)


def test_columns_that_do_not_matter_keep_their_values():
    schema = read_domains()[0]
    first = draw_rows(schema, 0)
    focus = Focus({"sale"}, {}, names=frozenset({"quantity", "product_id"}))
    rows = draw_rows(schema, 1, focus, others=first)
    held = [row[5] for row in first["sale"]]
    assert [row[5] for row in rows["sale"]] == (held * 2)[: len(rows["sale"])]
    assert [row[4] for row in rows["sale"]] != [row[4] for row in first["sale"]][: len(rows["sale"])]
    assert all(rows[name] == first[name] for name in schema.names if name != "sale")
    with contextlib.closing(make_database(schema, rows)) as connection:
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
