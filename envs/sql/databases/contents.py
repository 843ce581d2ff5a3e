"""Fill a schema with rows drawn from a seed, and make an SQLite database of them.

The rows are skewed (a few parents and categories have most rows), correlated (all numbers, dates and categories of a
row partly follow a common level), and have NULLs, ties and duplicates.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import sqlite3
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from .domains import POOLS
from .relations import Field, Schema, TableSchema

Rows = dict[str, list[tuple[Any, ...]]]
"""The rows of each table."""

# Row counts of a table without parents, with parents and children, and with parents only.
_SIZES, _FOCUS_SIZES, _OTHER_SIZES = (7, 13, 24), (9, 18, 36), (4, 5, 8)
_NULLS = 0.18
# Days between the `_DATES` dates of a column, by its first year.
_DAYS = {2022: 10, 1980: 90, 1960: 200}
_DATES = 72
# Random numbers drawn in one call.
_AT_A_TIME = 512
# In contents with a focus: the share of rows that repeat the preceding row, and of values repeated in them; the share
# of rows that take the usual values together, and of such values in them.
_REPEATS, _REPEATED, _TOGETHER, _USUAL = 0.3, 0.7, 0.7, 0.9


@dataclass(frozen=True)
class Focus:
    """Special cases that the contents of a database should cover.

    Args:
        tables: the tables of a query, which get more rows; the others get few.
        values: (table, column) -> values that should occur often, and in the same rows as those of other columns.
        only: (table, column) -> the only values of the column, besides NULL.
        names: names of the columns that matter; others need not be drawn.
    """

    tables: Set[str]
    values: Mapping[tuple[str, str], Sequence[Any]]
    only: Mapping[tuple[str, str], Sequence[Any]] = dataclasses.field(default_factory=dict)
    names: Set[str] = frozenset()


def draw_rows(
    schema: Schema,
    seed: int | np.random.Generator,
    focus: Focus | None = None,
    most: int | None = None,
    others: Rows | None = None,
) -> Rows:
    """Draw the rows of all tables.

    Args:
        schema: the tables, parents first.
        seed: determines all values.
        focus: special cases to cover; with a focus, contents also have more NULLs, and rows that repeat most of the
            preceding row.
        most: maximum rows of a table to which no other table refers; other tables get two thirds, or half if they
            refer to none, and at least 3.
        others: contents drawn without a focus, from which tables outside the focus are taken unchanged, and the values
            of columns that do not matter (repeated if there are more rows).
    """
    shares = None if most is None else (max(most // 2, 3), max(2 * most // 3, 3), most)
    sizes = [_size(schema, relation, focus, shares) for relation in schema.relations]
    rng = np.random.default_rng(seed)
    numbers: list[float] = []
    place = 0

    def random(size: int) -> list[float]:
        nonlocal numbers, place
        if place + size > len(numbers):
            numbers, place = rng.random(max(size, _AT_A_TIME)).tolist(), 0
        place += size
        return numbers[place - size : place]

    nulls = _NULLS if focus is None else 1.5 * _NULLS
    found: Rows = {}
    for relation, size in zip(schema.relations, sizes):
        if focus and others and relation.name not in focus.tables:
            # Tables of the focus have at least as many rows as without it, so that references to them stay valid.
            found[relation.name] = others[relation.name]
            continue
        size -= int(random(1)[0] * 0.25 * size)
        levels = random(size)
        if focus:
            usual = [_USUAL if one < _TOGETHER else 1.0 - _USUAL for one in random(size)]
            repeats = [place for place, one in enumerate(random(size)) if place and one < _REPEATS]
        columns: list[Sequence[Any]] = [range(1, size + 1)]
        for place, field in enumerate(relation.fields[1:], start=1):
            name = (relation.name, field.name)
            if focus and others and focus.names and field.name not in focus.names:
                held = [row[place] for row in others[relation.name]]
                columns.append((held * (size // len(held) + 1))[:size])
                continue
            column = _draw_column(field, levels, random(size + 1), found)
            if few := focus.only.get(name) if focus else None:
                column = [few[int(one * len(few))] for one in random(size)]
            elif often := focus.values.get(name) if focus else None:
                number = len(often)
                column = [
                    often[int(one / most * number)] if one < most else own
                    for own, most, one in zip(column, usual, random(size))
                ]
            if field.nullable:
                column = [None if one < nulls else own for own, one in zip(column, random(size))]
            if focus:
                for row, one in zip(repeats, random(len(repeats))):
                    if one < _REPEATED:
                        column[row] = column[row - 1]
            columns.append(column)
        found[relation.name] = list(zip(*columns))
    return found


def _size(schema: Schema, relation: TableSchema, focus: Focus | None, sizes: tuple[int, int, int] | None) -> int:
    sizes = sizes or _SIZES if focus is None else _FOCUS_SIZES if relation.name in focus.tables else _OTHER_SIZES
    return choose_size(schema, relation, sizes)


def choose_size(schema: Schema, relation: TableSchema, sizes: tuple[int, int, int]) -> int:
    """Choose a table's number of rows from three: without parents and with children, with both, without children."""
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
