"""Fill a schema with rows from a seed, and make the database of sqlite that holds them.

The rows are skewed (a few parents and categories have most rows), correlated (each row has a level that all its
numbers, dates and categories follow in part), and have NULLs, ties and duplicates.
"""

from __future__ import annotations

import datetime
import functools
import sqlite3
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .domains import POOLS
from .relations import Field, Schema, TableSchema

Rows = dict[str, list[tuple[Any, ...]]]
"""The rows of each table."""

# Rows of a table without parents, of one with parents and children, and of one with parents alone.
_SIZES, _FOCUS_SIZES, _OTHER_SIZES = (7, 13, 24), (9, 18, 36), (4, 5, 8)
_NULLS = 0.18
# Steps between the dates of a column, in days, by its first year; there are `_DATES` of them.
_DAYS = {2022: 10, 1980: 90, 1960: 200}
_DATES = 72
# In contents with a focus: shares of rows that repeat the one before, and of the values that are repeated; of rows that
# take the usual values together, and of these values in such rows.
_REPEATS, _REPEATED, _TOGETHER, _USUAL = 0.5, 0.7, 0.6, 0.85


@dataclass(frozen=True)
class Focus:
    """What contents are to show.

    Args:
        tables: those that a query uses, which get more rows; the others get few.
        values: values for (table, column) that are to occur often, and together.
        flat: a (table, column) in which all values are the first of these.
    """

    tables: Set[str]
    values: Mapping[tuple[str, str], Sequence[Any]]
    flat: tuple[str, str] | None = None


def draw_rows(schema: Schema, seed: int, focus: Focus | None = None, most: int | None = None) -> Rows:
    """Draw the rows of all tables.

    Args:
        schema: the tables, parents first.
        seed: decides all values.
        focus: for contents that tell queries apart, which also have more NULLs, and rows that repeat most of the row
            before them.
        most: rows of a table that refers to others alone; half as many in one that refers to none, and two thirds in
            others, but at least 3.
    """
    shares = None if most is None else (max(most // 2, 3), max(2 * most // 3, 3), most)
    sizes = [_size(schema, relation, focus, shares) for relation in schema.relations]
    draws = sum(2 + size * (3 + 4 * len(one.fields)) for size, one in zip(sizes, schema.relations))
    random = iter(np.random.default_rng(seed).random(draws).tolist()).__next__
    repeats, nulls = (0.0, _NULLS) if focus is None else (_REPEATS, 1.5 * _NULLS)
    found: Rows = {}
    for relation, size in zip(schema.relations, sizes):
        size -= int(random() * 0.25 * size)
        makers = []
        for field in relation.fields[1:]:
            often = focus.values.get((relation.name, field.name), []) if focus else []
            if focus and focus.flat == (relation.name, field.name):
                makers.append((lambda _, flat=often[0]: flat, 0.0, ()))
                continue
            makers.append((_value_maker(field, random, found), nulls if field.nullable else 0.0, often))
        rows: list[tuple[Any, ...]] = []
        for key in range(1, size + 1):
            level = random()
            repeated = rows[-1] if rows and random() < repeats else None
            usual = _USUAL if random() < _TOGETHER else 1.0 - _USUAL
            row: list[Any] = [key]
            for place, (make, null, often) in enumerate(makers, start=1):
                chance = random()
                if repeated is not None and chance < _REPEATED:
                    row.append(repeated[place])
                elif null and random() < null:
                    row.append(None)
                elif often and random() < usual:
                    row.append(often[int(random() * len(often))])
                else:
                    row.append(make(level))
            rows.append(tuple(row))
        found[relation.name] = rows
    return found


def _size(schema: Schema, relation: TableSchema, focus: Focus | None, sizes: tuple[int, int, int] | None) -> int:
    sizes = sizes or _SIZES if focus is None else _FOCUS_SIZES if relation.name in focus.tables else _OTHER_SIZES
    has_children = bool(schema.children(relation.name))
    return sizes[2 if not has_children else 1 if relation.parents else 0]


def _value_maker(field: Field, random: Callable[[], float], found: Rows) -> Callable[[float], Any]:
    """Make the function from a row's level to a value of the column."""
    if field.kind == "parent":
        number = len(found[field.values[0]])
        shift = int(random() * number)
        # The square of a uniform number is small more often than large.
        return lambda _: 1 + (shift + int(random() ** 2 * number)) % number
    if field.kind == "name":
        pool: Sequence[Any] = read_pool(field.values[0])
        return lambda _: pool[int(random() * len(pool))]
    values = list_values(field)
    if field.kind == "pick":
        return lambda level: values[int((0.3 * level + 0.7 * random() ** 2) * len(values))]
    return lambda level: values[int((0.5 * level + 0.5 * random()) ** 1.5 * len(values))]


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


def make_database(schema: Schema, rows: Rows) -> sqlite3.Connection:
    """Make a database in memory that holds the rows."""
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.executescript(f"PRAGMA page_size = 1024; {schema.ddl}")
    insert_rows(connection, schema, rows)
    return connection


def insert_rows(connection: sqlite3.Connection, schema: Schema, rows: Rows) -> None:
    """Put the rows in the place of those that a database has."""
    for relation in schema.relations:
        places = ", ".join("?" * len(relation.fields))
        connection.execute(f"DELETE FROM {relation.name}")
        connection.executemany(f"INSERT INTO {relation.name} VALUES ({places})", rows[relation.name])
    connection.commit()


def format_row(row: Sequence[Any]) -> str:
    """Write values as literals of SQL, separated by commas."""
    return ", ".join(map(format_literal, row))


def format_literal(value: Any) -> str:
    """Write a value as a literal of SQL."""
    if value is None:
        return "NULL"
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value:g}"
