"""Designs of tables: columns with the rules that their values must keep, which write themselves as CREATE TABLE."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..databases.contents import format_literal
from ..databases.relations import SQL_TYPES, STRICT_TYPES, Field, TableSchema

KINDS = {"int": "int", "real": "real", "name": "text", "pick": "text", "date": "date", "key": "int", "parent": "int"}


@dataclass(frozen=True, slots=True)
class ColumnDesign:
    """A column and its rules.

    Args:
        name: as in SQL.
        kind: "int", "real", "text" or "date".
        required: True if values must not be NULL.
        default: value of rows that do not state one; None for NULL.
        low: the lowest value allowed; None for any.
        among: the only values allowed; empty for any.
        unique: True if no two rows may have the same value.
        parent: the table whose key the column refers to; empty for none.
        action: what becomes of rows whose parent is deleted, "CASCADE" or "SET NULL"; empty: it cannot be deleted.
    """

    name: str
    kind: str
    required: bool = False
    default: Any = None
    low: float | None = None
    among: tuple[str, ...] = ()
    unique: bool = False
    parent: str = ""
    action: str = ""

    def sql(self, types: Mapping[str, str]) -> str:
        """Write the definition with an engine's types."""
        parts = [self.name, types.get(self.kind, "TEXT")]
        if self.required:
            parts.append("NOT NULL")
        if self.default is not None:
            parts.append(f"DEFAULT {format_literal(self.default)}")
        if self.unique:
            parts.append("UNIQUE")
        if self.low is not None:
            parts.append(f"CHECK ({self.name} >= {format_literal(self.low)})")
        if self.among:
            parts.append(f"CHECK ({self.name} IN ({', '.join(map(format_literal, self.among))}))")
        if self.parent:
            parts.append(f"REFERENCES {self.parent}{f' ON DELETE {self.action}' if self.action else ''}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class TableDesign:
    """A table.

    Args:
        name: as in SQL.
        key: name of its key, a whole number.
        columns: its other columns.
        pairs: pairs of columns whose values together must differ between any two rows.
        key_parent: the table whose key the key refers to; empty for none.
    """

    name: str
    key: str
    columns: tuple[ColumnDesign, ...]
    pairs: tuple[tuple[str, str], ...] = ()
    key_parent: str = ""

    def __getitem__(self, name: str) -> ColumnDesign:
        return next(one for one in self.columns if one.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns, the key first."""
        return (self.key, *(one.name for one in self.columns))

    def sql(self, dialect: str) -> str:
        """Write the CREATE TABLE statement."""
        types = SQL_TYPES if dialect == "sqlite" else STRICT_TYPES
        parent = f" REFERENCES {self.key_parent}" if self.key_parent else ""
        parts = [f"{self.key} INTEGER PRIMARY KEY{parent}", *(one.sql(types) for one in self.columns)]
        parts += [f"UNIQUE ({first}, {second})" for first, second in self.pairs]
        return f"CREATE TABLE {self.name} ({', '.join(parts)})"


def design_of(relation: TableSchema) -> TableDesign:
    """Return the design of a table as it is."""
    return TableDesign(relation.name, relation.key, tuple(map(design_column, relation.fields[1:])))


def design_column(field: Field) -> ColumnDesign:
    """Return the design of a column as it is."""
    parent = field.values[0] if field.kind == "parent" else ""
    return ColumnDesign(field.name, KINDS[field.kind], not field.nullable, parent=parent)
