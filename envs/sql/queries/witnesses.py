"""Databases that distinguish a query from its near misses.

On one database a wrong query often has the right result: no row lies on a bound, no value is NULL or tied. So contents
are drawn, with the query's constants among the values, until each near miss has a different result on one of them.
"""

from __future__ import annotations

import itertools
import re
import sqlite3
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

from ....rewards.verifiers.sql import Database, ResultRows, round_floats, same_rows
from ....rewards.verifiers.sql_order import break_ties
from ..databases.contents import Rows, insert_rows, list_values, read_pool
from ..databases.relations import Schema
from ..databases.worlds import Focus, draw_worlds
from .computed import CaseOf, Contains
from .equivalence import normal_form
from .near_misses import leaves_ties, near_misses, next_values
from .query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    IsAmong,
    IsMissing,
    OneOf,
    Query,
    SelectQuery,
    SetQuery,
    StartsWith,
    WholeQuery,
    Within,
    YearOf,
    collect_conditions,
    column_of,
    is_ordered_query,
    write_clauses,
)
from .row_masks import RowMasks

# Minimum number of kept databases.
FEWEST = 2
# Worlds drawn at a time, and the maximum number of databases made of them.
WORLDS, LOADS = 32, 8
# Approximate budget in queries that run; and the cost, in queries, of drawing worlds and of making a database.
EFFORT, _DRAW, _LOAD = 500, 20, 6
# The gain of a world is the number of near misses that select other rows in it. A near miss counts less by this factor
# once it selected other rows without having another result; one that differs elsewhere counts at most `_ELSE`. Worlds
# that gain less than `_LEAST` are not tried before other worlds are drawn.
_AGAIN, _ELSE, _LEAST = 0.5, 0.5, 0.5
# A database that distinguishes at most as many near misses may be replaced.
_FEW = 6
# Ratio of values that meet a condition to values that fail it, and of values on a bound to other values.
_OFTEN, _AT_BOUND = 3.0, 2
# Engines differ in how they round halves, and in whether LIKE ignores case: a pattern in a near miss, and SQL with
# which SQLite does what other engines do.
_ELSEWHERE = (
    (re.compile(r"ROUND\((AVG\([^()]*\))\)"), r"ROUND(\1 - 1e-6)"),
    (re.compile(r"LIKE '%(\w)%'"), r"GLOB '*\1*'"),
    (re.compile(r"([\w.]+) LIKE '(\w)%'"), r"\1 GLOB '\2*'"),
)
# Distances of values near a mean, in whole numbers or halves.
_NEAR = (0, 0, 0, 0, -1, 1, -2, 2)
# Categories, and years of dates, outside the usual ones.
_OTHERS, _OTHER_YEARS = ("other", "unknown"), ("2020-05-05", "2021-06-06", "2024-07-07", "2025-08-08")


@dataclass(frozen=True, slots=True)
class Witnesses:
    """Databases for one query.

    Args:
        expected: the databases, with the query's result on each.
        near_misses: the kind of each near miss.
        survivors: (kind, SQL) of the near misses that had the query's result on all contents drawn and are not proved
            equivalent.
        equivalent: (kind, SQL) of the near misses that are proved equivalent.
        is_constant: True if the query has the same result on all databases.
        tied: those of ``expected`` on which rows are tied if the last sort key, or all of them, are left out.
    """

    expected: tuple[tuple[Database, ResultRows], ...]
    near_misses: tuple[str, ...]
    survivors: tuple[tuple[str, str], ...]
    equivalent: tuple[tuple[str, str], ...]
    is_constant: bool
    tied: tuple[tuple[Database, ResultRows], ...] = ()

    @property
    def is_good(self) -> bool:
        """True if every non-equivalent near miss is distinguished, and the query's result differs between databases."""
        return not self.survivors and not self.is_constant


@dataclass(eq=False, slots=True)
class _Kept:
    """A kept database: the query's result on it (``expected``), the near misses that it distinguishes (``told``), and
    True in ``changed`` if its result is the first that differs from the first database's."""

    database: Database
    expected: ResultRows
    told: set[str]
    changed: bool


