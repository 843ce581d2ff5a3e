"""Changes with one mistake each: in the conditions, in the values, or in what else must change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..databases.contents import list_values
from ..databases.relations import Field, Schema
from .change_tree import (
    CaseValue,
    Change,
    ChildTotal,
    DeleteRows,
    GivenValue,
    InsertSelected,
    InsertValues,
    ParentValue,
    SetColumn,
    Shifted,
    Step,
    UpdateRows,
)
from .near_misses import near_misses
from .query_tree import AggregateOf, ColumnName, IsAmong, IsMissing, SelectQuery, replace, rewrite

# A mistake that often changes nothing: steps in another order, or carried out twice.
ORDER = "order"
_AGGREGATES = ("SUM", "AVG", "MIN", "MAX")
# Near misses of queries that change nothing here: keys are selected, in any order.
_POINTLESS = ("distinct", "limit")


def change_misses(change: Change, schema: Schema) -> Iterator[tuple[str, Change]]:
    """Yield (kind of change, change), each with one mistake."""
    apart = Change(tuple(one for step in change.steps for one in take_apart(step, schema)))
    for whole in (change, apart) if apart != change else (change,):
        for kind, other in near_misses(whole, schema):  # type: ignore[arg-type]
            if kind not in _POINTLESS:
                yield kind, other  # type: ignore[misc]
        for function in _AGGREGATES:
            for other in _AGGREGATES:
                changed = rewrite(whole, lambda node, pair=(function, other): _change_aggregate(node, *pair))
                if changed != whole:
                    yield "aggregate", changed
    for place, step in enumerate(apart.steps):
        # Without a nested query, rows that were changed or deleted are so still.
        if step.sql().count("SELECT") > 1:
            yield ORDER, Change((*apart.steps[:place], step, *apart.steps[place:]))
    steps = change.steps
    for place, step in enumerate(steps):
        for kind, other in _step_misses(step, schema):
            yield kind, Change((*steps[:place], other, *steps[place + 1 :]))
    if len(steps) > 1:
        for place in range(len(steps)):
            yield "step", Change((*steps[:place], *steps[place + 1 :]))
        words = [set(re.findall(r"\w+", step.sql())) for step in steps[:2]]
        if words[0] & words[1] & set(schema.names):
            yield ORDER, Change((steps[1], steps[0], *steps[2:]))


def _change_aggregate(node: Any, function: str, other: str) -> Any:
    is_meant = isinstance(node, AggregateOf) and node.function == function
    return replace(node, function=other) if is_meant else node


def take_apart(step: Step, schema: Schema) -> Iterator[Step]:
    """Yield the statements of a step as steps, so that a mistake can be in one of them only."""
    if not isinstance(step, DeleteRows):
        yield step
        return
    for link in (*step.children, *step.cleared):
        rows = SelectQuery((ColumnName(link.table, schema[link.table].key),), link.table)
        rows = replace(rows, where=(IsAmong(link, step.rows),))
        yield DeleteRows(rows) if link in step.children else UpdateRows((SetColumn(link, GivenValue(None)),), rows)
    yield DeleteRows(step.rows)


def _find_known(rows: SelectQuery) -> tuple[set[Any], set[Any]]:
    """Return the columns that cannot be NULL in the selected rows by their conditions, and those that are NULL."""
    missing = {one.left for one in rows.where if isinstance(one, IsMissing) and not one.negated}
    joined = {join.other for join in rows.joins if join.kind == "INNER"}
    return {getattr(one, "left", None) for one in rows.where}.difference(missing) | joined, missing


def _step_misses(step: Step, schema: Schema) -> Iterator[tuple[str, Step]]:
    if isinstance(step, InsertValues):
        yield from _row_misses(step, schema)
        return
    rows: SelectQuery = step.rows
    known, missing = _find_known(rows)
    if rows.where or rows.joins:
        yield "rows", replace(step, rows=replace(rows, joins=(), where=()))
    for place, link in enumerate(getattr(step, "children", ())):
        kept = (*step.children[:place], *step.children[place + 1 :])  # type: ignore[union-attr]
        yield "children", replace(step, children=kept)
        if schema[link.table][link.name].nullable:
            yield "children", replace(step, children=kept, cleared=(*step.cleared, link))  # type: ignore[union-attr]
    for place, link in enumerate(getattr(step, "cleared", ())):
        kept = (*step.cleared[:place], *step.cleared[place + 1 :])  # type: ignore[union-attr]
        yield "children", replace(step, cleared=kept)
        yield "children", replace(step, cleared=kept, children=(*step.children, link))  # type: ignore[union-attr]
    if isinstance(step, DeleteRows):
        return
    if isinstance(step, InsertSelected):
        relation = schema[step.table]
        for place, (name, value) in enumerate(zip(step.columns, step.values)):
            if value in missing:
                continue
            for other in _value_misses(value, relation[name], schema, known):
                yield "value", replace(step, values=(*step.values[:place], other, *step.values[place + 1 :]))
            if relation[name].nullable:
                pairs = [pair for pair in zip(step.columns, step.values) if pair[0] != name]
                yield "value", replace(step, columns=tuple(a for a, _ in pairs), values=tuple(b for _, b in pairs))
        return
    for place, one in enumerate(step.sets):
        field = schema[one.column.table][one.column.name]
        before, after = step.sets[:place], step.sets[place + 1 :]
        if len(step.sets) > 1:
            yield "column", replace(step, sets=(*before, *after))
        for other in _value_misses(one.value, field, schema, known):
            yield "value", replace(step, sets=(*before, SetColumn(one.column, other), *after))
        if isinstance(one.value, (ParentValue, CaseValue, GivenValue)):
            yield from _row_limits(step, one, field.nullable and one.column not in known | missing, known, schema)


def _row_limits(
    step: UpdateRows, one: SetColumn, nullable: bool, known: set[Any], schema: Schema
) -> Iterator[tuple[str, Step]]:
    """Yield updates that leave rows as they are: those with NULL, or without a partner. ``nullable`` is True if the
    column may be NULL in the rows."""
    rows, value = step.rows, one.value

    def change(other: Any) -> tuple[SetColumn, ...]:
        return tuple(SetColumn(one.column, other) if each is one else each for each in step.sets)

    if isinstance(value, ParentValue):
        link = value.reference
        if schema[link.table][link.name].nullable and link not in known:
            yield "null", replace(step, rows=replace(rows, where=(*rows.where, IsMissing(link, True))))
            yield "null", replace(step, sets=change(replace(value, kept=one.column)))
    elif isinstance(value, CaseValue):
        # The rows where the condition does not hold are left as they are.
        if isinstance(value.other, GivenValue):
            rows = replace(rows, where=(*rows.where, value.condition))
            yield "rows", replace(step, sets=change(value.value), rows=rows)
    elif nullable and isinstance(value, GivenValue) and value.value is not None:
        yield "null", replace(step, rows=replace(rows, where=(*rows.where, IsMissing(one.column, True))))


def _value_misses(value: Any, field: Field, schema: Schema, known: set[Any]) -> Iterator[Any]:
    if isinstance(value, GivenValue):
        yield from map(GivenValue, _other_constants(value.value, field))
    elif isinstance(value, Shifted):
        yield replace(value, operator="+" if value.operator != "+" else "-")
        yield replace(value, amount=value.amount + 1)
        if schema[value.column.table][value.column.name].nullable and value.column not in known:
            yield replace(value, filled=True)
        if field.kind not in ("key", "parent"):
            yield GivenValue(value.amount)
    elif isinstance(value, ChildTotal):
        yield replace(value, linked=False)
        if value.aggregate.function == "SUM":
            yield replace(value, filled=True)
    elif isinstance(value, CaseValue):
        yield value.value
        if isinstance(value.other, GivenValue):
            yield replace(value, value=value.other, other=value.value)
        if field.nullable:
            yield replace(value, other=GivenValue(None))
    elif isinstance(value, ColumnName) and field.kind not in ("key", "parent"):
        yield GivenValue(_default(field))


def _other_constants(value: Any, field: Field) -> list[Any]:
    found: list[Any] = []
    if field.kind == "parent":
        found.append(value % 3 + 1 if value else 1)
    elif field.is_number:
        found += [0] if value is None else [value + 1, value - 1]
    elif value is None:
        found.append(_default(field))
    else:
        values = list_values(field) if field.kind in ("pick", "date") else ()
        found += [one for one in values if one != value][:1] or [f"{value} 2"]
        if field.kind in ("pick", "name"):
            found.append(value.upper())
    return found + [None] * (field.nullable and value is not None)


def _default(field: Field) -> Any:
    return 0 if field.is_number else "2000-01-01" if field.kind == "date" else ""


def _row_misses(step: InsertValues, schema: Schema) -> Iterator[tuple[str, Step]]:
    rows, relation = step.rows, schema[step.table]
    for place, row in enumerate(rows):
        rest = (*rows[:place], *rows[place + 1 :])
        if rest:
            yield "rows", replace(step, rows=rest)
        yield "rows", replace(step, rows=(*rest, (row[0] + 50, *row[1:])))
        for column, name in enumerate(step.columns[1:], start=1):
            for other in _other_constants(row[column], relation[name])[: 1 if column % 2 else 2]:
                changed = (*row[:column], other, *row[column + 1 :])
                yield "value", replace(step, rows=(*rows[:place], changed, *rows[place + 1 :]))
    kinds = [relation[name].kind for name in step.columns]
    for first in range(1, len(kinds)):
        for second in range(first + 1, len(kinds)):
            nullable = [relation[step.columns[place]].nullable for place in (first, second)]
            is_same = all(row[first] == row[second] for row in rows)
            if kinds[first] == kinds[second] and nullable[0] == nullable[1] and not is_same:
                names = list(step.columns)
                names[first], names[second] = names[second], names[first]
                yield "column", replace(step, columns=tuple(names))
    left_out = [field for field in relation.fields if field.name not in step.columns]
    for field in left_out:
        if field.kind != "parent":
            filled = tuple((*row, _default(field)) for row in rows)
            more = (*step.updated, field.name) if step.updated else ()
            yield "null", replace(step, columns=(*step.columns, field.name), rows=filled, updated=more)
    if step.updated:
        yield "rows", replace(step, updated=())
        yield "rows", replace(step, way="nothing")
        if left_out:
            yield "null", replace(step, way="replace")
        for place in range(len(step.updated)):
            rest = (*step.updated[:place], *step.updated[place + 1 :])
            if rest:
                yield "column", replace(step, updated=rest)
