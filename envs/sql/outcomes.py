"""Outcomes of untrusted queries, and the words in which prompts and observations tell them.

All tasks and tools of this package run queries through `try_query`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ...rewards.verifiers.sql import Database, QueryError, ResultRows, run_query

# Characters of one value that are shown.
_MOST_CELL = 60


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The rows of a query, or None and one sentence that says why there are none."""

    rows: ResultRows | None
    error: str = ""


def try_query(query: str, database: Database, *, seconds: float = 2.0, max_rows: int = 10_000) -> QueryOutcome:
    """Run a query, which can only read, within bounds of time, rows and memory. Nothing that it does is an exception.

    Args:
        query: untrusted text.
        database: stays as it is.
        seconds: CPU time.
        max_rows: rows of the result; more are an error.
    """
    try:
        return QueryOutcome(run_query(query, database, seconds=seconds, max_rows=max_rows))
    except TimeoutError:
        return QueryOutcome(None, f"The query did not finish within {seconds:g} s.")
    except QueryError as error:
        return QueryOutcome(None, str(error))


def write_cell(value: Any) -> str:
    """Write a value as results show it: NULL, a number with at most 12 digits, text as it is on one line."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.12g}"
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def describe_rows(rows: ResultRows, most: int) -> str:
    """Write the number of rows, and the first ``most`` of them, one a line, with `` | `` between values."""
    if not rows:
        return "no rows"
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    first = f", the first {most}" if len(rows) > most else ""
    lines = [" | ".join(_cut(write_cell(value)) for value in row) for row in rows[:most]]
    return "\n".join([f"{count}{first}:", *lines])


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CELL else f"{text[: _MOST_CELL - 3]}..."
