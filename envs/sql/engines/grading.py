"""The verdict on a query, in any engine: right if it has the expected rows on each of several databases; and how near a
wrong query comes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ....rewards import Verdict
from ....rewards.verifiers.sql import Database, QueryError, ResultRows, compare_results
from .engine import EngineFailure, QueryLimits, make_engine


def grade_query(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    tied: Sequence[tuple[Database, ResultRows]] = (),
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> Verdict:
    """Run a query on all databases and compare the results.

    Rows are compared as a multiset, or as a list if ``ordered``. Columns are compared by position, not by name. Values
    are compared in the form of `engine`: numbers at 12 significant digits, 1 = 1.0 = TRUE but not '1', a date as its
    text.

    Args:
        query: untrusted text.
        expected: databases with the expected rows, the cheapest first, since the comparison stops at the first
            mismatch.
        ordered: True if the order of the rows counts.
        tied: those of ``expected`` on which the order must hold whichever way ties are broken; see `compare_results`.
        engine: the engine that runs the query.
        schema: CREATE TABLE statements of that engine, as in `SqlEngine.load`.
        limits: time limit for all databases together, and maximum rows on each.

    Returns:
        The verdict: wrong, with the error, for a query that fails or exceeds the limits; ``valid=False`` if the engine
        failed.

    Raises:
        InputError: the engine is not available, or the databases cannot be loaded.
    """
    limits = limits or QueryLimits()

    def run(text: str, database: Database, seconds: float, rows: int) -> tuple[ResultRows, float]:
        with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
            result = loaded.query(text, QueryLimits(max(seconds, 0.001), rows))
        return result.rows, result.seconds

    try:
        return compare_results(
            query, expected, ordered=ordered, tied=tied, seconds=limits.seconds, max_rows=limits.rows, run=run
        )
    except EngineFailure as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")


def count_milestones(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    tied: Sequence[tuple[Database, ResultRows]] = (),
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> tuple[int, int]:
    """Count the milestones that a query reaches, and all milestones: it runs on the first database, its result there
    has the right number of columns, and one for each database on which it is right.

    Args:
        query, expected, ordered, tied, engine, schema: as for `grade_query`.
        limits: limits of the query on each database.

    Raises:
        EngineFailure: the engine failed.
        InputError: as for `grade_query`.
    """
    limits = limits or QueryLimits()
    number = 2 + len(expected)
    database, _ = expected[0]
    try:
        with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
            columns = loaded.query(query, limits).columns
    except (QueryError, TimeoutError):
        return 0, number
    width = next((len(rows[0]) for _, rows in expected if rows), len(columns))
    reached = 1 + (len(columns) == width)
    for pair in expected:
        both = [pair] if pair in tied else []
        verdict = grade_query(query, [pair], ordered=ordered, tied=both, engine=engine, schema=schema, limits=limits)
        if not verdict.valid:
            raise EngineFailure(verdict.feedback)
        reached += verdict.success
    return reached, number
