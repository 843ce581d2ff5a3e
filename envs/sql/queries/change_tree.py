"""Changes of a database as trees of frozen nodes that write themselves as SQL.

The rows that a change concerns are those whose keys a query of `query_tree` selects, so that the grammar of queries,
its near misses and its wording serve changes, too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from ..databases.contents import format_literal
from .query_tree import AggregateOf, ColumnName, Condition, IsAmong, SelectQuery


@dataclass(frozen=True, slots=True)
class GivenValue:
    """A value; None for NULL."""

    value: Any

    def sql(self, qualified: bool = True) -> str:
        return format_literal(self.value)


@dataclass(frozen=True, slots=True)
class Shifted:
    """A number of the same row plus, minus or times an amount. ``filled`` takes NULL as 0, in near misses only."""

    column: ColumnName
    operator: str
    amount: float
    filled: bool = False

    def sql(self, qualified: bool = True) -> str:
        column = self.column.sql(qualified)
        return f"{f'COALESCE({column}, 0)' if self.filled else column} {self.operator} {format_literal(self.amount)}"


@dataclass(frozen=True, slots=True)
class ParentValue:
    """A column of the row that ``reference`` refers to; the old value of ``kept`` where there is none, in near misses
    only."""

    column: ColumnName
    reference: ColumnName
    kept: ColumnName | None = None

    def sql(self, qualified: bool = True) -> str:
        table = self.column.table
        found = f"(SELECT {self.column.sql()} FROM {table} WHERE {table}.{_key(table)} = {self.reference.sql()})"
        return f"COALESCE({found}, {self.kept.sql()})" if self.kept else found


@dataclass(frozen=True, slots=True)
class ChildTotal:
    """An aggregate of the rows that refer to a row; of all rows of the table, or with 0 for NULL, in near misses
    only."""

    aggregate: AggregateOf
    reference: ColumnName
    key: ColumnName
    linked: bool = True
    filled: bool = False

    def sql(self, qualified: bool = True) -> str:
        link = f" WHERE {self.reference.sql()} = {self.key.sql()}" * self.linked
        found = f"(SELECT {self.aggregate.sql()} FROM {self.reference.table}{link})"
        return f"COALESCE({found}, 0)" if self.filled else found


@dataclass(frozen=True, slots=True)
class CaseValue:
    """One value where a condition holds, and another one where it does not, or is unknown."""

    condition: Condition
    value: GivenValue
    other: GivenValue | ColumnName

    def sql(self, qualified: bool = True) -> str:
        condition, value = self.condition.sql(qualified), self.value.sql(qualified)
        return f"CASE WHEN {condition} THEN {value} ELSE {self.other.sql(qualified)} END"


Value: TypeAlias = GivenValue | ColumnName | Shifted | ParentValue | ChildTotal | CaseValue


@dataclass(frozen=True, slots=True)
class SetColumn:
    """A column and its new value."""

    column: ColumnName
    value: Value

    def sql(self, qualified: bool = True) -> str:
        return f"{self.column.name} = {self.value.sql(qualified)}"


@dataclass(frozen=True, slots=True)
class UpdateRows:
    """UPDATE of the rows that a query selects."""

    sets: tuple[SetColumn, ...]
    rows: SelectQuery

    def sql(self, qualified: bool = True) -> str:
        sets = ", ".join(one.sql(False) for one in self.sets)
        return f"UPDATE {self.rows.table} SET {sets}{_where(self.rows)}"


@dataclass(frozen=True, slots=True)
class DeleteRows:
    """DELETE of the rows that a query selects, after the rows that refer to them: those of ``children`` are deleted,
    and those of ``cleared`` get NULL as their reference."""

    rows: SelectQuery
    children: tuple[ColumnName, ...] = ()
    cleared: tuple[ColumnName, ...] = ()

    def sql(self, qualified: bool = True) -> str:
        steps = [f"DELETE FROM {one.table}{_where_linked(one, self.rows)}" for one in self.children]
        steps += [f"UPDATE {one.table} SET {one.name} = NULL{_where_linked(one, self.rows)}" for one in self.cleared]
        return ";\n".join([*steps, f"DELETE FROM {self.rows.table}{_where(self.rows)}"])


@dataclass(frozen=True, slots=True)
class InsertValues:
    """INSERT of rows in words: ``columns`` with the values of ``rows``. Where the first column's value is taken, the
    row gets the values of ``updated`` instead; ``way`` is "replace" or "nothing" for that in near misses only."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    updated: tuple[str, ...] = ()
    way: str = ""

    def sql(self, qualified: bool = True) -> str:
        values = ", ".join(f"({', '.join(map(format_literal, row))})" for row in self.rows)
        text = f"INTO {self.table} ({', '.join(self.columns)}) VALUES {values}"
        if self.way == "replace":
            return f"REPLACE {text}"
        end = f" ON CONFLICT ({self.columns[0]}) DO "
        if self.way == "nothing":
            return f"INSERT {text}{end}NOTHING"
        sets = ", ".join(f"{name} = excluded.{name}" for name in self.updated)
        return f"INSERT {text}{f'{end}UPDATE SET {sets}' if sets else ''}"


@dataclass(frozen=True, slots=True)
class InsertSelected:
    """INSERT of one row for each row that a query selects."""

    table: str
    columns: tuple[str, ...]
    values: tuple[Value, ...]
    rows: SelectQuery

    def sql(self, qualified: bool = True) -> str:
        many = bool(self.rows.joins)
        values = ", ".join(one.sql(many) for one in self.values)
        parts = [f"INSERT INTO {self.table} ({', '.join(self.columns)}) SELECT {values} FROM {self.rows.table}"]
        parts += [join.sql() for join in self.rows.joins]
        if self.rows.where:
            parts.append("WHERE " + " AND ".join(one.sql(many) for one in self.rows.where))
        return " ".join(parts)


Step: TypeAlias = UpdateRows | DeleteRows | InsertValues | InsertSelected


@dataclass(frozen=True, slots=True)
class Change:
    """Steps, one after the other."""

    steps: tuple[Step, ...]

    def sql(self, qualified: bool = True) -> str:
        return ";\n".join(one.sql() for one in self.steps)

    @property
    def statements(self) -> list[str]:
        return self.sql().split(";\n")

    @property
    def tables(self) -> list[str]:
        """The tables that may change."""
        found: dict[str, None] = {}
        for one in self.steps:
            found[one.rows.table if isinstance(one, (UpdateRows, DeleteRows)) else one.table] = None
            if isinstance(one, DeleteRows):
                found |= dict.fromkeys(link.table for link in (*one.children, *one.cleared))
        return list(found)


def _where(rows: SelectQuery) -> str:
    if rows.joins:
        return f" WHERE {rows.columns[0].sql(False)} IN ({rows.sql()})"
    return f" WHERE {' AND '.join(one.sql(False) for one in rows.where)}" if rows.where else ""


def _where_linked(reference: ColumnName, rows: SelectQuery) -> str:
    return f" WHERE {IsAmong(reference, rows).sql(False)}"


def _key(table: str) -> str:
    return f"{table}_id"
