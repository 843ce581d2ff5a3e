"""Statements made from the right ones of a task of SQLSchema: other ways to write them, and ones with a mistake.

The mistakes are made in the text of statements, independently of the near misses from which tasks choose databases.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from ...envs.sql.databases.contents import format_literal
from ...envs.sql.databases.relations import SQL_TYPES, STRICT_TYPES
from ...envs.sql.definitions.definition import Definition
from ...envs.sql.definitions.table_design import TableDesign
from .labels import LabelledQuery

_RULES = (
    ("NOT NULL left out", r" NOT NULL"),
    ("UNIQUE left out", r" UNIQUE(?! \()"),
    ("pair left out", r", UNIQUE \(\w+, \w+\)"),
    ("CHECK left out", r" CHECK \([^()]*(?:\([^()]*\))?\)"),
    ("DEFAULT left out", r" DEFAULT (?:'[^']*'|[\d.]+)"),
    ("reference left out", r" REFERENCES \w+(?: ON DELETE (?:CASCADE|SET NULL))?"),
    ("delete action left out", r" ON DELETE (?:CASCADE|SET NULL)"),
    ("key left out", r" PRIMARY KEY"),
)
_OTHERS = (
    ("other delete action", r"(REFERENCES \w+)(?! ON)", r"\1 ON DELETE CASCADE"),
    ("other bound", r"(CHECK \(\w+ )>=", r"\1>"),
    ("other bound", r"(CHECK \(\w+ )>=( [\d.]+)", r"\1>\2 + 1 -"),
    ("other default", r"(DEFAULT '[^']*)'", r"\1 '"),
    ("other default", r"DEFAULT (\d)", r"DEFAULT 1\1"),
    ("value left out", r"IN \('[^']*', ", "IN ("),
    ("other type", r"INTEGER(?! PRIMARY)", "TEXT"),
    ("other type", r"(?:REAL|DOUBLE PRECISION)", "INTEGER"),
    ("further rule", r"(\w+) TEXT(?! NOT NULL)", r"\1 TEXT NOT NULL"),
    ("further rule", r"(\w+ TEXT)(?![^,]* UNIQUE)", r"\1 UNIQUE"),
    ("other name", r"(TO|ADD COLUMN|CREATE TABLE|CREATE VIEW) (\w+)", r"\1 \2_x"),
    ("other column", r"DROP COLUMN (\w+)", r"ADD COLUMN \1_x TEXT"),
    ("no rows", r"(SELECT .* FROM \w+_before)", r"\1 WHERE 1 = 0"),
    ("some rows", r"(SELECT .* FROM \w+_before)", r"\1 LIMIT 2"),
    ("table for view", r"^CREATE VIEW (\w+) \([^()]*\) AS", r"CREATE TABLE \1 AS"),
)


def label_definitions(definition: Definition, gold: list[str], dialect: str) -> Iterator[LabelledQuery]:
    """Yield the scripts made from the right one, with labels; all with a mistake are wrong."""
    texts = {"\n".join(f"{one};" for one in gold)}
    for right, variants in ((True, _right(definition, gold, dialect)), (False, _wrong(definition, gold, dialect))):
        for made, statements in variants:
            text = "\n".join(f"{one};" for one in statements)
            if text not in texts:
                texts.add(text)
                yield LabelledQuery(made, text, right)


def _right(definition: Definition, gold: list[str], dialect: str) -> Iterator[tuple[str, list[str]]]:
    yield "layout", [re.sub(r", (?=\w+ [A-Z])", ",\n  ", one) for one in gold]
    yield "small letters", [re.sub(r"'[^']*'|[A-Z]{2,}", lambda one: _lower(one[0]), text) for text in gold]
    if definition.view:
        name, columns, _ = definition.view
        query = gold[0].partition(" AS ")[2]
        yield "WITH", [f"CREATE VIEW {name} AS WITH q ({', '.join(columns)}) AS ({query}) SELECT * FROM q"]
        return
    table = definition.table
    if table is None:
        yield "IF EXISTS", [one.replace("DROP TABLE", "DROP TABLE IF EXISTS") for one in gold]
        return
    for wide in (False, True):
        if not definition.old:
            yield "rules of the table", [_write_table(table, dialect, wide)]
        else:
            yield "new table", list(_rebuild(definition, table, dialect, wide))
    indexed, indexes = _with_indexes(table)
    if indexes and definition.kind in ("create", "rule"):
        made = replace(definition, table=indexed)
        yield "unique indexes", [*made.statements(dialect), *indexes]


def _lower(text: str) -> str:
    return text if text[0] == "'" else text.lower()


def _rebuild(definition: Definition, table: TableDesign, dialect: str, wide: bool) -> Iterator[str]:
    """Make the table anew under another name, and rename it in the end."""
    names = ", ".join(table.names)
    if definition.part:
        part = definition.part
        columns = ", ".join(part.names)
        yield f"CREATE TABLE held AS SELECT {columns} FROM {definition.old} WHERE {part.columns[0].name} IS NOT NULL"
    yield _write_table(replace(table, name="made_anew"), dialect, wide)
    yield f"INSERT INTO made_anew ({names}) SELECT {', '.join(definition.sources)} FROM {definition.old}"
    yield f"DROP TABLE {definition.old}"
    yield f"ALTER TABLE made_anew RENAME TO {table.name}"
    if definition.part:
        yield _write_table(part, dialect, wide)
        yield f"INSERT INTO {part.name} SELECT {columns} FROM held"
        yield "DROP TABLE held"


def _write_table(table: TableDesign, dialect: str, wide: bool) -> str:
    """Write a table with its rules after the columns; ``wide``: with other types, and columns turned around."""
    types = dict(SQL_TYPES if dialect == "sqlite" else STRICT_TYPES)
    types |= {"int": "BIGINT", "text": "VARCHAR(60)", "real": "NUMERIC(12, 3)"} if wide else {}
    columns, rules = [f"{table.key} INTEGER"], [f"PRIMARY KEY ({table.key})"]
    if table.key_parent:
        rules.append(f"FOREIGN KEY ({table.key}) REFERENCES {table.key_parent} ({table.key})")
    for one in reversed(table.columns) if wide else table.columns:
        kind = "INTEGER" if one.parent else types.get(one.kind, "TEXT")
        default = "" if one.default is None else f" DEFAULT {format_literal(one.default)}"
        columns.append(f"{one.name} {kind}{default}{' NOT NULL' * (one.required and not wide)}")
        if one.required and wide:
            rules.append(f"CHECK ({one.name} IS NOT NULL)")
        if one.unique:
            rules.append(f"UNIQUE ({one.name})")
        if one.low is not None:
            rules.append(f"CONSTRAINT low_{one.name} CHECK (NOT {one.name} < {format_literal(one.low)})")
        if one.among:
            same = " OR ".join(f"{one.name} = {format_literal(value)}" for value in one.among)
            rules.append(f"CHECK ({same})")
        if one.parent:
            action = f" ON DELETE {one.action}" if one.action else ""
            rules.append(f"FOREIGN KEY ({one.name}) REFERENCES {one.parent} ({one.parent}_id){action}")
    rules += [f"UNIQUE ({second}, {first})" for first, second in table.pairs]
    return f"CREATE TABLE {table.name} ({', '.join([*columns, *rules])})"


def _with_indexes(table: TableDesign) -> tuple[TableDesign, list[str]]:
    unique = [(one.name,) for one in table.columns if one.unique] + list(table.pairs)
    indexes = [
        f"CREATE UNIQUE INDEX index_{place} ON {table.name} ({', '.join(names)})" for place, names in enumerate(unique)
    ]
    return replace(table, columns=tuple(replace(one, unique=False) for one in table.columns), pairs=()), indexes


def _wrong(definition: Definition, gold: list[str], dialect: str) -> Iterator[tuple[str, list[str]]]:
    scripts = [gold]
    if definition.old and definition.table and definition.kind in ("rename", "drop", "add"):
        # Mistakes in the rules of a table that is made anew.
        scripts.append(replace(definition, kind="rule").statements(dialect))
    for script in scripts:
        for place, text in enumerate(script):
            before, after = script[:place], script[place + 1 :]
            yield "statement left out", [*before, *after] or ["DELETE FROM nothing"]
            for made, pattern in _RULES:
                for found in re.finditer(pattern, text):
                    yield made, [*before, text[: found.start()] + text[found.end() :], *after]
            for made, pattern, other in _OTHERS:
                for found in re.finditer(pattern, text):
                    changed = found.expand(other)
                    if made == "table for view" or not text.startswith("CREATE VIEW") or made == "other name":
                        yield made, [*before, text[: found.start()] + changed + text[found.end() :], *after]
