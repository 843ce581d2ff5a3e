"""Queries that differ from a right one in one place: mistakes that a grader must detect.

Each changes one join, comparison, constant, aggregate, average, handling of NULL, condition, key of the order, limit,
column or set operation, or DISTINCT. Some are equivalent to the original query for all contents that the schema allows
(`equivalence`). If the question asks for an order, near misses that leave ties in it (`leaves_ties`) may return the
rows in the right order by accident.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Set
from typing import Any

from ..databases.contents import list_values
from ..databases.relations import LINKS, Schema
from .computed import CaseOf, ColumnArithmetic, Contains, EarlierRows, TotalOf
from .query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    EitherOf,
    IsAmong,
    IsMissing,
    JoinTo,
    OneOf,
    OrderKey,
    Query,
    Quotient,
    RankOver,
    RoundOf,
    SelectQuery,
    SetQuery,
    StartsWith,
    WholeOf,
    WholeQuery,
    Within,
    column_of,
    is_ordered_query,
    replace,
    rewrite,
)
from .stored_columns import read_wrongly
from .wrapped_query import WrappedQuery

_COMPARISONS = {">": (">=", "<"), ">=": (">",), "<": ("<=", ">"), "<=": ("<",), "=": ("<>", ">="), "<>": ("=",)}
_AGGREGATES = {"SUM": "AVG", "AVG": "SUM", "MIN": "MAX", "MAX": "MIN"}
_RANKS = {"RANK": ("DENSE_RANK", "ROW_NUMBER")}
_EARLIER = {"LAG": ("LEAD", "MIN"), "SUM": ("AVG", "LAG")}
_OPERATIONS = {"*": ("+",), "+": ("*", "-"), "-": ("+",)}
# Index in `next_values` (0 below, 1 above) of the constant that replaces a comparison's constant.
_SIDES = {">": 1, ">=": 0, "<": 0, "<=": 1}
# Limit added to a query without one.
_CUT = 3
_SETS = {"UNION": ("UNION ALL", "INTERSECT"), "INTERSECT": ("UNION",), "EXCEPT": ("INTERSECT",)}


def near_misses(query: Query, schema: Schema) -> Iterator[tuple[str, Query]]:
    """Yield (kind of change, query), each with one change. If there are several averages, further near misses change
    all averages alike, and others read all columns that keep their values untidily in the same wrong way."""
    yield from _changes(query, schema, True)
    yield from (("cleaning", wrong) for wrong in read_wrongly(query, schema))
    if query.sql().count("AVG(") > 1:
        for way in range(3):

            def change(node: Any, way: int = way) -> Any:
                if not isinstance(node, AggregateOf) or node.function != "AVG":
                    return node
                ways = [one for _, one in _other_means(node, schema)]
                return ways[way] if way < len(ways) else node

            if (changed := rewrite(query, change)) != query:
                yield "average", changed


def leaves_ties(miss: Query, query: Query) -> bool:
    """Return True if a near miss sorts by fewer keys than the query."""
    if isinstance(miss, SetQuery) or isinstance(query, SetQuery):
        return is_ordered_query(query) and not is_ordered_query(miss)
    return len(miss.order) < len(query.order)


def _changes(node: Any, schema: Schema, outermost: bool) -> Iterator[tuple[str, Any]]:
    """Yield the changes of a node, and of the nodes in it. Nodes of constructs have a method for their own changes."""
    if hasattr(node, "changes"):
        yield from node.changes(schema)
    if isinstance(node, JoinTo):
        # If the reference cannot be NULL, every row has a partner.
        if node.kind == "LEFT" or schema[node.other.table][node.other.name].nullable:
            yield "join", replace(node, kind="LEFT" if node.kind == "INNER" else "INNER")
        return
    if isinstance(node, SelectQuery):
        yield from _query_changes(node, schema, outermost)
    elif isinstance(node, WholeQuery):
        for place in range(len(node.where)):
            yield "condition", replace(node, where=node.where[:place] + node.where[place + 1 :])
        if len(node.columns) > 1:
            yield "column", replace(node, columns=(node.columns[1], node.columns[0], *node.columns[2:]))
        if node.has_repeats:
            yield "distinct", WrappedQuery(node, once=True)
        if not node.is_single_row:
            yield "limit", WrappedQuery(node, most=_CUT)
        yield from _column_changes(node, schema, set())
    elif isinstance(node, SetQuery):
        for operator in _SETS[node.operator]:
            yield "set operation", replace(node, operator=operator)
        if node.operator == "EXCEPT":
            yield "set operation", replace(node, left=node.right, right=node.left)
        if node.ordered:
            yield "order", replace(node, descending=not node.descending)
            yield "order", replace(node, ordered=False)
    elif isinstance(node, ColumnName):
        if other := _similar_column(node, schema):
            yield "column", other
    elif isinstance(node, Compare):
        others = _COMPARISONS[node.operator]
        for operator in others if not isinstance(node.right, str) else others[:1]:
            yield "comparison", replace(node, operator=operator)
        if (
            node.operator == "<>"
            and isinstance(node.left, ColumnName)
            and schema[node.left.table][node.left.name].nullable
        ):
            yield "null", EitherOf(node, IsMissing(node.left))
        if node.operator in _SIDES and isinstance(node.right, (int, float, str)):
            side = _SIDES[node.operator]
            yield "comparison", replace(node, right=next_values(node.right)[side])
            if not isinstance(node.right, int):
                yield "comparison", replace(node, right=_move(node.right, -1 if side else 1))
    elif isinstance(node, Within):
        yield "comparison", Compare(node.left, ">=", node.low)
        yield "comparison", Compare(node.left, "<=", node.high)
        for value in next_values(node.low):
            yield "comparison", replace(node, low=value)
        for value in next_values(node.high):
            yield "comparison", replace(node, high=value)
    elif isinstance(node, OneOf):
        for place in range(len(node.values)):
            yield "comparison", replace(node, values=node.values[:place] + node.values[place + 1 :])
    elif isinstance(node, StartsWith):
        yield "comparison", replace(node, prefix=f"%{node.prefix}")
    elif isinstance(node, EitherOf):
        yield "condition", node.first
        yield "condition", node.second
    elif isinstance(node, (IsMissing, IsAmong)):
        yield "null" if isinstance(node, IsMissing) else "nesting", replace(node, negated=not node.negated)
    elif isinstance(node, AggregateOf):
        if node.function in _AGGREGATES:
            yield "aggregate", replace(node, function=_AGGREGATES[node.function])
            if node.function in ("SUM", "AVG"):
                yield "aggregate", replace(node, distinct=True)
            if node.function == "AVG":
                yield from _other_means(node, schema)
        elif node.column:
            if node.column.name != schema[node.column.table].key:
                yield "aggregate", replace(node, distinct=not node.distinct)
            yield "null", AggregateOf("COUNT")
    elif isinstance(node, RankOver):
        for function in _RANKS[node.function]:
            yield "window", replace(node, function=function)
        yield "window", replace(node, descending=not node.descending)
        if node.partition:
            yield "window", replace(node, partition=None)
        return
    else:
        yield from _computed_changes(node)
    for name in node.__slots__:
        value = getattr(node, name)
        if isinstance(value, tuple):
            for place, inner in enumerate(value):
                if hasattr(inner, "__slots__"):
                    for kind, changed in _changes(inner, schema, False):
                        yield kind, replace(node, **{name: (*value[:place], changed, *value[place + 1 :])})
        elif hasattr(value, "__slots__"):
            for kind, changed in _changes(value, schema, False):
                # Few averages are sorted in another way once they are rounded.
                if kind != "average" or not isinstance(node, OrderKey):
                    yield kind, replace(node, **{name: changed})


def _computed_changes(node: Any) -> Iterator[tuple[str, Any]]:
    """Yield the changes of a node of `computed`; none for others."""
    if isinstance(node, ColumnArithmetic):
        for operator in _OPERATIONS[node.operator]:
            yield "arithmetic", replace(node, operator=operator)
        if node.operator == "-":
            yield "arithmetic", replace(node, first=node.second, second=node.first)
    elif isinstance(node, TotalOf):
        yield "aggregate", replace(node, function=_AGGREGATES[node.function])
        if node.function in ("SUM", "AVG"):
            yield "aggregate", replace(node, distinct=True)
        if node.function == "SUM" and node.number.operator == "*":
            sums = [AggregateOf("SUM", one) for one in (node.number.first, node.number.second)]
            yield "arithmetic", ColumnArithmetic(sums[0], "*", sums[1])
    elif isinstance(node, CaseOf):
        yield "case", replace(node, operator=">")
        yield "case", replace(node, operator="<=")
        for place in range(2):
            for value in next_values(node.bounds[place]):
                bounds = (value, node.bounds[1]) if place == 0 else (node.bounds[0], value)
                yield "case", replace(node, bounds=bounds)
        first, second, last = node.labels
        yield "case", replace(node, labels=(first, last, second))
        yield "case", replace(node, labels=(second, first, last))
    elif isinstance(node, EarlierRows):
        for function in _EARLIER[node.function]:
            yield "window", replace(node, function=function)
        yield "window", replace(node, backwards=not node.backwards)
        if node.partition:
            yield "window", replace(node, partition=None)
    elif isinstance(node, Contains):
        for form in ("{}%", "%{}"):
            yield "comparison", replace(node, form=form)
        yield "condition", replace(node, negated=True)


def _other_means(mean: AggregateOf, schema: Schema) -> Iterator[tuple[str, Any]]:
    """Yield changes of an average: rounded, without its fraction, and with NULL counted as 0."""
    assert mean.column is not None
    field = schema[mean.column.table][mean.column.name]
    total = replace(mean, function="SUM")
    yield "average", RoundOf(mean)
    yield "average", Quotient(total, replace(mean, function="COUNT")) if field.kind == "int" else WholeOf(mean)
    if field.nullable:
        yield "average", Quotient(total, AggregateOf("COUNT"), True)


def _query_changes(query: SelectQuery, schema: Schema, outermost: bool) -> Iterator[tuple[str, SelectQuery]]:
    for place in range(len(query.where)):
        yield "condition", replace(query, where=query.where[:place] + query.where[place + 1 :])
    if query.having:
        yield "condition", replace(query, having=())
    for place, join in enumerate(query.joins):
        for other in _other_paths(query, join, schema):
            changed = replace(join, other=other)
            yield "join", replace(query, joins=(*query.joins[:place], changed, *query.joins[place + 1 :]))
    if not outermost:
        return
    yield from _inner_joins(query, schema)
    for view in schema.views:
        if view.table == query.table:
            yield "view", replace(query, view="" if query.view else view.name)
    # Of one row, the first, engines may give another duplicate or the same.
    if not query.group and not isinstance(query.columns[0], AggregateOf) and query.limit != 1:
        yield "distinct", replace(query, distinct=not query.distinct)
    if len(query.columns) > 1:
        yield "column", replace(query, columns=(query.columns[1], query.columns[0], *query.columns[2:]))
    for place, key in enumerate(query.order):
        changed = replace(key, descending=not key.descending)
        yield "order", replace(query, order=(*query.order[:place], changed, *query.order[place + 1 :]))
    # Without the last key, and without any.
    for number in {len(query.order[:-1]), 0} if query.order else ():
        yield "order", replace(query, order=query.order[:number])
    if query.limit is not None:
        yield "limit", replace(query, limit=query.limit + 1)
        yield "limit", replace(query, limit=query.limit - 1)
    elif query.group or not all(isinstance(column, AggregateOf) for column in query.columns):
        yield "limit", replace(query, limit=_CUT)
    yield from _column_changes(query, schema, {join.column.table for join in query.joins if join.kind == "LEFT"})


def _column_changes(query: Any, schema: Schema, outer: Set[str]) -> Iterator[tuple[str, Any]]:
    """Yield queries with a rounded column, and without the rows in which a column is NULL. ``outer``: tables whose
    columns may all be NULL."""
    known = {getattr(node, "left", None) for node in query.where}
    for place, one in enumerate(query.columns):
        if _is_real(one, schema):
            rounded: Any = RoundOf(one)
            yield "column", replace(query, columns=(*query.columns[:place], rounded, *query.columns[place + 1 :]))
        column = column_of(one)
        if not isinstance(column, ColumnName) or column in known:
            continue
        if column.table in outer or schema[column.table][column.name].nullable:
            yield "null", replace(query, where=(*query.where, IsMissing(column, True)))


def _inner_joins(query: SelectQuery, schema: Schema) -> Iterator[tuple[str, SelectQuery]]:
    """Yield queries whose inner query on the same table also leaves out the rows without a partner."""
    for place, node in enumerate(query.where):
        name = "right" if isinstance(node, Compare) else "query"
        inner = getattr(node, name, None)
        if isinstance(inner, SelectQuery) and inner.table == query.table:
            for join in query.joins:
                field = schema[join.other.table][join.other.name]
                if join.kind == "INNER" and join.other.table == inner.table and field.nullable:
                    narrower = replace(inner, where=(*inner.where, IsMissing(join.other, True)))
                    changed = replace(node, **{name: narrower})
                    yield "nesting", replace(query, where=(*query.where[:place], changed, *query.where[place + 1 :]))


def _move(value: float | str, units: int) -> float | str:
    """Add units to a number, or years to a date."""
    return f"{int(value[:4]) + units}{value[4:]}" if isinstance(value, str) else round(value + units, 2)


def _is_real(expression: Any, schema: Schema) -> bool:
    """Return True if the values of an expression may have a fraction."""
    if isinstance(expression, AggregateOf):
        # Averages are changed wherever they occur.
        expression = None if expression.function in ("COUNT", "AVG") else expression.column
    field = schema[expression.table][expression.name] if isinstance(expression, ColumnName) else None
    return field is not None and field.kind == "real" and any(value % 1 for value in list_values(field))


def next_values(value: Any) -> list[Any]:
    """List the values right below and above a number or date, which distinguish it from a neighbouring constant."""
    if isinstance(value, str):
        day = datetime.date.fromisoformat(value)
        return [str(day + datetime.timedelta(days=days)) for days in (-1, 1)]
    step = 1 if isinstance(value, int) else 0.01
    return [round(value - step, 2), round(value + step, 2)]


def _other_paths(query: SelectQuery, join: JoinTo, schema: Schema) -> Iterator[ColumnName]:
    """Yield the other columns of the tables before ``join`` that refer to the same table."""
    tables = [query.table]
    for earlier in query.joins:
        if earlier is join:
            break
        tables.append(earlier.column.table)
    for table in tables:
        for field in schema[table].parents:
            other = ColumnName(table, field.name)
            if field.values[0] == join.column.table and other != join.other:
                yield other


def _similar_column(column: ColumnName, schema: Schema) -> ColumnName | None:
    """Return another column of the same table with the same kind of values, or None."""
    relation = schema[column.table]
    field = relation[column.name]
    if field.kind in LINKS:
        return None
    similar = [
        one for one in relation.fields if (one.is_number, one.kind == "date") == (field.is_number, field.kind == "date")
    ]
    similar = [one for one in similar if one.kind not in LINKS]
    after = similar[(similar.index(field) + 1) % len(similar)]
    return None if after is field else ColumnName(column.table, after.name)
