"""The verdict on a query: right if it has the expected rows on each of several databases, in any engine."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace

from ....rewards import Verdict
from ....rewards.verifiers.registry import CORRECT, WRONG, rejected
from ....rewards.verifiers.sql import Database, QueryError, ResultRows, same_rows
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
    left = limits.seconds
    for database, rows in expected:
        try:
            with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
                found = loaded.query(query, replace(limits, seconds=max(left, 0.001)))
        except TimeoutError:
            return rejected(f"The query did not finish within {limits.seconds:g} s.")
        except QueryError as error:
            return rejected(str(error))
        except EngineFailure as failure:
            return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")
        left -= found.seconds
        if not same_rows(found.rows, rows, ordered):
            return WRONG
    return CORRECT
