"""Databases that tell a query from its near misses.

One database often gives a wrong query the right result: no row lies on a bound, no value is NULL or tied. So contents
are drawn, with the query's own constants among the values, until each near miss had another result on one of them.
"""

from __future__ import annotations

import datetime
import operator
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....rewards.verifiers.sql import Database, ResultRows, round_floats, same_rows
from ..databases.contents import Focus, Rows, draw_rows, insert_rows, list_values, read_pool
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
DRAWS = 1
# Values that a step changes, and steps in a row that tell no near miss from the query, after which there are no more.
CHANGES, MOST_IDLE = 12, 8
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


def find_witnesses(query: Query, schema: Schema, first: Rows, connection: sqlite3.Connection, seed: int) -> Witnesses:
    """Draw contents of a schema, and change them, until each near miss is told from the query or the effort is spent.

    Args:
        query: a query that runs on the schema.
        schema: the tables.
        first: contents of the first database, which is kept.
        connection: to a database with these contents, which are exchanged, so that statements are compiled once.
        seed: decides the others.
    """
    ordered, text, matches = is_ordered_query(query), query.sql(), count_matches(query).sql()
    alive = list({other.sql(): kind for kind, other in near_misses(query, schema)}.items())
    kinds = tuple(kind for _, kind in alive)
    kept: list[tuple[Database, ResultRows]] = []

    def keep(least: int) -> bool:
        """Drop the near misses that the contents tell from the query. Keep the contents if there are any, or if fewer
        than ``least`` are kept."""
        nonlocal alive
        found = connection.execute(text).fetchall()
        expected = round_floats(found)
        same = []
        for other, kind in alive:
            rows = connection.execute(other).fetchall()
            if len(rows) == len(found) and (rows == found or same_rows(round_floats(rows), expected, ordered)):
                same.append((other, kind))
        told, alive = len(same) < len(alive), same
        if told or len(kept) < least:
            kept.append((Database(image=connection.serialize()), expected))
        return told

    focuses = choose_focus(query, schema)
    drawn: list[tuple[int, Rows]] = []
    for draw in range(max(DRAWS, len(focuses)) + 1):
        rows = first
        if draw:
            rows = draw_rows(schema, seed + draw, focuses[draw % len(focuses)])
            insert_rows(connection, schema, rows)
        keep(FEWEST)
        drawn.append((connection.execute(matches).fetchone()[0], rows))
        if not alive and len(kept) >= FEWEST:
            break
    if _is_worthwhile(len(alive), len(kinds)):
        most, best = max(drawn, key=operator.itemgetter(0))
        if best is not rows:
            insert_rows(connection, schema, best)
        idle = 0
        for _ in _change(connection, schema, best, focuses[0], seed):
            idle += 1
            # Contents on which few rows meet the conditions tell little.
            if connection.execute(matches).fetchone()[0] < min(most, FEW):
                connection.rollback()
            else:
                connection.commit()
                if keep(0):
                    idle = 0
            if not alive or len(kept) == MOST or idle == MOST_IDLE:
                break
    return Witnesses(tuple(kept), kinds, tuple((kind, other) for other, kind in alive))


def _is_worthwhile(alive: int, number: int) -> bool:
    return 0 < alive <= max(MOST_SURVIVORS, number * WORTHWHILE)


def _change(connection: sqlite3.Connection, schema: Schema, rows: Rows, focus: Focus, seed: int) -> Iterator[None]:
    """Change some values of the focus's tables at each step, without end, into usual ones or into those that another
    row had at the beginning; keys stay what they are."""
    rng = np.random.default_rng(seed)
    places = []
    for table in sorted(focus.tables):
        for place, field in enumerate(schema[table].fields[1:], start=1):
            often = focus.values.get((table, field.name), [])
            update = f"UPDATE {table} SET {field.name} = ? WHERE {schema[table].key} = ?"
            places += [(rows[table], place, field, often, update)] * (3 if often else 1)
    while True:
        for chance, key, value in rng.random((CHANGES, 3)).tolist():
            held, place, field, often, update = places[int(chance * len(places))]
            if often:
                other = often[int(value * len(often))]
            else:
                other = None if field.nullable and value < 0.2 else held[int(value * len(held))][place]
            # Keys are 1, 2, 3 ...
            connection.execute(update, (other, 1 + int(key * len(held))))
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
        around = [values[place % len(values)] for place in (low, high, (low + high) // 2, low - 1, high + 1)]
        return [*around, *_next_to(condition.low), *_next_to(condition.high)]
    if isinstance(condition, Compare) and isinstance(condition.left, YearOf):
        year = str(condition.right)
        return [value for value in values if value.startswith(year)][::8] + list(values[::30])
    if isinstance(condition, Compare) and condition.right in values:
        place = values.index(condition.right)
        if condition.operator in ("=", "<>"):
            return [values[place]] * (2 if condition.operator == "=" else 1) + [values[place - 1]]
        step = 1 if condition.operator in (">", ">=") else -1
        last = len(values) - 1
        around = [values[min(max(place + step * far, 0), last)] for far in (1, 2, -1)]
        return [values[place], *around, *_next_to(condition.right)]
    if isinstance(condition, Compare) and condition.operator == "=":
        # The least or the greatest value of the column.
        function = condition.right.columns[0].function
        return [values[0 if function == "MIN" else -1], values[len(values) // 2]]
    if _is_with_mean(condition):
        # Neighbours in the middle: a small change of the mean changes which of them are beyond it.
        middle = len(values) // 2
        return [*values[max(middle - 2, 0) : middle + 2], values[0], values[-1]]
    return []


def _next_to(value: Any) -> list[Any]:
    """List the values right below and above a number or date: those that another constant would tell apart from it."""
    if isinstance(value, str):
        day = datetime.date.fromisoformat(value)
        return [str(day + datetime.timedelta(days=days)) for days in (-1, 1)]
    step = 1 if isinstance(value, int) else 0.01
    return [round(value - step, 2), round(value + step, 2)]
