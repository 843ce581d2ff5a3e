"""Queries of SQLite in the dialects of other engines, by sqlglot."""

from __future__ import annotations

import re

from ....errors import InputError, MissingExtra

# The year or month of a date as written by this package's queries. Other engines have a keyword for it, which reads
# better than the translated function.
_PART = re.compile(r"CAST\(strftime\('%([Ym])', ([\w.]+)\) AS INTEGER\)")
_NAMES = {"Y": "YEAR", "m": "MONTH"}


def translate_query(query: str, dialect: str) -> str:
    """Translate a query of SQLite.

    Args:
        query: one statement.
        dialect: a dialect of sqlglot; "sqlite" leaves the query as it is.

    Raises:
        InputError: sqlglot cannot read the query.
        MissingExtra: sqlglot is not installed.
    """
    if dialect == "sqlite":
        return query
    try:
        import sqlglot
        from sqlglot.errors import SqlglotError
    except ImportError:
        raise MissingExtra(f"the translation of queries to {dialect!r}", "sql") from None
    try:
        return sqlglot.transpile(translate_years(query), read="sqlite", write=dialect)[0]
    except SqlglotError as error:
        raise InputError(f"the query {query[:100]!r} cannot be translated to {dialect!r}: {error}.") from None


def translate_statement(statement: str, dialect: str) -> str:
    """Translate a statement that changes rows, as `translate_query` does."""
    # Sqlglot sorts the keys of ON CONFLICT, which no engine allows.
    return re.sub(r" NULLS (?:FIRST|LAST)\)", ")", translate_query(statement, dialect))


def translate_years(text: str) -> str:
    """Replace SQLite's expressions for the year and month of a date by EXTRACT, everywhere in a text."""
    return _PART.sub(lambda found: f"EXTRACT({_NAMES[found[1]]} FROM {found[2]})", text)