def find_witnesses(query: Query, schema: Schema, first: Rows, connection: sqlite3.Connection, seed: int) -> Witnesses:
    """Draw contents of a schema until each near miss is distinguished or the budget is spent.

    Many worlds are drawn at a time, and those in which the most near misses select other rows are made databases.

    Args:
        query: a query that runs on the schema.
        schema: the tables.
        first: contents of the first database, which is always kept.
        connection: connection to a database with these contents; the contents are replaced, so that statements are
            compiled once.
        seed: seed of the other contents.
    """
    ordered, text, clauses = is_ordered_query(query), query.sql(), write_clauses(query)
    misses = {other.sql(clauses): (kind, other) for kind, other in near_misses(query, schema)}
    derived = {other: way for other, (_, miss) in misses.items() if (way := derive_rows(miss, query))}
    # A near miss that leaves ties is distinguished where rows are tied, whatever order they have by accident.
    opened = {other: break_ties(other) for other, (_, miss) in misses.items() if leaves_ties(miss, query)}
    # A near miss must also be distinguished as other engines read it.
    elsewhere = {other: read for other in misses if (read := read_elsewhere(other, text)) != other}
    alive = list(misses)
    kept: list[_Kept] = []
    # True if the first result is right on all databases.
    constant = True

    def keep(least: int, same: Set[str]) -> None:
        """Drop the near misses that the contents distinguish; those of ``same`` have the query's result. Keep the
        contents if there are any, or if fewer than ``least`` are kept."""
        nonlocal alive, constant
        found = connection.execute(text).fetchall()
        expected: ResultRows | None = None

        def tells(other: str) -> bool:
            nonlocal expected
            if ways := opened.get(other):
                forwards, backwards = (connection.execute(way).fetchall() for way in ways)
                return forwards != backwards
            derive = derived.get(other)
            rows = derive(found) if derive else connection.execute(other).fetchall()
            if rows == found:
                return False
            if len(rows) == len(found):
                expected = expected or round_floats(found)
                if same_rows(round_floats(rows), expected, ordered):
                    return False
            return other not in elsewhere or tells(elsewhere[other])

        told = {other for other in alive if other not in same and tells(other)}
        changed = constant and bool(kept) and not same_rows(round_floats(found), kept[0].expected, ordered)
        alive, constant = [other for other in alive if other not in told], constant and not changed
        if told or changed or len(kept) < least:
            # An earlier database is not needed if this one distinguishes its few near misses, too.
            for one in [one for one in kept[1:] if not one.changed and len(one.told) <= _FEW]:
                if len(kept) >= FEWEST and all(map(tells, one.told)):
                    kept.remove(one)
                    told |= one.told
            connection.commit()
            image = Database(image=connection.serialize())
            kept.append(_Kept(image, expected or round_floats(found), told, changed))

    rng = np.random.default_rng(seed)
    focuses = choose_focus(query, schema)
    equivalent: list[str] | None = None
    effort = EFFORT
    keep(FEWEST, frozenset())
    for draw in itertools.count():
        if draw and equivalent is None:
            # Proofs take time, so they run on the remaining near misses only.
            normal = normal_form(query, schema) if alive else query
            equivalent = [other for other in alive if normal_form(misses[other][1], schema) == normal]
            alive = [other for other in alive if other not in equivalent]
        if (draw and not (alive or constant)) or effort <= 0:
            break
        worlds = draw_worlds(schema, rng, focuses, first, WORLDS)
        effort -= _DRAW
        tried = 0
        if not draw:
            # Most near misses are told by the first contents of each focus.
            for tried in range(1, len(focuses) + 1):
                insert_rows(connection, schema, worlds.rows(tried - 1), worlds.sizes)
                effort -= len(alive) + _LOAD
                keep(FEWEST, frozenset())
                if not (alive or constant):
                    break
        if not (alive or constant):
            continue
        masks = RowMasks(worlds)
        differ = {other: masks.differ(query, misses[other][1]) for other in alive}
        known = [other for other in alive if differ[other] is not None]
        table = np.array([differ[other] for other in known], dtype=np.float64).reshape(len(known), WORLDS)
        weights = np.ones(len(known))
        # Near misses that differ elsewhere are told where many rows or groups are selected.
        rows = masks.count_rows(query)
        rows = _ELSE * rows / max(rows.max(), 1)
        table[:, :tried] = rows[:tried] = 0
        for load in range(LOADS):
            free = len(alive) - int(np.count_nonzero(weights)) + constant
            gains = weights @ table + free * rows
            world = int(gains.argmax())
            if gains[world] < (_LEAST if load and weights.any() else 1e-9):
                break
            here = table[:, world] > 0
            table[:, world] = rows[world] = 0
            insert_rows(connection, schema, worlds.rows(world), worlds.sizes)
            effort -= len(alive) + _LOAD
            keep(0, {other for other, one in zip(known, here) if not one})
            weights[here] *= _AGAIN
            weights[[other not in alive for other in known]] = 0
            if not (alive or constant) or effort <= 0:
                break
    kinds = tuple(kind for kind, _ in misses.values())
    survivors, proven = (tuple((misses[other][0], other) for other in part) for part in (alive, equivalent or ()))
    expected = tuple((one.database, one.expected) for one in kept)
    tied = tuple(pair for pair, one in zip(expected, kept) if not one.told.isdisjoint(opened))
    return Witnesses(expected, kinds, survivors, proven, constant, tied)


