"""Schemas of databases: tables, columns and keys with their English words, and selection of the parts that a task uses.

`read_domain` reads a schema from the notation of `domains`.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from .stored_forms import find_form

SQL_TYPES = {"int": "INTEGER", "real": "REAL", "name": "TEXT", "pick": "TEXT", "date": "TEXT"}
# Types for engines that check types.
STRICT_TYPES = {**SQL_TYPES, "real": "DOUBLE PRECISION", "date": "DATE"}
# Kinds of columns that refer to a row, and those with the keys among them.
REFERENCES = ("parent", "self")
LINKS = ("key", *REFERENCES)


@dataclass(frozen=True, slots=True)
class Field:
    """A column.

    Args:
        name: as in SQL; unique in its table.
        kind: "int", "real" (a number with at most two decimals), "name" (from a pool), "pick" (a category), "date"
            (ISO 8601 text), or one of `LINKS`: "key", "parent" (the key of another table, which has the same name
            there), or "self" (the key of another row of the same table).
        phrase: the English name of the column, unique in its table.
        nullable: True if values may be missing.
        spare: True if the column is only added as noise, see `Schema.select`.
        values: by kind: the minimum, the maximum and the step of numbers; the pool; the categories, the commonest
            first; or the parent's table.
        stored: the form in which values are kept, one of `stored_forms`; empty if as they are.
        words: if ``values`` are codes, their meanings.
    """

    name: str
    kind: str
    phrase: str
    nullable: bool = False
    spare: bool = False
    values: tuple[str, ...] = ()
    stored: str = ""
    words: tuple[str, ...] = ()

    @property
    def is_number(self) -> bool:
        return self.kind in ("int", "real")


@dataclass(frozen=True, slots=True)
class TableSchema:
    """A table. Its first field is its key."""

    name: str
    singular: str
    plural: str
    fields: tuple[Field, ...]

    @property
    def key(self) -> str:
        return self.fields[0].name

    @property
    def parents(self) -> list[Field]:
        """The fields that refer to other tables."""
        return [field for field in self.fields if field.kind == "parent"]

    def __getitem__(self, name: str) -> Field:
        return next(field for field in self.fields if field.name == name)


@dataclass(frozen=True, slots=True)
class View:
    """A view of one table.

    Args:
        name: as in SQL.
        table: the table whose rows it selects or aggregates.
        query: its SELECT, in SQL of all engines.
        columns: the columns on whose values its contents depend.
    """

    name: str
    table: str
    query: str
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Schema:
    """The tables of a database, each after the tables that it refers to, and perhaps views of them.

    Args:
        domain: the name of the domain.
        relations: the tables.
        views: views of the tables.
        commented: True if CREATE TABLE statements have the English words of tables and columns that are called
            otherwise.
    """

    domain: str
    relations: tuple[TableSchema, ...]
    views: tuple[View, ...] = ()
    commented: bool = False

    @functools.cached_property
    def _by_name(self) -> dict[str, TableSchema]:
        return {relation.name: relation for relation in self.relations}

    def __getitem__(self, name: str) -> TableSchema:
        return self._by_name[name]

    @functools.cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(relation.name for relation in self.relations)

    @functools.cached_property
    def stored_forms(self) -> frozenset[str]:
        """The forms in which columns are kept."""
        return frozenset(field.stored for relation in self.relations for field in relation.fields if field.stored)

    @functools.cached_property
    def _children(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {name: [] for name in self.names}
        for relation in self.relations:
            for field in relation.parents:
                found[field.values[0]].append(relation.name)
        return found

    def children(self, name: str) -> list[str]:
        """List the tables that refer to the table ``name``."""
        return self._children[name]

    def ancestors(self, name: str) -> set[str]:
        """Collect the tables that ``name`` refers to, directly or through others."""
        above = {field.values[0] for field in self[name].parents}
        return above.union(*(self.ancestors(one) for one in above)) if above else above

    def select(self, names: Collection[str], spare: Collection[tuple[str, str]] = ()) -> Schema:
        """Make the schema of some tables, without references to other tables, and with the given spare columns only.

        Args:
            names: tables to keep.
            spare: (table, column) of the spare columns to keep.
        """
        kept = []
        for relation in self.relations:
            if relation.name in names:
                fields = [
                    field
                    for field in relation.fields
                    if (field.kind != "parent" or field.values[0] in names)
                    and (not field.spare or (relation.name, field.name) in spare)
                ]
                kept.append(replace(relation, fields=tuple(fields)))
        return Schema(self.domain, tuple(kept), commented=self.commented)

    def with_field(self, table: str, field: Field) -> Schema:
        """Make the schema in which a field of a table replaces that of the same name, or is its last."""
        relation = self[table]
        names = [one.name for one in relation.fields]
        fields = [field if one.name == field.name else one for one in relation.fields]
        changed = replace(relation, fields=(*fields, *([] if field.name in names else [field])))
        return replace(self, relations=tuple(changed if one is relation else one for one in self.relations))

    @functools.cached_property
    def ddl(self) -> str:
        """The CREATE statements of SQLite, one a line."""
        return self.ddl_for("sqlite")

    def ddl_for(self, dialect: str) -> str:
        """Write the CREATE statements of an engine with this dialect."""
        lines = [_create_table(relation, dialect, self.commented) for relation in self.relations]
        return "\n".join([*lines, *map(_create_view, self.views)])

    @property
    def outline(self) -> str:
        """The names of tables and columns, one table a line, with the targets of references."""
        lines = []
        for relation in self.relations:
            names = [one.name + (f" -> {one.values[0]}" if one.kind in REFERENCES else "") for one in relation.fields]
            lines.append(f"{relation.name}({', '.join(names)})")
        return "\n".join([*lines, *map(_create_view, self.views)])


def _create_table(relation: TableSchema, dialect: str, commented: bool) -> str:
    types = SQL_TYPES if dialect == "sqlite" else STRICT_TYPES
    # DuckDB checks a reference to the same table against the rows of earlier statements only.
    referring = ("parent",) if dialect == "duckdb" else REFERENCES
    columns = []
    for field in relation.fields:
        form = find_form(field.stored) if field.stored else None
        kind = "TEXT" if form and form.is_text else types.get(field.kind, "INTEGER")
        can_miss = field.nullable and not (form and form.marks_missing)
        end = " PRIMARY KEY" if field.kind == "key" else "" if can_miss else " NOT NULL"
        reference = f" REFERENCES {field.values[0]}" if field.kind in referring else ""
        is_plain = field.kind in LINKS or field.phrase.replace(" ", "_") == field.name
        comment = f" /* {field.phrase} */" if commented and not is_plain else ""
        columns.append(f"{field.name} {kind}{end}{reference}{comment}")
    is_plain = not commented or relation.singular.replace(" ", "_") == relation.name
    return f"CREATE TABLE {relation.name}{'' if is_plain else f' /* {relation.plural} */'} ({', '.join(columns)});"


def _create_view(view: View) -> str:
    return f"CREATE VIEW {view.name} AS {view.query};"


def read_domain(name: str, lines: Iterable[str]) -> Schema:
    """Read a schema. A line without indentation is a table, and the indented lines below are the table's columns:

        sale | sale | sales | product, store?
            quantity int 1 9 1 | quantity
            ~ shipped_on? date | date of shipping

    A table has its name, English singular and plural, and its parents. A column has its name, kind and values, and its
    English phrase. ``?`` marks a nullable column, ``~`` a spare column.
    """
    relations: list[TableSchema] = []
    for line in lines:
        if not line.strip():
            continue
        if not line.startswith(" "):
            table, singular, plural, *parents = (part.strip() for part in line.split("|"))
            fields = [Field(f"{table}_id", "key", "id")]
            for parent in parents[0].split(",") if parents else ():
                bare = parent.strip().rstrip("?")
                fields.append(Field(f"{bare}_id", "parent", f"{bare} id", "?" in parent, False, (bare,)))
            relations.append(TableSchema(table, singular, plural, tuple(fields)))
            continue
        left, phrase = (part.strip() for part in line.split("|"))
        spare = left.startswith("~")
        column, kind, rest = f"{left.lstrip('~ ')} ".split(" ", 2)
        values = tuple(part.strip() for part in (rest.split(",") if kind == "pick" else rest.split()))
        field = Field(column.rstrip("?"), kind, phrase, column.endswith("?"), spare, values)
        relations[-1] = replace(relations[-1], fields=(*relations[-1].fields, field))
    return Schema(name, tuple(relations))
