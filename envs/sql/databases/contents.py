"""Fill a schema with rows drawn from a seed, and make an SQLite database of them.

The rows are skewed (a few parents and categories have most rows), correlated (all numbers, dates and categories of a
row partly follow a common level), and have NULLs, ties and duplicates.
"""

from __future__ import annotations

import datetime
import functools
import sqlite3
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from .domains import POOLS
from .relations import Field, Schema, TableSchema
from .stored_forms import find_form

Rows = dict[str, list[tuple[Any, ...]]]
"""The rows of each table."""

# Row counts of a table without parents, with parents and children, and with parents only.
_SIZES = (7, 13, 24)
_NULLS = 0.18
# Days between the `_DATES` dates of a column, by its first year.
_DAYS = {2022: 10, 1980: 90, 1960: 200}
_DATES = 72
# Random numbers drawn in one call.
_AT_A_TIME = 512


def draw_rows(schema: Schema, seed: int | np.random.Generator, most: int | None = None) -> Rows:
    """Draw the rows of all tables.

    Args:
        schema: the tables, parents first.
        seed: determines all values.
        most: maximum rows of a table to which no other table refers; other tables get two thirds, or half if they
            refer to none, and at least 3.
    """
    shares = None if most is None else (max(most // 2, 3), max(2 * most // 3, 3), most)
    rng = np.random.default_rng(seed)
    numbers: list[float] = []
    place = 0

    def random(size: int) -> list[float]:
        nonlocal numbers, place
        if place + size > len(numbers):
            numbers, place = rng.random(max(size, _AT_A_TIME)).tolist(), 0
        place += size
        return numbers[place - size : place]

    found: Rows = {}
    for relation in schema.relations:
        size = table_size(schema, relation, shares or _SIZES)
        size -= int(random(1)[0] * 0.25 * size)
        levels = random(size)
        columns: list[Sequence[Any]] = [range(1, size + 1)]
        for field in relation.fields[1:]:
            column = _draw_column(field, levels, random(size + 1), found)
            if field.nullable:
                column = [None if one < _NULLS else own for own, one in zip(column, random(size))]
            if field.stored:
                # Digits of the level that no value follows; no further number is drawn, so that all else stays.
                column = [find_form(field.stored).soil(own, level * 1e4 % 1) for own, level in zip(column, levels)]
            columns.append(column)
        found[relation.name] = list(zip(*columns))
    return found


def table_size(schema: Schema, relation: TableSchema, sizes: tuple[int, int, int]) -> int:
    """Choose a table's number of rows among those of tables without parents, with parents and children, and with
    parents only."""
    has_children = bool(schema.children(relation.name))
    return sizes[2 if not has_children else 1 if relation.parents else 0]


def _draw_column(field: Field, levels: list[float], draws: list[float], found: Rows) -> list[Any]:
    """Draw the values of a column, correlated with the rows' levels; ``draws`` has one entry more than there are
    rows."""
    shift = draws.pop()
    if field.kind == "parent":
        number = len(found[field.values[0]])
        first = int(shift * number)
        # Squaring a uniform number makes small values more frequent.
        return [1 + (first + int(draw * draw * number)) % number for draw in draws]
    if field.kind == "self":
        # Every row but the first refers to an earlier one, so that there is no circle.
        return [1 + int(draw * place) if place else None for place, draw in enumerate(draws)]
    values: Sequence[Any] = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
    number = len(values)
    if field.kind == "name":
        return [values[int(draw * number)] for draw in draws]
    if field.kind == "pick":
        return [values[int((0.3 * level + 0.7 * draw * draw) * number)] for level, draw in zip(levels, draws)]
    return [values[int((0.5 * level + 0.5 * draw) ** 1.5 * number)] for level, draw in zip(levels, draws)]


@functools.cache
def read_pool(name: str) -> tuple[str, ...]:
    """Read a pool of names."""
    return tuple(POOLS[name].split(", "))


@functools.cache
def list_values(field: Field) -> tuple[Any, ...]:
    """List the values that a number, date or category may have, in order."""
    if field.kind == "pick":
        return field.values
    if field.kind == "date":
        year = int(field.values[0]) if field.values else 2022
        start = datetime.date(year, 1, 3)
        return tuple(str(start + datetime.timedelta(days=_DAYS[year] * place)) for place in range(_DATES))
    low, high, step = map(float, field.values)
    numbers = [round(low + step * place, 2) for place in range(int((high - low) / step) + 1)]
    return tuple(map(int, numbers)) if field.kind == "int" else tuple(numbers)


def tidy_rows(schema: Schema, rows: Rows) -> Rows:
    """Return the rows with the values of columns that keep them untidily (`stored_forms`) as they are meant."""
    if not schema.stored_forms:
        return rows
    tidy = dict(rows)
    for relation in schema.relations:
        forms = [find_form(field.stored).tidy if field.stored else None for field in relation.fields]
        if any(forms):
            held = rows[relation.name]
            tidy[relation.name] = [
                tuple([form(value) if form else value for form, value in zip(forms, row)]) for row in held
            ]
    return tidy


def make_database(schema: Schema, rows: Rows) -> sqlite3.Connection:
    """Make a database in memory that holds the rows."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(f"PRAGMA page_size = 1024; PRAGMA journal_mode = OFF; BEGIN; {schema.ddl}")
    insert_rows(connection, schema, rows)
    return connection


def insert_rows(
    connection: sqlite3.Connection, schema: Schema, rows: Rows, tables: Collection[str] | None = None
) -> None:
    """Replace the rows of a database, in ``tables`` or in all tables."""
    for relation in schema.relations:
        if tables is not None and relation.name not in tables:
            continue
        places = ", ".join("?" * len(relation.fields))
        connection.execute(f"DELETE FROM {relation.name}")
        connection.executemany(f"INSERT INTO {relation.name} VALUES ({places})", rows[relation.name])


def format_row(row: Sequence[Any]) -> str:
    """Write values as literals of SQL, separated by commas."""
    return ", ".join(map(format_literal, row))


def format_literal(value: Any) -> str:
    """Write a value as a literal of SQL."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:g}"
