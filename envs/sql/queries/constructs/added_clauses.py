"""Constructs that are a clause or expression more, each of which can be added to a query for rows or groups.

arithmetic: the sum, difference or product of two columns, or an aggregate of it; case: labels by CASE; columns: two
columns compared; contains: LIKE with a part of a text; having: groups compared with an average of all rows; sets: a set
operation on two columns; window: a running sum, or the value of the row before.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....code.programs.dice import Dice
from ...databases.contents import Rows, read_pool
from ...databases.relations import Field, Schema
from ..computed import CaseOf, ColumnArithmetic, Contains, EarlierRows, TotalOf
from ..query_grammar import draw_query
from ..query_plans import Plan
from ..query_tree import AggregateOf, ColumnName, Compare, Query, RankOver, SelectQuery, SetQuery, replace
from .construct import Construct, QueryRequest

_LABELS = (("high", "middle", "low"), ("A", "B", "C"), ("top", "mid", "rest"))
# Numbers from this one on are years.
_YEARS = 1800
# Letters of a part of a name.
_SHORTEST, _LONGEST = 2, 4


def _add(dice: Dice, plan: Plan, rows: Rows, query: Query | None, construct: str) -> Query | None:
    """Add a construct to a query; None if it does not fit."""
    if not isinstance(query, SelectQuery) or query.distinct:
        return None
    outer = {join.column.table for join in query.joins if join.kind == "LEFT"}
    tables = [query.table, *(join.column.table for join in query.joins)]
    inner = [table for table in tables if table not in outer]
    selects = not query.group and not any(isinstance(column, (AggregateOf, RankOver)) for column in query.columns)

    def columns(*kinds: str) -> list[tuple[ColumnName, Field]]:
        return [(ColumnName(t, one.name), one) for t in inner for one in plan.schema[t].fields if one.kind in kinds]

    if construct == "sets":
        other = draw_query(dice, plan, rows, dice.between(1, 2), 0)
        free = [column for column, field in columns("name", "pick", "date") if not field.nullable]
        if outer or len(free) < 2 or not isinstance(other, SelectQuery) or {*other.where} <= {*query.where}:
            return None
        first = dice.one(free)
        pair = (first, dice.one([column for column in free if column != first]))
        left, right = (SelectQuery(pair, plan.base, plan.joins, one.where) for one in (query, other))
        return SetQuery(dice.one(("INTERSECT", "EXCEPT", "UNION")), left, right) if query.where else None
    if construct in ("arithmetic", "columns"):
        kinds = ("int", "real") if construct == "arithmetic" or dice.chance(0.7) else ("date",)
        operator = dice.one("*+-") if construct == "arithmetic" else ""
        pairs = [
            (first, second)
            for first, one in columns(*kinds)
            for second, other in columns(*kinds)
            if first.table == second.table and first != second and _go_together(one, other, operator)
        ]
        if not pairs:
            return None
        first, second = dice.one(pairs)
        if construct == "columns":
            condition = Compare(first, dice.one((">", ">=", "<", "<=")), second)
            return replace(query, where=(condition, *query.where))
        computed: Any = ColumnArithmetic(first, operator, second)
        if query.group and is_repeated(query, plan.schema):
            return None
        if query.group:
            computed = TotalOf(dice.one(("SUM", "SUM", "AVG", "MIN", "MAX")), computed)
        elif not selects:
            return None
        return replace(query, columns=(*query.columns, computed))
    if construct == "contains":
        names = [(column, field) for column, field in columns("name") if _parts(field)]
        if not names:
            return None
        column, field = dice.one(names)
        return replace(query, where=(Contains(column, dice.one(_parts(field))), *query.where))
    if construct == "having":
        numbers = [column for column, _ in columns("int", "real")]
        if not query.group or query.having or not numbers or is_repeated(query, plan.schema):
            return None
        number = dice.one(numbers)
        mean = AggregateOf("AVG", number)
        all_rows = SelectQuery((mean,), number.table)
        return replace(query, having=(Compare(mean, dice.one((">", ">=", "<")), all_rows),))
    if not selects or query.group:
        return None
    if construct == "case":
        numbers = columns("int", "real")
        if not numbers:
            return None
        column, field = dice.one(numbers)
        place = plan.schema[column.table].fields.index(field)
        values = sorted({row[place] for row in rows[column.table] if row[place] is not None})
        if len(values) < 4:
            return None
        low, high = (
            values[dice.between(1, len(values) // 2 - 1)],
            values[dice.between(len(values) // 2, len(values) - 1)],
        )
        return replace(query, columns=(*query.columns, CaseOf(column, (high, low), dice.one(_LABELS))))
    numbers = [column for column, field in columns("int", "real") if not field.nullable]
    if query.limit is not None or not numbers:
        return None
    key = ColumnName(query.table, plan.schema[query.table].key)
    picks = [column for column, field in columns("pick") if not field.nullable]
    partition = dice.one(picks) if picks and dice.chance(0.4) else None
    window = EarlierRows(dice.one(("SUM", "LAG")), dice.one(numbers), key, dice.chance(0.3), partition)
    return replace(query, columns=(*query.columns, window))


def is_repeated(query: SelectQuery, schema: Schema) -> bool:
    """Return True if the joins repeat a row of the first table for each of its children."""
    return any(join.column.name != schema[join.column.table].key for join in query.joins)


def _go_together(one: Field, other: Field, operator: str) -> bool:
    """Return True if the operation on two columns means something; with ``operator`` "", if they can be compared."""
    if one.kind != other.kind or one.kind == "date":
        return one.kind == other.kind
    (low, high), (least, most) = ([float(value) for value in field.values[:2]] for field in (one, other))
    if operator == "*":
        return max(high, most) < _YEARS
    return low < most and least < high and max(high, most) <= 3 * min(high, most)


def _parts(field: Field) -> Sequence[str]:
    """List lower-case parts of a column's names that occur in some of the names, and in none with capitals."""
    pool = read_pool(field.values[0])
    found = {
        name[start : start + size]
        for name in pool
        for size in range(_SHORTEST, _LONGEST)
        for start in range(1, len(name) - size + 1)
    }
    return sorted(
        part
        for part in found
        if part.isalpha()
        and part.islower()
        and 1 < sum(part in name for name in pool) < len(pool)
        and all((part in name) == (part in name.lower()) for name in pool)
        # In some names, the part stands neither at the beginning nor at the end.
        and any(part in name[1:-1] for name in pool)
    )


def _make_row(name: str) -> Construct:
    def draw(request: QueryRequest, query: Query | None) -> Query | None:
        return _add(request.dice, request.plan, request.rows, query, name)

    return Construct(name, draw, adds=True)


ADDED_CLAUSES = tuple(map(_make_row, ("arithmetic", "case", "columns", "contains", "having", "sets", "window")))
