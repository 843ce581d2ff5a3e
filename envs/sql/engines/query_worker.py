"""The side of a worker process in `isolation`: loads databases, runs queries, and ends itself where one does not stop."""

from __future__ import annotations

import base64
import functools
import signal
from collections.abc import Callable
from typing import Any

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError
from .engine import QueryLimits, QueryResult

# Of the deadline, and seconds: when the system ends a worker whose query has not stopped.
KILL_SHARE, KILL_SECONDS = 1.12, 0.02
# Databases that a worker keeps.
KEPT = 32


def answer_query(job: dict[str, Any]) -> dict[str, Any]:
    """Run one query: {"result": [columns, rows, seconds]}, or {"error": kind, "message": text}."""
    source, limits = job["database"], QueryLimits(**job["limits"])
    if source["image"] is not None:
        source["image"] = base64.b64decode(source["image"])
    try:
        run = load_database(job["engine"], Database(**source), job["schema"])
        signal.setitimer(signal.ITIMER_PROF, KILL_SHARE * limits.seconds + KILL_SECONDS)
        try:
            result = run(job["sql"], limits)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
        return {"result": [result.columns, result.rows, result.seconds]}
    except QueryError as error:
        return {"error": "query", "message": str(error)}
    except TimeoutError as error:
        return {"error": "time", "message": str(error)}
    except InputError as error:
        return {"error": "input", "message": str(error)}


@functools.lru_cache(maxsize=KEPT)
def load_database(engine: str, database: Database, schema: str | None) -> Callable[[str, QueryLimits], QueryResult]:
    """Load a database and return the function that queries it."""
    if engine == "sqlite":
        from .sqlite_engine import run_here

        return lambda sql, limits: run_here(database, sql, limits, bound_memory=True)
    from .duckdb_memory import DuckdbMemory

    return DuckdbMemory(database, schema).query
