"""The tables of a database of SQLite, written for engines with strict types."""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ....rewards.verifiers.sql import Database, open_database
from .engine import unify_value

# Type of a column by SQLite's affinity: the first of these parts that occurs in the declared type decides.
_AFFINITIES = (("INT", "BIGINT"), ("CHAR", "TEXT"), ("CLOB", "TEXT"), ("TEXT", "TEXT"), ("DATE", "DATE"))

_PLAIN = re.compile(r"[A-Za-z_]\w*", re.ASCII)


@dataclass(frozen=True, slots=True)
class TableRows:
    """One table: its name, the names of its columns, and its rows."""

    name: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]


def read_tables(database: Database) -> tuple[list[TableRows], str]:
    """Read all tables, and write CREATE TABLE statements that hold them in any engine: with types, without keys.

    A column declared as a date becomes one if all its values are dates; other dates are text. A numeric column with
    other values is text, and so are blobs. Names that need no quotes are written in lower case, since case-sensitive
    engines fold unquoted names to lower case.

    Raises:
        InputError: the database cannot be read.
    """
    tables, statements = [], []
    with contextlib.closing(open_database(database)) as connection:
        # In the order of creation, parents before children.
        names = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
        for (name,) in connection.execute(names).fetchall():
            described = connection.execute(f"PRAGMA table_info({quote(name)})").fetchall()
            columns = tuple(column for _, column, *_ in described)
            rows = connection.execute(f"SELECT * FROM {quote(name)}").fetchall()
            kinds = [_choose_type(one[2], [row[place] for row in rows]) for place, one in enumerate(described)]
            for place, kind in enumerate(kinds):
                if kind == "TEXT":
                    values = [unify_value(row[place]) for row in rows]
                    texts = [None if value is None else str(value) for value in values]
                    rows = [(*row[:place], text, *row[place + 1 :]) for row, text in zip(rows, texts)]
            parts = [f"{quote(column)} {kind}" for column, kind in zip(columns, kinds)]
            statements.append(f"CREATE TABLE {quote(name)} ({', '.join(parts)});")
            tables.append(TableRows(name, columns, rows))
    return tables, "\n".join(statements)


def _choose_type(declared: str, values: Sequence[Any]) -> str:
    kinds = {type(value) for value in values if value is not None}
    kind = next((kind for part, kind in _AFFINITIES if part in declared.upper()), "DOUBLE PRECISION")
    if kind == "BIGINT" and kinds <= {int}:
        return kind
    if kind == "DATE" and kinds <= {str} and all(value is None or _is_date(value) for value in values):
        return kind
    if kind in ("BIGINT", "DOUBLE PRECISION") and kinds <= {int, float}:
        return "DOUBLE PRECISION"
    return "TEXT"


def _is_date(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return str(datetime.date.fromisoformat(text)) == text
    return False


def quote(name: str) -> str:
    """Write a name in SQL."""
    name = name.lower() if _PLAIN.fullmatch(name) else name
    return '"' + name.replace('"', '""') + '"'
