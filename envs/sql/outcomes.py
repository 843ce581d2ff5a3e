"""Outcomes of untrusted queries, and their wording in prompts and observations.

All tasks and tools of this package run queries through `try_query`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...rewards.verifiers.sql import Database, QueryError, ResultRows, read_result, round_floats
from ..code.judging.outputs import keep_ends
from .engines import LoadedDatabase, QueryLimits

# Characters shown of one value.
_MOST_CELL = 60


@dataclass(frozen=True, slots=True)
class QueryOutcome:
    """The rows of a query and the names of its columns, or None and an error message of one sentence."""

    rows: ResultRows | None
    error: str = ""
    columns: tuple[str, ...] = ()


def try_query(
    query: str, database: Database | LoadedDatabase, *, seconds: float = 2.0, max_rows: int = 10_000
) -> QueryOutcome:
    """Run a read-only query within limits of time, rows and memory. No query raises an exception.

    Args:
        query: untrusted text.
        database: never changed. A `LoadedDatabase` is queried in its engine, a `Database` with SQLite in this process.
        seconds: time limit, as in `QueryLimits`.
        max_rows: maximum number of rows of the result; a larger result is an error.

    Raises:
        EngineFailure: the engine failed, and not because of the query.
    """
    try:
        if isinstance(database, Database):
            columns, rows = read_result(query, database, seconds=seconds, max_rows=max_rows)
            return QueryOutcome(round_floats(rows), columns=columns)
        found = database.query(query, QueryLimits(seconds, max_rows))
        return QueryOutcome(found.rows, columns=found.columns)
    except TimeoutError:
        return QueryOutcome(None, f"The query did not finish within {seconds:g} s.")
    except QueryError as error:
        return QueryOutcome(None, str(error))


def write_cell(value: Any) -> str:
    """Write a value as results show it: NULL, a number with at most 12 digits, or text on one line."""
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.12g}"
    return " ".join(str(value).split()) if isinstance(value, str) else str(value)


def describe_rows(rows: ResultRows, most: int) -> str:
    """Write the number of rows, and the first ``most`` of them, one a line, with `` | `` between values."""
    if not rows:
        return "no rows"
    return "\n".join([_count_rows(rows, most), *(" | ".join(map(_write_short, row)) for row in rows[:most])])


def draw_table(columns: Sequence[str], rows: ResultRows, most: int, characters: int) -> str:
    """Write the number of rows, and the first ``most`` of them as a table under the names of the columns; fewer if the
    text would exceed ``characters``."""
    if not rows:
        return "no rows"
    text = ""
    for shown in range(min(most, len(rows)), 0, -1):
        table = [list(map(_cut, columns)), *(list(map(_write_short, row)) for row in rows[:shown])]
        # Numbers are right-aligned.
        forms = [
            f"{'>' if all(map(_is_number, values)) else '<'}{max(map(len, cells))}"
            for values, cells in zip(zip(*rows[:shown]), zip(*table))
        ]
        lines = [" | ".join(map(format, cells, forms)).rstrip() for cells in table]
        rule = "-+-".join("-" * int(form[1:]) for form in forms)
        text = "\n".join([_count_rows(rows, shown), lines[0], rule, *lines[1:]])
        if len(text) <= characters:
            break
    return keep_ends(text, characters)


def _count_rows(rows: ResultRows, shown: int) -> str:
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    return f"{count}, the first {shown}:" if len(rows) > shown else f"{count}:"


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, (int, float))


def _write_short(value: Any) -> str:
    return _cut(write_cell(value))


def _cut(text: str) -> str:
    return text if len(text) <= _MOST_CELL else f"{text[: _MOST_CELL - 3]}..."