def read_elsewhere(text: str, right: str) -> str:
    """Rewrite a near miss so that SQLite does what other engines do with the original. What the ``right`` query has,
    too, is the same in all engines."""
    for pattern, form in _ELSEWHERE:
        text = pattern.sub(lambda found, form=form: found[0] if found[0] in right else found.expand(form), text)
    return text


def derive_rows(miss: Query, query: Query) -> Callable[[list[Any]], list[Any]] | None:
    """Return a function from the query's rows to a near miss's rows, so that the near miss need not run; None if it
    must run.

    Without an order, a limit may keep other rows than the first ones, but the same number.
    """
    if not isinstance(miss, SelectQuery) or not isinstance(query, SelectQuery):
        return None
    if miss.limit is not None and miss.limit < (query.limit or miss.limit + 1):
        return lambda rows: rows[: miss.limit]
    if miss.distinct and not query.distinct and query.limit is None:
        return lambda rows: list(dict.fromkeys(rows))
    if len(query.columns) > 1 and miss.columns[:2] == query.columns[1::-1]:
        return lambda rows: [(row[1], row[0], *row[2:]) for row in rows]
    return None


def choose_focus(query: Query, schema: Schema) -> list[Focus]:
    """Choose the focuses of contents for a query: its tables, and values for the columns of its conditions and groups.

    The values for a condition lie on the condition's bound, next to it and beyond it. Most values meet the condition,
    so that rows that meet all conditions, or all but one, are frequent. One side of a UNION or EXCEPT gets few rows, as
    they hide the other side's rows. For columns compared with their mean, and means compared with a number, there is a
    second focus in which these columns only have values close to one another: the mean then has a fraction, and values
    lie between the mean and the next whole numbers. Each column compared with its mean gives a further focus, in which
    all values of the column are equal.
    """
    names = set(re.findall(r"\w+", query.sql())).union(*((view.table, *view.columns) for view in schema.views))
    tables = names.intersection(schema.names)
    if isinstance(query, SetQuery):
        rare = {"INTERSECT": [None], "EXCEPT": [query.right], "UNION": [query.right, query.left]}[query.operator]
        grouped, sides = query.left.columns, (query.left, query.right)
    else:
        grouped, sides, rare = query.group, (query,), [None]
    focuses = []
    for hidden in rare:
        values: dict[tuple[str, str], list[Any]] = {}
        for one in grouped:
            column = column_of(one)
            field = schema[column.table][column.name]
            if isinstance(one, YearOf):
                values[column.table, column.name] = [*list_values(field)[::6], *_OTHER_YEARS]
            elif field.kind == "pick":
                values[column.table, column.name] = [*field.values, *_OTHERS]
        near: dict[tuple[str, str], Sequence[Any]] = {}
        flat = []
        for side in sides:
            for one in side.having:
                if isinstance(one, Compare) and isinstance(one.left, AggregateOf) and one.left.function == "AVG":
                    assert one.left.column is not None
                    place = (one.left.column.table, one.left.column.name)
                    pool = list_values(schema[place[0]][place[1]])
                    alone = isinstance(one.right, SelectQuery)
                    near[place] = _values_near(pool[len(pool) // 2] if alone else one.right)
            conditions: dict[tuple[str, str], list[Any]] = {}
            collect_conditions(side, conditions)
            labels: Any
            for labels in side.columns:
                if isinstance(labels, CaseOf):
                    conditions.setdefault((labels.column.table, labels.column.name), []).append(labels)
            for place, compared in conditions.items():
                field = schema[place[0]][place[1]]
                if field.kind not in ("key", "parent"):
                    pool = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
                    often = 1 / _OFTEN if side is hidden else _OFTEN
                    around = [value for one in compared for value in _values_around(one, pool, often)]
                    values[place] = [value for value in around if value is not None or field.nullable]
                    for other in (getattr(one, "right", None) for one in compared):
                        if not isinstance(other, ColumnName):
                            continue
                        # Columns that are compared are often the same, or almost.
                        values[other.table, other.name] = [value for value in values[place] if value is not None]
                    means = [one for one in compared if isinstance(one, Compare) and isinstance(one.right, SelectQuery)]
                    if any(one.operator != "=" for one in means):
                        near[place] = _values_near(list_values(field)[len(pool) // 2])
                        flat.append(place)
                    elif means:
                        # Most rows have the minimum or maximum.
                        lowest = means[0].right.columns[0].function == "MIN"
                        near[place] = [*pool[:2], pool[0]] if lowest else [*pool[-2:], pool[-1]]
            if isinstance(side, WholeQuery):
                values |= side.often(schema)
        wheres = [{}, *([near] if near else []), *({place: near[place][:1]} for place in flat)]
        focuses += [Focus(tables, values, only, names) for only in wheres]
    return focuses


def _values_near(number: float) -> list[float]:
    """List numbers near ``number``, most of them equal to it, so that a small change moves their mean across it."""
    unit = 1 if isinstance(number, int) else 0.5
    return [max(round(number + unit * far, 2), 0) for far in _NEAR]


def _values_around(condition: Any, values: Sequence[Any], often: float) -> list[Any]:
    """List values for a condition, some of them several times.

    Args:
        condition: a condition of a query, or a `CaseOf`.
        values: usual values of its column, in order.
        often: ratio of listed values that meet the condition to values that fail it.
    """
    if hasattr(condition, "around"):
        return condition.around(values)
    if isinstance(condition, CaseOf):
        return [value for bound in condition.bounds for value in (bound, bound, *next_values(bound))]
    if isinstance(getattr(condition, "right", None), ColumnName):
        return list(values[len(values) // 2 :][:3])
    if isinstance(condition, (IsMissing, OneOf, StartsWith, Contains)):
        others = values[:: max(len(values) // 5, 1)]
        if isinstance(condition, IsMissing):
            passing, failing = (others, [None]) if condition.negated else ([None], others)
        elif isinstance(condition, OneOf):
            passing, failing = condition.values, others[:2]
        elif isinstance(condition, Contains):
            part = condition.part
            passing = [*[value for value in values if part in value][:2], f"{part} {values[0]}", f"{values[0]} {part}"]
            failing = [value for value in values if part not in value][:3]
        else:
            passing = [value for value in values if value.startswith(condition.prefix)]
            failing = [f"New {passing[0]}", *others[:1]]
        return _weigh(passing, failing, often)
    if isinstance(condition, IsAmong):
        return list(values)
    if isinstance(condition, Within):
        middle = values[(values.index(condition.low) + values.index(condition.high)) // 2]
        around = {condition.low, condition.high, middle, *next_values(condition.low), *next_values(condition.high)}
        passing = sorted(value for value in around if condition.low <= value <= condition.high)
        return _weigh(passing, sorted(around.difference(passing)), often)
    assert isinstance(condition, Compare)
    if isinstance(condition.left, YearOf):
        passing = [value for value in values if value.startswith(str(condition.right))][::8]
        return _weigh(passing, [*values[::30], *_OTHER_YEARS[1:3]], often)
    if condition.right in values:
        place, last = values.index(condition.right), len(values) - 1
        if condition.operator in ("=", "<>"):
            others = [values[place - 1], values[(place + 1) % len(values)]]
            same = [condition.right]
            return _weigh(same, others, often) if condition.operator == "=" else _weigh(others, same, often)
        # Values that distinguish another operator or the next constant are the most frequent.
        bound, beyond = condition.right, next_values(condition.right)[condition.operator in (">", "<=")]
        around = [values[min(max(place + far, 0), last)] for far in (-2, -1, 1, 2)]
        return [*around, *[bound, beyond] * _AT_BOUND]
    if condition.operator == "=":
        # The minimum or maximum values of the column.
        end = values[:3] if condition.right.columns[0].function == "MIN" else values[-3:]
        return [*end, values[len(values) // 2]]
    # Neighbouring values in the middle: a small change of the mean moves some of them across it.
    middle = len(values) // 2
    return [*values[max(middle - 2, 0) : middle + 2], values[0], values[-1]]


def _weigh(passing: Sequence[Any], failing: Sequence[Any], often: float) -> list[Any]:
    """List passing and failing values, with ``often`` times as many passing ones."""
    times = often * len(failing) / max(len(passing), 1)
    return [*list(passing) * max(round(times), 1), *list(failing) * max(round(1 / times), 1)]
