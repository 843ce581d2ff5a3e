"""Probes of a schema: rows that it must accept or refuse, and changes of a schema with one mistake each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from ..databases.contents import format_literal
from ..databases.relations import Schema
from ..engines import StateProbe
from .definition import Definition
from .table_design import ColumnDesign, TableDesign, design_of

# Keys of rows that probes add, and one that no row has.
_KEY, _SECOND, _PARENT, _NONE = 500, 501, 600, 9999
_CLASSES = {"int": "whole", "real": "real", "text": "text", "date": "text"}


def list_columns(definition: Definition) -> tuple[tuple[str, str, str], ...]:
    """List (table or view, column, class of its type) after a change; without classes for a view."""
    designs = [design_of(one) for one in definition.before.relations if one.name != definition.old]
    designs += [one for one in (definition.table, definition.part) if one]
    found = [(one.name, one.key, "whole") for one in designs]
    found += [(one.name, column.name, _CLASSES[column.kind]) for one in designs for column in one.columns]
    if definition.view:
        found += [(definition.view[0], name, "") for name in definition.view[1]]
    return tuple(found)


def list_probes(definition: Definition) -> tuple[StateProbe, ...]:
    """List the probes of a change: all rows of all tables, and what the changed tables accept and refuse."""
    found = [StateProbe((), f"SELECT {', '.join(columns)} FROM {name}") for name, columns in definition.after]
    if definition.view:
        name, columns, _ = definition.view
        query = f"SELECT {', '.join(columns)} FROM {name}"
        # A view shows what becomes of the tables.
        ends = tuple(f"DELETE FROM {one}" for one in definition.before.names if not definition.before.children(one))
        return (*found, StateProbe((), query), StateProbe(ends, query))
    for table in (definition.table, definition.part):
        if table:
            found += _probe_table(table, definition)
    return tuple(dict.fromkeys(found))


def _probe_table(table: TableDesign, definition: Definition) -> Iterator[StateProbe]:
    schema = definition.before
    owner = definition.table if table.key_parent else None
    first = [_insert(one, _row(one, key)) for one, key in _parents(owner or table, schema)]
    first += [_insert(owner, _row(owner, key)) for key in (_KEY, _SECOND)] if owner else []
    query = f"SELECT {', '.join(table.names)} FROM {table.name} WHERE {table.key} IN ({_KEY}, {_SECOND})"
    row, second = _row(table, _KEY), _row(table, _SECOND)

    def probe(*rows: dict[str, Any]) -> StateProbe:
        return StateProbe((*first, *(_insert(table, one) for one in rows)), query)

    yield probe(row)
    yield probe(row, second)
    yield probe(row, {**second, table.key: _KEY})
    if owner:
        yield StateProbe((_insert(table, row),), query)
        gone = f"DELETE FROM {owner.name} WHERE {owner.key} = {_KEY}"
        yield StateProbe((*first, _insert(table, row), gone), query)
    for column in table.columns:
        name = column.name
        yield probe({**row, name: None})
        yield probe({key: value for key, value in row.items() if key != name})
        yield probe(row, {**second, name: row[name]})
        for value in _values(column):
            yield probe({**row, name: value})
        if column.parent:
            parent = schema[column.parent]
            gone = f"DELETE FROM {parent.name} WHERE {parent.key} = {row[name]}"
            yield StateProbe((*first, _insert(table, row), gone), query)
    for first_name, second_name in table.pairs:
        yield probe(row, {**second, first_name: row[first_name], second_name: row[second_name]})


def _parents(table: TableDesign, schema: Schema) -> Iterator[tuple[TableDesign, int]]:
    """Yield the tables that a table refers to, each with the keys of two new rows."""
    for name in dict.fromkeys(one.parent for one in table.columns if one.parent):
        yield from ((design_of(schema[name]), key) for key in (_PARENT, _PARENT + 1))


def _values(column: ColumnDesign) -> list[Any]:
    """List values at the bounds of what a column may allow, and beyond them."""
    if column.parent:
        return [_NONE] if column.unique else [3, _NONE]
    if column.kind in ("int", "real"):
        low = 0 if column.low is None else column.low
        step = 1 if column.kind == "int" else 0.5
        return [low, round(low - step, 2), -1000]
    return [*column.among, *(["elsewhere", ""] if column.kind == "text" else [])]


def _row(table: TableDesign, key: int) -> dict[str, Any]:
    """Return a row that keeps all rules, and that has other values than rows with other keys and than drawn rows."""
    found: dict[str, Any] = {table.key: key}
    for place, column in enumerate(table.columns):
        far = key - _KEY
        if column.parent:
            # The parents of new parents are old ones.
            found[column.name] = _PARENT + far if far < _PARENT - _KEY else 1
        elif column.among:
            found[column.name] = column.among[far % len(column.among)]
        elif column.kind in ("int", "real"):
            found[column.name] = 7000 + 10 * place + far
        elif column.kind == "date":
            found[column.name] = f"2031-{1 + place:02}-{1 + far % 28:02}"
        else:
            found[column.name] = f"probe {key}"
    return found


def _insert(table: TableDesign, row: dict[str, Any]) -> str:
    return f"INSERT INTO {table.name} ({', '.join(row)}) VALUES ({', '.join(map(format_literal, row.values()))})"


def definition_misses(definition: Definition) -> Iterator[tuple[str, Definition]]:
    """Yield (kind of mistake, change of the schema), each with one mistake."""
    if definition.view:
        name, columns, query = definition.view
        yield "view", replace(definition, stored=True)
        yield "name", replace(definition, view=(name, (f"{columns[0]}_x", *columns[1:]), query))
        return
    table = definition.table
    if table is None:
        return
    # A mistake in a table that exists needs it to be made anew.
    kind = "rule" if definition.kind in ("rename", "drop", "add") else definition.kind
    if definition.old:
        yield "rows", replace(definition, kind=kind, lossy=True)
        if definition.filled:
            name = definition.filled[0]
            place = table.names.index(name)
            for source in ("NULL", "0" if table[name].kind in ("int", "real") else "''"):
                sources = (*definition.sources[:place], source, *definition.sources[place + 1 :])
                if sources != definition.sources:
                    yield "value", replace(definition, kind="rule", sources=sources)
    for change, other in _table_misses(table):
        yield change, replace(definition, kind=kind, table=other)
    if definition.part:
        for change, other in _table_misses(definition.part):
            yield change, replace(definition, part=other)
        yield "reference", replace(definition, part=replace(definition.part, key_parent=""))


def _table_misses(table: TableDesign) -> Iterator[tuple[str, TableDesign]]:
    for place, column in enumerate(table.columns):
        for change, other in _column_misses(column):
            yield change, replace(table, columns=(*table.columns[:place], other, *table.columns[place + 1 :]))
    for place, pair in enumerate(table.pairs):
        rest = (*table.pairs[:place], *table.pairs[place + 1 :])
        yield "unique", replace(table, pairs=rest)
        for name in pair:
            columns = tuple(replace(one, unique=True) if one.name == name else one for one in table.columns)
            yield "unique", replace(table, pairs=rest, columns=columns)


def _column_misses(column: ColumnDesign) -> Iterator[tuple[str, ColumnDesign]]:
    yield "null", replace(column, required=not column.required)
    yield "unique", replace(column, unique=not column.unique)
    if column.default is not None:
        yield "default", replace(column, default=None)
        other = column.default + 1 if column.kind in ("int", "real") else f"{column.default} 2"
        yield "default", replace(column, default=other)
    elif column.kind in ("int", "real") and not column.parent:
        yield "default", replace(column, default=0 if column.low is None else column.low)
    if column.low is not None:
        yield "check", replace(column, low=None)
        yield "check", replace(column, low=column.low + 1)
        yield "check", replace(column, low=column.low - 1)
    elif column.kind in ("int", "real") and not column.parent:
        yield "check", replace(column, low=0)
    if column.among:
        yield "check", replace(column, among=())
        yield "check", replace(column, among=column.among[:-1])
    if column.parent:
        yield "reference", replace(column, parent="", action="")
        for action in ("", "CASCADE", "SET NULL"):
            if action != column.action and not (action == "SET NULL" and column.required):
                yield "action", replace(column, action=action)
    kinds = {"int": "text", "real": "int", "text": "int", "date": "int"}
    if not column.parent:
        yield "type", replace(column, kind=kinds[column.kind])
