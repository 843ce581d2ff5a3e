"""Queries that differ from a right one in one place: the mistakes that a grader must tell from the right query.

Each changes one join, comparison, aggregate, handling of NULL, condition, key of the order, limit, column or set
operation, or DISTINCT. Some are equivalent to the query they are made of, for all contents that the schema allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import is_dataclass, replace
from typing import Any

from ..databases.relations import Schema
from .query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    EitherOf,
    IsAmong,
    IsMissing,
    JoinTo,
    OneOf,
    Query,
    RankOver,
    SelectQuery,
    SetQuery,
    Within,
)

_COMPARISONS = {">": (">=", "<"), ">=": (">",), "<": ("<=", ">"), "<=": ("<",), "=": ("<>", ">="), "<>": ("=",)}
_AGGREGATES = {"SUM": "AVG", "AVG": "SUM", "MIN": "MAX", "MAX": "MIN"}
_RANKS = {"RANK": ("DENSE_RANK", "ROW_NUMBER")}
_SETS = {"UNION": ("UNION ALL", "INTERSECT"), "INTERSECT": ("UNION",), "EXCEPT": ("INTERSECT",)}


def near_misses(query: Query, schema: Schema) -> Iterator[tuple[str, Query]]:
    """Yield (kind of change, query), each with one change."""
    yield from _changes(query, schema, True)


def _changes(node: Any, schema: Schema, outermost: bool) -> Iterator[tuple[str, Any]]:
    """Yield the changes of a node, and of the nodes in it."""
    if isinstance(node, JoinTo):
        # Every row has a partner where the reference cannot be NULL.
        if node.kind == "LEFT" or schema[node.other.table][node.other.name].nullable:
            yield "join", replace(node, kind="LEFT" if node.kind == "INNER" else "INNER")
        return
    if isinstance(node, SelectQuery):
        yield from _query_changes(node, schema, outermost)
    elif isinstance(node, SetQuery):
        for operator in _SETS[node.operator]:
            yield "set operation", replace(node, operator=operator)
        if node.operator == "EXCEPT":
            yield "set operation", replace(node, left=node.right, right=node.left)
        if node.ordered:
            yield "order", replace(node, descending=not node.descending)
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
    elif isinstance(node, Within):
        yield "comparison", Compare(node.left, ">=", node.low)
        yield "comparison", Compare(node.left, "<=", node.high)
    elif isinstance(node, OneOf):
        yield "comparison", replace(node, values=node.values[:-1])
    elif isinstance(node, EitherOf):
        yield "condition", node.first
        yield "condition", node.second
    elif isinstance(node, (IsMissing, IsAmong)):
        yield "null" if isinstance(node, IsMissing) else "nesting", replace(node, negated=not node.negated)
    elif isinstance(node, AggregateOf):
        yield from _aggregate_changes(node, schema)
    elif isinstance(node, RankOver):
        for function in _RANKS[node.function]:
            yield "window", replace(node, function=function)
        yield "window", replace(node, descending=not node.descending)
        if node.partition:
            yield "window", replace(node, partition=None)
        return
    for name in node.__slots__:
        value = getattr(node, name)
        if isinstance(value, tuple):
            for place, inner in enumerate(value):
                if is_dataclass(inner):
                    for kind, changed in _changes(inner, schema, False):
                        yield kind, replace(node, **{name: (*value[:place], changed, *value[place + 1 :])})
        elif is_dataclass(value):
            for kind, changed in _changes(value, schema, False):
                yield kind, replace(node, **{name: changed})


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
    if not query.group and not isinstance(query.columns[0], AggregateOf):
        yield "distinct", replace(query, distinct=not query.distinct)
    if len(query.columns) > 1:
        yield "column", replace(query, columns=(query.columns[1], query.columns[0], *query.columns[2:]))
    for place, key in enumerate(query.order):
        changed = replace(key, descending=not key.descending)
        yield "order", replace(query, order=(*query.order[:place], changed, *query.order[place + 1 :]))
    # Without another order sqlite returns rows, and groups, by ascending keys.
    if query.order and query.order[-1].descending:
        yield "order", replace(query, order=query.order[:-1])
    if query.limit is not None:
        yield "limit", replace(query, limit=query.limit + 1)
        yield "limit", replace(query, limit=query.limit - 1)


def _aggregate_changes(node: AggregateOf, schema: Schema) -> Iterator[tuple[str, AggregateOf]]:
    if node.function in _AGGREGATES:
        yield "aggregate", replace(node, function=_AGGREGATES[node.function])
        if node.function in ("SUM", "AVG"):
            yield "aggregate", replace(node, distinct=True)
    elif node.column:
        if node.column.name != schema[node.column.table].key:
            yield "aggregate", replace(node, distinct=not node.distinct)
        yield "null", AggregateOf("COUNT")


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
    """Return another column of the same table and the same sort of values; None where there is none."""
    relation = schema[column.table]
    field = relation[column.name]
    if field.kind in ("key", "parent"):
        return None
    similar = [
        one for one in relation.fields if (one.is_number, one.kind == "date") == (field.is_number, field.kind == "date")
    ]
    similar = [one for one in similar if one.kind not in ("key", "parent")]
    after = similar[(similar.index(field) + 1) % len(similar)]
    return None if after is field else ColumnName(column.table, after.name)
