"""Databases with up to 100,000 rows in a table, as scripts of SQL that draw their rows from a seed.

A script has a few thousand characters, so that it travels to other processes in place of the rows. The numbers are
those of a quadratic generator modulo a prime, in whole numbers and exact fractions: they are the same everywhere.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection

import numpy as np

from .contents import format_literal, list_values, read_pool, table_size
from .relations import Field, Schema

# A prime: numbers are drawn below it, and their squares fit into the 64 bits of SQLite.
_PRIME = 2**31 - 1
# Share of NULL in columns that may have it, in percent.
_NULLS = 18


def write_large_script(schema: Schema, tables: Collection[str], rows: int, seed: int) -> str:
    """Write a script that makes a database with these tables and all that they refer to; other tables stay empty.

    Args:
        schema: the tables.
        tables: names of those that get rows.
        rows: rows of a table to which no other table of ``tables`` refers; other tables get two thirds, or half if they
            refer to none.
        seed: determines all values.
    """
    filled = {*tables}.union(*(schema.ancestors(name) for name in tables))
    part = Schema(schema.domain, tuple(one for one in schema.relations if one.name in filled))
    sizes = {one.name: table_size(part, one, (rows // 2, 2 * rows // 3, rows)) for one in part.relations}
    rng = np.random.default_rng(seed)
    lines = [schema.ddl_for("sqlite")]
    for relation in part.relations:
        drawn = [f"(i * {a} + {b}) % {_PRIME} AS x{n}" for n, (a, b) in _draw_factors(rng, len(relation.fields))]
        numbers = [f"(x{n} * x{n} + {n}) % {_PRIME} AS h{n}" for n in range(1, len(relation.fields))]
        values = [_write_value(field, f"h{n}", sizes) for n, field in enumerate(relation.fields[1:], start=1)]
        lines.append(
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {sizes[relation.name]}) "
            f"INSERT INTO {relation.name} SELECT {', '.join(['i', *values])} FROM "
            f"(SELECT {', '.join(['i', *numbers])} FROM (SELECT {', '.join(['i', *drawn])} FROM n));"
        )
    return "\n".join(lines)


def _draw_factors(rng: np.random.Generator, number: int) -> list[tuple[int, tuple[int, int]]]:
    drawn = rng.integers(_PRIME // 8, _PRIME, (number - 1, 2)).tolist()
    return [(place, (a, b)) for place, (a, b) in enumerate(drawn, start=1)]


def _write_value(field: Field, number: str, sizes: dict[str, int]) -> str:
    """Write the expression of a column's values; ``number`` is a column of whole numbers below `_PRIME`."""
    if field.kind == "parent":
        # The square of a uniform number: a few parents have many rows, others none.
        share = f"({number} * 1.0 / {_PRIME})"
        text = f"1 + CAST({share} * {share} * {sizes[field.values[0]]} AS INTEGER)"
    elif field.kind == "self":
        # Every row but the first refers to an earlier one.
        text = f"CASE WHEN i > 1 THEN 1 + CAST({number} * 1.0 / {_PRIME} * (i - 1) AS INTEGER) END"
    elif field.kind == "date":
        values = list_values(field)
        days = (datetime.date.fromisoformat(values[1]) - datetime.date.fromisoformat(values[0])).days
        text = f"date('{values[0]}', ({days} * ({number} % {len(values)})) || ' days')"
    elif field.is_number:
        values = list_values(field)
        step = values[1] - values[0]
        text = f"{values[0]!r} + {step!r} * ({number} % {len(values)})"
    else:
        values = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
        cases = " ".join(f"WHEN {place} THEN {format_literal(value)}" for place, value in enumerate(values[1:], 1))
        text = f"CASE {number} % {len(values)} {cases} ELSE {format_literal(values[0])} END"
    # Another part of the number than the value depends on.
    return f"CASE WHEN {number} / 7919 % 100 < {_NULLS} THEN NULL ELSE {text} END" if field.nullable else text
