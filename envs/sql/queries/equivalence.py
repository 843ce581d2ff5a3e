"""Proofs that two queries have the same result on all contents that a schema allows.

`normal_form` rewrites a query by the rules below; queries with one normal form are equivalent. The converse does not
hold. Each rule is true of SQL wherever the keys and NOT NULL of the schema hold:

* outer join: LEFT JOIN equals JOIN if a condition, a later JOIN, or a condition on groups rejects the rows without a
  partner; if only aggregates of the joined table's columns are returned, since these skip NULL; and if the other side
  of a set operation has no NULL;
* dependent key: if GROUP BY has the key of a row, further columns of that row or of its parents change nothing;
* count: COUNT of a column that is not NULL in any row counts rows;
* at least one: COUNT(*) is 1, not 0, for a row left-joined with no children; this makes no difference to a condition
  that has the same truth value for 0 and 1;
* single row: an aggregate of one row is the row's value, and needs no DISTINCT;
* constant: an expression with the same value in all rows neither orders nor groups them;
* extreme: no value exceeds the maximum of the whole table or is below the minimum;
* average: AVG is the sum over the count of the values that are not NULL;
* whole numbers: numbers are never negative here, and no whole number lies between a number and the same number without
  its fraction. So the fraction of AVG does not matter in x > AVG and x <= AVG for whole numbers x, nor in AVG >= n and
  AVG < n for a whole n.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from ..databases.relations import Schema
from .computed import TotalOf
from .query_tree import (
    COMPARISONS,
    AggregateOf,
    ColumnName,
    Compare,
    Condition,
    EitherOf,
    IsAmong,
    IsMissing,
    JoinTo,
    Query,
    Quotient,
    RankOver,
    RoundOf,
    SelectQuery,
    WholeOf,
    WholeQuery,
    YearOf,
    column_of,
    replace,
)
from .stored_columns import normal_stored


def normal_form(query: Query, schema: Schema) -> Query:
    """Rewrite a query by the rules; queries with the same normal form have the same result."""
    query = normal_stored(query) if schema.stored_forms else query
    if isinstance(query, WholeQuery):
        return replace(query, where=tuple(_normal_condition(one, schema) for one in query.where))
    if isinstance(query, SelectQuery):
        return _normal_select(query, schema, frozenset())
    left, right = (_normal_select(side, schema, frozenset()) for side in (query.left, query.right))
    # A NULL on one side only is not in the intersection, and removes nothing in a difference.
    if query.operator == "INTERSECT" and _has_no_null(right, schema):
        left = _normal_select(left, schema, {column_of(one).table for one in left.columns})
    if query.operator in ("INTERSECT", "EXCEPT") and _has_no_null(left, schema):
        right = _normal_select(right, schema, {column_of(one).table for one in right.columns})
    return replace(query, left=left, right=right)


def _has_no_null(side: SelectQuery, schema: Schema) -> bool:
    columns = [column_of(one) for one in side.columns]
    outer = {join.column.table for join in side.joins if join.kind == "LEFT"}
    return not any(one.table in outer or schema[one.table][one.name].nullable for one in columns)


def _normal_select(query: SelectQuery, schema: Schema, present: Set[str]) -> SelectQuery:
    """Rewrite a query. ``present``: joined tables; a row without a partner in one of these does not count."""
    query = replace(query, where=tuple(_normal_condition(one, schema) for one in query.where))
    query = replace(query, joins=_normal_joins(query, schema, present))
    child = _find_child(query, schema)
    counted = [_normal_count(one, query, schema) for one in query.having]
    having = tuple(_normal_having(_normal_mean(one, query, schema), child) for one in counted)
    # Expressions that count the rows of a group.
    counts = (AggregateOf("COUNT"), AggregateOf("COUNT", child))
    single = any(
        isinstance(one, Compare) and (one.operator, one.right) == ("=", 1) and one.left in counts for one in having
    )

    def rewrite(expression: Any) -> Any:
        if isinstance(expression, RankOver) and expression.partition in fixed:
            return replace(expression, partition=None)
        expression = _normal_mean(expression, query, schema, single)
        if single and isinstance(expression, AggregateOf):
            function = "COUNT" if expression.function == "COUNT" else "MIN"
            expression = replace(expression, function=function, distinct=False)
        if single and isinstance(expression, TotalOf):
            return replace(expression, function="MIN", distinct=False)
        return _normal_count(expression, query, schema)

    conditions = (*query.where, *having)
    fixed = {one.left for one in conditions if isinstance(one, Compare) and one.operator == "="}
    keys = [replace(key, expression=rewrite(key.expression)) for key in query.order]
    return replace(
        query,
        columns=tuple(map(rewrite, query.columns)),
        group=_normal_group(query, schema),
        having=having,
        order=tuple(key for key in keys if key.expression not in fixed),
    )


def _normal_condition(condition: Condition, schema: Schema) -> Condition:
    if isinstance(condition, EitherOf):
        return EitherOf(_normal_condition(condition.first, schema), _normal_condition(condition.second, schema))
    if isinstance(condition, IsAmong):
        return replace(condition, query=_normal_select(condition.query, schema, frozenset()))
    if isinstance(condition, Compare) and isinstance(inner := condition.right, SelectQuery):
        normal = _normal_select(inner, schema, frozenset())
        mean: Any = normal.columns[0]
        whole = isinstance(mean, WholeOf) and condition.operator in (">", "<=")
        if whole and isinstance(left := condition.left, ColumnName) and schema[left.table][left.name].kind == "int":
            normal = replace(normal, columns=(mean.expression,))
        condition = replace(condition, right=normal)
        function = {">=": "MAX", "<=": "MIN"}.get(condition.operator, "")
        extreme = isinstance(left := condition.left, ColumnName) and inner.columns[0] == AggregateOf(function, left)
        if extreme and not inner.where and not inner.joins:
            return replace(condition, operator="=")
    return condition


def _normal_joins(query: SelectQuery, schema: Schema, present: Set[str]) -> tuple[JoinTo, ...]:
    """Turn outer joins into inner ones if rows without a partner are rejected or do not count."""
    aggregates = [one for one in query.columns if isinstance(one, AggregateOf)]
    only_aggregates = not query.group and len(aggregates) == len(query.columns)
    present = {*present, *(table for table in _tables_in(query) if any(_needs(one, table) for one in query.where))}
    child = _find_child(query, schema)
    if child and any(_refuses_none(one, child) for one in query.having):
        present.add(child.table)
    found: list[JoinTo] = []
    for join in reversed(query.joins):
        table = join.column.table
        below = {table, *(one.column.table for one in found if one.other.table == table)}
        counted = only_aggregates and {getattr(one.column, "table", "") for one in aggregates} <= below
        if join.kind == "INNER" or table in present or counted:
            join = replace(join, kind="INNER")
            present.add(join.other.table)
        found.append(join)
    return tuple(reversed(found))


def _tables_in(query: SelectQuery) -> list[str]:
    return [query.table, *(join.column.table for join in query.joins)]


def _needs(condition: Condition, table: str) -> bool:
    """Return True if a condition is never true of a row in which all columns of a table are NULL."""
    if isinstance(condition, EitherOf):
        return _needs(condition.first, table) and _needs(condition.second, table)
    column = _find_known(condition)
    return column is not None and column.table == table


def _find_known(condition: Condition) -> ColumnName | None:
    """Return the column that a true condition implies to be not NULL."""
    if isinstance(condition, EitherOf):
        return None
    # With an empty list, NOT IN is true even of NULL.
    if isinstance(condition, IsAmong) and condition.negated:
        return None
    if isinstance(condition, IsMissing) and not condition.negated:
        return None
    column = column_of(getattr(condition, "left", None))
    return column if isinstance(column, ColumnName) else None


def _refuses_none(condition: Condition, child: ColumnName) -> bool:
    """Return True if a condition on groups is never true of a row without children."""
    if not isinstance(condition, Compare) or not isinstance(condition.left, AggregateOf):
        return False
    holds = COMPARISONS[condition.operator]
    if condition.left == AggregateOf("COUNT"):
        return not holds(1, condition.right)
    if condition.left.column is None or condition.left.column.table != child.table:
        return False
    return condition.left.function != "COUNT" or not holds(0, condition.right)


def _find_child(query: SelectQuery, schema: Schema) -> ColumnName | None:
    """Return the children's key if each group is one row of the query's table with its children, if any."""
    children = [join for join in query.joins if join.column.name != schema[join.column.table].key]
    if len(children) == 1 and children[0].kind == "LEFT" and _key_of(query.table, schema) in query.group:
        return _key_of(children[0].column.table, schema)
    return None


def _key_of(table: str, schema: Schema) -> ColumnName:
    return ColumnName(table, schema[table].key)


def _normal_group(query: SelectQuery, schema: Schema) -> tuple[ColumnName | YearOf, ...]:
    """Leave out columns that depend on other columns of the group."""
    keyed = {table for table in _tables_in(query) if _key_of(table, schema) in query.group}
    for join in query.joins:
        if join.other.table in keyed and join.column == _key_of(join.column.table, schema):
            keyed.add(join.column.table)
    keys = {_key_of(table, schema) for table in keyed}
    return tuple(one for one in query.group if one in keys or column_of(one).table not in keyed)


def _normal_count(node: Any, query: SelectQuery, schema: Schema) -> Any:
    """Rewrite COUNT of a column that is never NULL, in a node or in the sides of a comparison."""
    if isinstance(node, Compare):
        return replace(node, left=_normal_count(node.left, query, schema))
    if not isinstance(node, AggregateOf) or node.function != "COUNT" or node.distinct or node.column is None:
        return node
    table = node.column.table
    if schema[table][node.column.name].nullable and node.column not in map(_find_known, query.where):
        return node
    outer = {join.column.table for join in query.joins if join.kind == "LEFT"}
    return replace(node, column=_key_of(table, schema) if table in outer else None)


def _normal_mean(node: Any, query: SelectQuery, schema: Schema, single: bool = False) -> Any:
    """Rewrite quotients as averages, in a node or in a condition on groups. ``single``: each group is one row."""
    if isinstance(node, Compare):
        left = _normal_mean(node.left, query, schema, single)
        whole = isinstance(node.right, (int, float)) and node.right % 1 == 0
        if isinstance(left, WholeOf) and node.operator in (">=", "<") and whole:
            left = left.expression
        return replace(node, left=left)
    if isinstance(node, Quotient):
        mean, column = replace(node.total, function="AVG"), node.total.column
        assert column is not None
        if not node.exact:
            node = WholeOf(mean)
        elif single or _normal_count(AggregateOf("COUNT", column), query, schema).column is None:
            node = mean
    if single and isinstance(node, (RoundOf, WholeOf)):
        column = column_of(getattr(node.expression, "column", node.expression))
        return node.expression if schema[column.table][column.name].kind == "int" else node
    return node


def _normal_having(condition: Condition, child: ColumnName | None) -> Condition:
    """Count rows instead of children if the condition has the same value for 0 and 1."""
    if child and isinstance(condition, Compare) and condition.left == AggregateOf("COUNT", child):
        holds = COMPARISONS[condition.operator]
        if holds(0, condition.right) == holds(1, condition.right):
            return replace(condition, left=AggregateOf("COUNT"))
    return condition
