"""Changes of schemas as data, which write themselves as statements in the dialects of all engines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..databases.relations import SQL_TYPES, STRICT_TYPES, Schema
from .table_design import TableDesign


@dataclass(frozen=True, slots=True)
class Definition:
    """A change of the schema.

    Args:
        kind: "create", "add", "rule", "rename", "drop", "split" or "view".
        before: the tables before.
        table: the changed or new table, as it is afterwards; None if it is dropped.
        old: its name before; empty for a new table.
        sources: for each of its columns, the expression on the old table that its values come from.
        part: for "split", the new table with the columns taken out of ``table``.
        filled: a column and the value that it gets in rows so far, or in those with NULL; None if there is none.
        view: for "view", its name, the names of its columns, and its query.
        lossy: True if rows so far are lost; in near misses only.
        stored: True for a table instead of a view; in near misses only.
    """

    kind: str
    before: Schema
    table: TableDesign | None = None
    old: str = ""
    sources: tuple[str, ...] = ()
    part: TableDesign | None = None
    filled: tuple[str, Any] | None = None
    view: tuple[str, tuple[str, ...], str] | None = None
    lossy: bool = False
    stored: bool = False

    def statements(self, dialect: str) -> list[str]:
        """Write the statements that make the change."""
        if self.view:
            name, columns, query = self.view
            if self.stored:
                return [f"CREATE TABLE {name} AS SELECT * FROM ({query}) AS result"]
            return [f"CREATE VIEW {name} ({', '.join(columns)}) AS {query}"]
        table = self.table
        if table is None:
            return [f"DROP TABLE {self.old}"]
        if not self.old:
            return [table.sql(dialect)]
        if self.lossy:
            return self._rebuild(table, dialect, " WHERE 1 = 0")
        if self.kind in ("rename", "drop"):
            return self._alter(table)
        if self.kind == "add" and dialect != "duckdb":
            new = table.columns[-1]
            # The default is also the value of the rows so far.
            if new.default == (self.filled[1] if self.filled else None):
                types = SQL_TYPES if dialect == "sqlite" else STRICT_TYPES
                return [f"ALTER TABLE {table.name} ADD COLUMN {new.sql(types)}"]
        return self._rebuild(table, dialect)

    def sql(self) -> str:
        """Write the statements in the dialect of SQLite."""
        return ";\n".join(self.statements("sqlite"))

    def _alter(self, table: TableDesign) -> list[str]:
        found = []
        if self.kind == "drop":
            gone = [one for one in self.before[self.old].fields if one.name not in self.sources]
            return [f"ALTER TABLE {table.name} DROP COLUMN {one.name}" for one in gone]
        for name, source in zip(table.names, self.sources):
            if name != source:
                found.append(f"ALTER TABLE {self.old} RENAME COLUMN {source} TO {name}")
        if table.name != self.old:
            found.append(f"ALTER TABLE {self.old} RENAME TO {table.name}")
        return found

    def _rebuild(self, table: TableDesign, dialect: str, where: str = "") -> list[str]:
        stage, names = f"{self.old}_before", ", ".join(table.names)
        found = [
            f"CREATE TABLE {stage} AS SELECT * FROM {self.old}",
            f"DROP TABLE {self.old}",
            table.sql(dialect),
            f"INSERT INTO {table.name} ({names}) SELECT {', '.join(self.sources)} FROM {stage}{where}",
        ]
        if self.part:
            columns = self.part.names
            held = " AND ".join(f"{one} IS NOT NULL" for one in columns[1:])
            joint = f"INSERT INTO {self.part.name} ({', '.join(columns)})"
            found += [self.part.sql(dialect), f"{joint} SELECT {', '.join(columns)} FROM {stage} WHERE {held}"]
        return [*found, f"DROP TABLE {stage}"]

    @property
    def after(self) -> list[tuple[str, tuple[str, ...]]]:
        """The tables afterwards, each with the names of its columns; without a view."""
        found = [(one.name, tuple(f.name for f in one.fields)) for one in self.before.relations if one.name != self.old]
        return found + [(one.name, one.names) for one in (self.table, self.part) if one]
