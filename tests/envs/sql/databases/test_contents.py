"""Contents: repeatable, legal, and with the NULLs, ties, skew and duplicates that tell queries apart."""

from __future__ import annotations

import contextlib
from collections import Counter

import pytest
from palaestra.envs.sql.databases.contents import draw_rows, list_values, make_database
from palaestra.envs.sql.databases.domains import read_domains


@pytest.mark.parametrize("schema", read_domains(), ids=lambda schema: schema.domain)
def test_contents_keep_the_constraints_of_the_schema(schema):
    for seed in range(3):
        # NOT NULL and the keys are checked by sqlite as the rows go in, references afterwards.
        with contextlib.closing(make_database(schema, draw_rows(schema, seed))) as connection:
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


def test_values_of_a_column_are_listed_in_order():
    assert list_values(read_domains()[0]["sale"]["quantity"]) == (1, 2, 3, 4, 5, 6, 7, 8, 9)
