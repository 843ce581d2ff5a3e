"""The worked solution of a question: the effect of each clause of the reference query, in logical order."""

from __future__ import annotations

from .query_tree import Query, SelectQuery, SetQuery, WholeQuery
from .stored_columns import list_stored


def write_steps(query: Query) -> list[str]:
    """Write a line for each clause of a query."""
    return [f"Read {column.table}.{column.name} as {column.sql()}." for column in list_stored(query)] + _list_steps(
        query
    )


def _list_steps(query: Query) -> list[str]:
    if isinstance(query, WholeQuery):
        return query.steps()
    if isinstance(query, SetQuery):
        steps = [f"First side: {line}" for line in _list_steps(query.left)]
        steps += [f"Second side: {line}" for line in _list_steps(query.right)]
        steps.append(f"Combine the sides with {query.operator}, which removes duplicates.")
        return steps + [f"Sort by the column{', descending' * query.descending}."] * query.ordered
    return _clause_steps(query)


def _clause_steps(query: SelectQuery) -> list[str]:
    many = bool(query.joins)
    steps = [f"The rows come from the {f'view {query.view}' if query.view else f'table {query.table}'}."]
    for join in query.joins:
        kept = "rows without a partner stay" if join.kind == "LEFT" else "rows without a partner go"
        steps.append(f"Join {join.column.table} where {join.column.sql()} = {join.other.sql()}; {kept}.")
    steps += [f"Keep rows with {condition.sql(many)}." for condition in query.where]
    if query.group:
        steps.append(f"Group by {', '.join(key.sql(many) for key in query.group)}.")
    steps += [f"Keep groups with {condition.sql(many)}." for condition in query.having]
    columns = ", ".join(column.sql(many) for column in query.columns)
    steps.append(f"Return {columns}{', each combination once' * query.distinct}.")
    if query.order:
        steps.append(f"Sort by {', '.join(key.sql(many) for key in query.order)}.")
    if query.limit is not None:
        steps.append(f"Return the first {query.limit} only.")
    return steps
