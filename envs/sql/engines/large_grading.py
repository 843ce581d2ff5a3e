"""The verdict on a query on a large database, where a slow form of a right query does not end.

The measure is the right query: SQLite counts the operations of its virtual machine, so that the verdict is the same
each time; other engines have limits of time. Queries run in a worker or on the server, never in this process.
"""

from __future__ import annotations

import contextlib
import functools

from ....rewards import Verdict
from ....rewards.verifiers.registry import CORRECT, WRONG, rejected
from ....rewards.verifiers.sql import Database, OperationCounter, QueryError, same_rows
from .engine import EngineFailure, QueryLimits, QueryResult, make_engine

# A query may take this many times the operations, or the time, of the right one.
FACTOR = 20
# Minimum time limit of a query where operations are not counted; and time limits of any query, and of the right one.
LEAST_SECONDS, MOST_SECONDS = 1.0, 60.0
# The beginning of the error of a query that is right but slow.
TOO_SLOW = "The query is right on small tables, but too slow"
# Operations that no query takes in `MOST_SECONDS`: they are counted, not limited.
_UNLIMITED = 10**12
# Maximum rows of a result.
_MOST_ROWS = 200_000


def grade_large(
    query: str, gold: str, database: Database, rows: int, *, ordered: bool, engine: str, schema: str
) -> Verdict:
    """Run a query on a large database, and compare its cost and its rows with those of the right one.

    Args:
        query: untrusted text.
        gold: the right query, in the dialect of the engine.
        database: the database. It is made where it is first queried, and cached there.
        rows: rows of its largest table, for messages.
        ordered: True if the order of the rows counts.
        engine, schema: as for `grade_query`.

    Returns:
        The verdict: wrong, with an error, for a query that takes more than `FACTOR` times as many operations of SQLite
        as ``gold``, or as much time in another engine; ``valid=False`` if the engine or ``gold`` failed.
    """
    counted = engine == "sqlite"
    try:
        best = _run_gold(engine, database, schema, gold)
    except (QueryError, TimeoutError, EngineFailure) as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The right query failed on the large database: {failure}")
    seconds = MOST_SECONDS if counted else min(max(FACTOR * best.seconds, LEAST_SECONDS), MOST_SECONDS)
    limits = QueryLimits(seconds, _MOST_ROWS, FACTOR * max(best.operations, OperationCounter.STEP) if counted else None)
    try:
        found = _run(engine, database, schema, query, limits).rows
    except TimeoutError:
        told = f"more than {FACTOR} times the operations of a plain one" if counted else f"more than {seconds:.1f} s"
        return rejected(f"{TOO_SLOW} on tables of up to {rows:,} rows: it takes {told}.")
    except QueryError as error:
        return rejected(str(error))
    except EngineFailure as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")
    return CORRECT if same_rows(found, best.rows, ordered) else WRONG


def _run(engine: str, database: Database, schema: str, query: str, limits: QueryLimits) -> QueryResult:
    with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
        return loaded.query(query, limits)


# Few, as a result may have 100,000 rows.
@functools.lru_cache(maxsize=2)
def _run_gold(engine: str, database: Database, schema: str, gold: str) -> QueryResult:
    counted = _UNLIMITED if engine == "sqlite" else None
    return _run(engine, database, schema, gold, QueryLimits(MOST_SECONDS, _MOST_ROWS, counted))
