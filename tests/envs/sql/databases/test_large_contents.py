"""Large databases: their rows, keys and values, and that a seed decides them."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest
from palaestra.envs.sql.databases.contents import list_values, read_pool
from palaestra.envs.sql.databases.domains import read_domains
from palaestra.envs.sql.databases.large_contents import write_large_script
from palaestra.envs.sql.databases.relations import Schema


def made(script: str) -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.executescript(script)
    return connection


@pytest.mark.parametrize("schema", read_domains(), ids=lambda one: one.domain)
def test_all_values_are_those_of_the_domain(schema: Schema):
    connection = made(write_large_script(schema, schema.names, 600, 7))
    assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    for relation in schema.relations:
        rows = connection.execute(f"SELECT * FROM {relation.name}").fetchall()
        size = 600 if not schema.children(relation.name) else 400 if relation.parents else 300
        assert [row[0] for row in rows] == list(range(1, size + 1))
        for field, *values in zip(relation.fields[1:], *[row[1:] for row in rows]):
            present = {value for value in values if value is not None}
            assert (0.1 < values.count(None) / size < 0.27) if field.nullable else None not in values
            if field.kind != "parent":
                usual: Any = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
                assert present <= {*usual}
                assert len(present) > 0.9 * min(len(usual), 60)
    connection.close()


def test_only_the_tables_asked_for_and_those_above_them_have_rows():
    (shop,) = [one for one in read_domains() if one.domain == "shop"]
    connection = made(write_large_script(shop, ["product"], 300, 1))
    sizes = {name: connection.execute(f"SELECT COUNT(*) FROM {name}").fetchone()[0] for name in shop.names}
    assert sizes == {**dict.fromkeys(shop.names, 0), "product": 300, "category": 150, "supplier": 150}
    connection.close()


def test_a_seed_decides_the_rows_and_a_few_parents_have_many_children():
    (music,) = [one for one in read_domains() if one.domain == "music"]
    scripts = [write_large_script(music, music.names, 5_000, seed) for seed in (3, 3, 4)]
    assert scripts[0] == scripts[1] != scripts[2]
    assert len(scripts[0]) < 8_000
    connection = made(scripts[0])
    counts = [n for (n,) in connection.execute("SELECT COUNT(*) FROM stream GROUP BY track_id ORDER BY 1 DESC")]
    assert counts[0] > 15
    assert 1_000 < len(counts) < 3_000
    connection.close()
