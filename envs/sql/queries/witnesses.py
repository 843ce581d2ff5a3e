"""Databases that tell a query from its near misses.

One database often gives a wrong query the right result: no row lies on a bound, no value is NULL or tied. So contents
are drawn, with the query's own constants among the values, until each near miss had another result on one of them.
"""

from __future__ import annotations

import contextlib
import operator
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

# Contents that are drawn for one query beside the first, at least.
DRAWS = 2
# Values that a step changes, and steps in a row that tell no near miss from the query, after which there are no more.
CHANGES, MOST_IDLE = 6, 12
# Databases that are kept.
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
        """Whether at most `MOST_SURVIVORS` are left, or one in twelve."""
        return len(self.survivors) <= max(MOST_SURVIVORS, len(self.near_misses) // 12)


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
    with contextlib.ExitStack() as stack:
        drawn: list[tuple[int, sqlite3.Connection]] = []
        for draw in range(max(DRAWS, len(focuses)) + 1):
            rows = draw_rows(schema, seed + draw, focuses[draw % len(focuses)]) if draw else first
            connection = stack.enter_context(contextlib.closing(make_database(schema, rows)))
            expected = connection.execute(text).fetchall()
            if tell(connection, expected) or len(kept) < FEWEST:
                kept.append((Database(image=connection.serialize()), round_floats(expected)))
            drawn.append((connection.execute(matches).fetchone()[0], connection))
            if not alive and len(kept) >= FEWEST:
                break
        most, best = max(drawn, key=operator.itemgetter(0))
        steps = _change(best, schema, focuses[0], seed) if _is_worthwhile(len(alive), len(kinds)) else ()
        idle = 0
        for _ in steps:
            idle += 1
            # Contents on which few rows meet the conditions tell little.
            if best.execute(matches).fetchone()[0] < min(most, FEW):
                best.rollback()
            else:
                best.commit()
                expected = best.execute(text).fetchall()
                if tell(best, expected):
                    kept.append((Database(image=best.serialize()), round_floats(expected)))
                    idle = 0
            if not alive or len(kept) == MOST or idle == MOST_IDLE:
                break
    return Witnesses(tuple(kept), kinds, tuple((kind, other) for other, kind in alive))


def _is_worthwhile(alive: int, number: int) -> bool:
    return 0 < alive <= max(MOST_SURVIVORS, number * WORTHWHILE)


def _change(connection: sqlite3.Connection, schema: Schema, focus: Focus, seed: int) -> Iterator[None]:
    """Change some values of the focus's tables at each step, without end; keys stay what they are."""
    rng = np.random.default_rng(seed)
    places = []
    for table in sorted(focus.tables):
        for field in schema[table].fields[1:]:
            often = focus.values.get((table, field.name), [])
            places += [(table, schema[table].key, field, often)] * (3 if often else 1)
    while True:
        for chance, key, value in rng.random((CHANGES, 3)).tolist():
            table, own_key, field, often = places[int(chance * len(places))]
            # Keys are 1, 2, 3 ...; a value of another row is one that the column may have.
            row = f"(SELECT 1 + CAST(? * COUNT(*) AS INTEGER) FROM {table})"
            start = f"UPDATE {table} SET {field.name} ="
            if often:
                connection.execute(f"{start} ? WHERE {own_key} = {row}", (often[int(value * len(often))], key))
            elif field.nullable and value < 0.2:
                connection.execute(f"{start} NULL WHERE {own_key} = {row}", (key,))
            else:
                other = f"(SELECT {field.name} FROM {table} WHERE {own_key} = {row})"
                connection.execute(f"{start} {other} WHERE {own_key} = {row}", (value, key))
        yield


def choose_focus(query: Query, schema: Schema) -> list[Focus]:
    """Choose the tables of a query, and values for the columns of its conditions: on a bound, next to it, beyond it.

    There is one such choice, and one more for each column that is compared with a mean: there it has one value, which
    is then the mean.
    """
    conditions: dict[tuple[str, str], list[Condition]] = {}
    collect_conditions(query, conditions)
    tables = set(re.findall(r"\w+", query.sql())).intersection(schema.names)
    values: dict[tuple[str, str], list[Any]] = {}
    flat = []
    for (table, column), compared in conditions.items():
        field = schema[table][column]
        if field.kind not in ("key", "parent"):
            pool = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
            values[table, column] = [value for one in compared for value in _values_around(one, pool)]
            if any(_is_with_mean(one) for one in compared):
                flat.append((table, column))
    return [Focus(tables, values, one) for one in (None, *flat)]


def _is_with_mean(condition: Condition) -> bool:
    return isinstance(condition, Compare) and isinstance(condition.right, SelectQuery) and condition.operator != "="


def _values_around(condition: Condition, values: Sequence[Any]) -> list[Any]:
    if isinstance(condition, OneOf):
        return [*condition.values, *values[:1]]
    if isinstance(condition, StartsWith):
        return [value for value in values if value.startswith(condition.prefix)]
    if isinstance(condition, Within):
        low, high = values.index(condition.low), values.index(condition.high)
        return [values[place % len(values)] for place in (low, high, (low + high) // 2, low - 1, high + 1)]
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
    if _is_with_mean(condition):
        return [values[len(values) // 3], values[-1]]
    return []
