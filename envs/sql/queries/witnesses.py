"""Databases that tell a query from its near misses.

One database often gives a wrong query the right result: no row lies on a bound, no value is NULL or tied. So contents
are drawn, with the query's own constants among the values, until each near miss had another result on one of them.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....rewards.verifiers.sql import Database, ResultRows, round_floats, same_rows
from ..databases.contents import Focus, Rows, draw_rows, list_values, make_database, read_pool
from ..databases.relations import Schema
from .near_misses import near_misses
from .query_tree import (
    Compare,
    Condition,
    OneOf,
    Query,
    SelectQuery,
    StartsWith,
    Within,
    YearOf,
    collect_conditions,
    count_matches,
    is_ordered_query,
)

# Contents that are drawn for one query beside the first; steps of change in a row that tell no near miss from it, and values
# that a step changes; databases that are kept at least and at most.
DRAWS, MOST_IDLE, CHANGES = 2, 12, 6
FEWEST, MOST = 2, 6
# Rows that meet the conditions of the query, at least, where contents are changed.
FEW = 6
# Near misses that a good task leaves, and the share of them up to which changes are tried.
MOST_SURVIVORS, WORTHWHILE = 1, 0.3


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Databases for one query.

    Args:
        expected: the databases, with the query's result on each.
        near_misses: the kind of each near miss.
        survivors: (kind, SQL) of the near misses that had the query's result on all contents drawn. Most of them are
            equivalent to the query.
    """

    expected: tuple[tuple[Database, ResultRows], ...]
    near_misses: tuple[str, ...]
    survivors: tuple[tuple[str, str], ...]

    @property
    def is_good(self) -> bool:
        """Whether at most `MOST_SURVIVORS` are left, or one in 16."""
        return len(self.survivors) <= max(MOST_SURVIVORS, len(self.near_misses) // 16)


def find_witnesses(query: Query, schema: Schema, first: Rows, seed: int) -> Witnesses:
    """Draw contents of a schema, and change them, until each near miss is told from the query or the effort is spent.

    Args:
        query: a query that runs on the schema.
        schema: the tables.
        first: contents of the first database, which is kept.
        seed: decides the others.
    """
    ordered, text, matches = is_ordered_query(query), query.sql(), count_matches(query).sql()
    alive = list({other.sql(): kind for kind, other in near_misses(query, schema)}.items())
    kinds = tuple(kind for _, kind in alive)
    kept: list[tuple[Database, ResultRows]] = []

    def tell(connection: sqlite3.Connection, expected: list[Any]) -> bool:
        """Drop the near misses that this database tells from the query. Return whether there are any."""
        nonlocal alive
        same = []
        for other, kind in alive:
            found = connection.execute(other).fetchall()
            if found == expected or same_rows(round_floats(found), round_floats(expected), ordered):
                same.append((other, kind))
        told, alive = len(same) < len(alive), same
        return told

    focuses = choose_focus(query, schema)
    best, most = None, 0
    for draw in range(DRAWS + 1):
        rows = draw_rows(schema, seed + draw, focuses[draw - 1]) if draw else first
        connection = make_database(schema, rows)
        expected = connection.execute(text).fetchall()
        if tell(connection, expected) or len(kept) < FEWEST:
            kept.append((Database(image=connection.serialize()), round_floats(expected)))
        found = connection.execute(matches).fetchone()[0]
        if best is None or found > most:
            best, most = connection, found
        if not alive and len(kept) >= FEWEST:
            break
    if 0 < len(alive) <= max(MOST_SURVIVORS, len(kinds) * WORTHWHILE) and best is not None:
        rng = np.random.default_rng(seed)
        changes = _make_changes(schema, focuses[0], query, rng)
        idle = 0
        while idle < MOST_IDLE:
            idle += 1
            for statement, values in itertools.islice(changes, CHANGES):
                best.execute(statement, values)
            expected = best.execute(text).fetchall()
            # Contents on which few rows meet the conditions tell little.
            if best.execute(matches).fetchone()[0] < min(most, FEW):
                best.rollback()
                continue
            best.commit()
            if tell(best, expected):
                kept.append((Database(image=best.serialize()), round_floats(expected)))
                idle = 0
                if not alive or len(kept) == MOST:
                    break
    return Witnesses(tuple(kept), kinds, tuple((kind, other) for other, kind in alive))


def _make_changes(
    schema: Schema, focus: Focus, query: Query, rng: np.random.Generator
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield statements without end that change one value of a table of the query, each with its parameters."""
    places = []
    for table in sorted(focus.tables):
        for field in schema[table].fields[1:]:
            often = focus.values.get((table, field.name), [])
            places += [(table, schema[table].key, field, often)] * (3 if often else 1)
    while True:
        for chance, key, value in rng.random((64, 3)).tolist():
            table, own_key, field, often = places[int(chance * len(places))]
            # The key of another row, or a value of it, is one that the column may have.
            row = f"(SELECT 1 + CAST(? * COUNT(*) AS INTEGER) FROM {table})"
            if often:
                yield (
                    f"UPDATE {table} SET {field.name} = ? WHERE {own_key} = {row}",
                    (often[int(value * len(often))], key),
                )
            elif field.nullable and value < 0.2:
                yield f"UPDATE {table} SET {field.name} = NULL WHERE {own_key} = {row}", (key,)
            else:
                other = f"(SELECT {field.name} FROM {table} WHERE {own_key} = {row})"
                yield f"UPDATE {table} SET {field.name} = {other} WHERE {own_key} = {row}", (value, key)


def choose_focus(query: Query, schema: Schema) -> list[Focus]:
    """Choose the tables of a query, and values for the columns of its conditions: on a bound, next to it, beyond it.
    There are two choices: in the second one, columns that are compared with a mean have one value often."""
    conditions: dict[tuple[str, str], list[Condition]] = {}
    collect_conditions(query, conditions)
    words = set(re.findall(r"\w+", query.sql()))
    found = []
    for flat in (False, True):
        values: dict[tuple[str, str], list[Any]] = {}
        for (table, column), compared in conditions.items():
            field = schema[table][column]
            if field.kind not in ("key", "parent"):
                pool = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
                values[table, column] = [value for one in compared for value in _values_around(one, pool, flat)]
        found.append(Focus(words.intersection(schema.names), values))
    return found


def _values_around(condition: Condition, values: Sequence[Any], flat: bool) -> list[Any]:
    if isinstance(condition, OneOf):
        return [*condition.values, *values[:1]]
    if isinstance(condition, StartsWith):
        return [value for value in values if value.startswith(condition.prefix)]
    if isinstance(condition, Within):
        low, high = values.index(condition.low), values.index(condition.high)
        return [
            values[low],
            values[high],
            values[(low + high) // 2],
            values[max(low - 1, 0)],
            values[(high + 1) % len(values)],
        ]
    if isinstance(condition, Compare) and isinstance(condition.left, YearOf):
        year = str(condition.right)
        return [value for value in values if value.startswith(year)][::8] + list(values[::30])
    if isinstance(condition, Compare) and condition.right in values:
        place = values.index(condition.right)
        if condition.operator in ("=", "<>"):
            return [values[place]] * (2 if condition.operator == "=" else 1) + [values[place - 1]]
        step = 1 if condition.operator in (">", ">=") else -1
        last = len(values) - 1
        return [values[place], *(values[min(max(place + step * far, 0), last)] for far in (1, 2, -1))]
    if isinstance(condition, Compare) and condition.operator == "=":
        # The least or the greatest value of the column.
        function = condition.right.columns[0].function
        return [values[0 if function == "MIN" else -1], values[len(values) // 2]]
    if isinstance(condition, Compare) and isinstance(condition.right, SelectQuery):
        # Two values with as many rows each have a mean that neither has, and one has itself as mean.
        return [values[len(values) // 3]] * flat or [values[len(values) // 3], values[-1]]
    return []
