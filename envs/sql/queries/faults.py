"""Queries with a mistake that makes a database reject them: a wrong name, a missing join, clauses in the wrong order.

Each is an edit of the text of a right query, as written by `query_tree`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..databases.relations import Schema
from ..engines.dialects import translate_query
from .query_tree import Query

_YEAR = re.compile(r"CAST\(strftime\('%Y', ([\w.]+)\) AS INTEGER\)")
_EXTRACT, _FORMAT = re.compile(r"EXTRACT\(YEAR FROM ([\w.]+)\)"), r"DATE_FORMAT(\1, '%Y')"
_QUALIFIED = re.compile(r"\b([a-z_]+)\.([a-z_]+)\b")
_QUOTED = re.compile(r"'([A-Za-z][\w .&-]*)'")
# A clause and the one that follows it, to be swapped.
_CLAUSES = re.compile(r"( WHERE .+?)( GROUP BY .+?)(?= HAVING | ORDER BY | LIMIT |$)")
_ORDER = re.compile(r"( ORDER BY .+?)( LIMIT \d+)$")
_HAVING = re.compile(r"( GROUP BY .+?) HAVING (.+?)(?= ORDER BY | LIMIT |$)")


def faults(query: Query, schema: Schema, dialect: str = "sqlite") -> Iterator[tuple[str, str, str]]:
    """Yield (kind, the mistake in words, SQL) of queries with one mistake each; a few of them may still run.

    Args:
        query: the right query.
        schema: the schema of its database.
        dialect: the SQL dialect, as in `translate_query`.
    """
    text = translate_query(query.sql(), dialect)
    used = [relation for relation in schema.relations if re.search(rf"\b{relation.name}\b", text)]
    for relation in used:
        plural = relation.plural.replace(" ", "_")
        wrong = plural if plural != relation.name else f"{relation.name}_table"
        yield "table", f"The table is called {relation.name}.", re.sub(rf"\b{relation.name}\b", wrong, text)
    for relation in used:
        for field in relation.fields:
            if re.search(rf"\b{field.name}\b", text):
                wrong = field.name.replace("_", "") if "_" in field.name else f"{relation.name}_{field.name}"
                yield "column", f"The column is called {field.name}.", re.sub(rf"\b{field.name}\b", wrong, text)
    for join in (node for side in (query, getattr(query, "left", None)) for node in getattr(side, "joins", ())):
        table = join.column.table
        yield "join", f"The table {table} has to be joined.", text.replace(f" {join.sql()}", "")
        for match in _QUALIFIED.finditer(text.partition(" FROM ")[0]):
            if match[2] == join.column.name:
                yield "ambiguity", f"{match[2]} occurs in two tables.", text.replace(match[0], match[2], 1)
    for match in _QUOTED.finditer(text):
        yield (
            "quotation",
            "Text stands between quotation marks.",
            text[: match.start()] + match[1] + text[match.end() :],
        )
    if _YEAR.search(text):
        yield "function", "SQLite has no function YEAR; strftime gives the year.", _YEAR.sub(r"YEAR(\1)", text)
    if _EXTRACT.search(text):
        yield "function", "There is no function DATE_FORMAT; EXTRACT gives the year.", _EXTRACT.sub(_FORMAT, text)
    if _CLAUSES.search(text):
        yield "clauses", "WHERE stands before GROUP BY.", _CLAUSES.sub(r"\2\1", text)
    if _ORDER.search(text):
        yield "clauses", "ORDER BY stands before LIMIT.", _ORDER.sub(r"\2\1", text)
    if _HAVING.search(text):
        joint = "AND" if " WHERE " in text else "WHERE"
        yield "aggregate", "A condition on an aggregate belongs to HAVING.", _HAVING.sub(rf" {joint} \2\1", text)
    if text.endswith(")"):
        yield "parenthesis", "A closing parenthesis is missing.", text[:-1]
