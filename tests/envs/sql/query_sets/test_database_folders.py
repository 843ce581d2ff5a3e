from __future__ import annotations

import sqlite3
from pathlib import Path

from palaestra.envs.sql.query_sets.database_folders import MOST_SCHEMA, describe_schema, list_files, load_databases
from palaestra.rewards.verifiers.sql import Database


def make(tables: int) -> Database:
    connection = sqlite3.connect(":memory:")
    for place in range(tables):
        connection.execute(f"CREATE TABLE t{place} (id INTEGER PRIMARY KEY,\n  {'x' * 40} TEXT NOT NULL)")
    return Database(image=connection.serialize())


def test_schemas_are_the_statements_that_made_the_tables_with_sample_rows():
    assert describe_schema(make(1), 1) == f"CREATE TABLE t0 (id INTEGER PRIMARY KEY, {'x' * 40} TEXT NOT NULL);"
    shop = load_databases("", "shop")[0]
    assert "\n-- " not in describe_schema(shop, 0)
    assert describe_schema(shop, 2).split("\n")[1].startswith("-- 1 | ")


def test_long_schemas_are_cut_to_names_and_very_long_ones_to_some_of_the_tables():
    assert describe_schema(make(120), 0).split("\n") == [f"t{place} (id, {'x' * 40})" for place in range(120)]
    shown = describe_schema(make(400), 0)
    assert len(shown) <= MOST_SCHEMA + 30
    kept = len(shown.split("\n")) - 1
    assert 150 < kept < 200
    assert shown.endswith(f"\n(and {400 - kept} more tables)")


def test_the_file_of_the_same_name_comes_first(tmp_path: Path):
    (tmp_path / "db").mkdir()
    for name in ("a.sqlite", "db.sqlite", "z.sqlite", "notes.txt"):
        (tmp_path / "db" / name).write_text("")
    assert [path.name for path in list_files(tmp_path, "db")] == ["db.sqlite", "a.sqlite", "z.sqlite"]
