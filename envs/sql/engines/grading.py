"""The verdict on a query: right if it has the expected rows on each of several databases, in any engine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from ....rewards import Verdict
from ....rewards.verifiers.sql import Database, ResultRows, compare_results
from .engine import EngineFailure, QueryLimits, make_engine


def grade_query(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> Verdict:
    """Run a query on all databases and compare the results.

    Rows count as often as they occur, and in order where ``ordered``. Columns count by place, not by name. Values are
    compared in the form of `engine`: numbers at 12 significant digits, 1 = 1.0 = TRUE but not '1', a date as its text.

    Args:
        query: untrusted text.
        expected: databases with the rows of a right query; the cheapest first, as a wrong query ends the comparison.
        ordered: whether the order of the rows counts.
        engine: where the query runs.
        schema: CREATE TABLE statements of that engine, as in `SqlEngine.load`.
        limits: of the query on all databases together in time, on each in rows.

    Returns:
        A wrong verdict with the error of a query that fails or exceeds the limits; ``valid=False`` where the engine
        failed.

    Raises:
        InputError: the engine is not there, or the databases cannot be loaded.
    """
    limits = limits or QueryLimits()

    def run(text: str, database: Database, seconds: float, rows: int) -> tuple[ResultRows, float]:
        with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
            result = loaded.query(text, QueryLimits(max(seconds, 0.001), rows))
        return result.rows, result.seconds

    try:
        return compare_results(query, expected, ordered=ordered, seconds=limits.seconds, max_rows=limits.rows, run=run)
    except EngineFailure as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")
