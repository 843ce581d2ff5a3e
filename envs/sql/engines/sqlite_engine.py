"""SQLite: cheap queries run in this process, expensive ones in a worker process with a memory limit.

Read-only by construction: files are opened as immutable, an authorizer denies all actions but reading, and a progress
handler stops the query at its deadline. A slow query may also need much memory, and SQLite has only one memory limit
per process; so a slow query is restarted in a worker.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

from ....rewards.verifiers.sql import Database, OperationCounter, read_result
from .engine import ENGINES, MEMORY_MB, QueryLimits, QueryResult, Script, ScriptResult, unify_rows
from .isolation import run_in_worker, run_script_in_worker
from .sqlite_scripts import run_script_here

# Maximum processor time of a query in this process: seconds, and share of the query's own limit.
HERE_SECONDS, HERE_SHARE = 0.05, 0.1


@dataclass(frozen=True, slots=True)
class SqliteDatabase:
    """A database of SQLite; each query opens its own connection.

    Args:
        database: what is opened.
        isolated: True to run all queries in a worker.
    """

    database: Database
    isolated: bool = False

    @property
    def schema(self) -> None:
        """None, for the schema of ``database``."""
        return None

    def query(self, sql: str, limits: QueryLimits = QueryLimits()) -> QueryResult:  # noqa: B008 (frozen)
        # Operations are counted in one place.
        away = self.isolated or limits.operations is not None
        here = 0.0 if away else min(HERE_SECONDS, limits.seconds * HERE_SHARE)
        if here:
            try:
                return run_here(self.database, sql, replace(limits, seconds=here))
            except TimeoutError:
                pass
        return run_in_worker("sqlite", self.database, None, sql, replace(limits, seconds=limits.seconds - here))

    def run_script(self, script: Script, limits: QueryLimits = QueryLimits()) -> ScriptResult:  # noqa: B008 (frozen)
        here = 0.0 if self.isolated else min(HERE_SECONDS, limits.seconds * HERE_SHARE)
        if here:
            try:
                return run_script_here(self.database, script, replace(limits, seconds=here))
            except TimeoutError:
                pass
        return run_script_in_worker(
            "sqlite", self.database, None, script, replace(limits, seconds=limits.seconds - here)
        )

    def close(self) -> None:
        pass


def run_here(database: Database, sql: str, limits: QueryLimits, bound_memory: bool = False) -> QueryResult:
    """Run a query in this process.

    Args:
        database: what is opened.
        sql: untrusted text.
        limits: the limits of the query.
        bound_memory: True to limit SQLite's memory in this whole process.
    """
    counter = None if limits.operations is None else OperationCounter(limits.operations)
    start = time.thread_time()
    columns, rows = read_result(
        *(sql, database),
        seconds=limits.seconds,
        max_rows=limits.rows,
        memory_mb=MEMORY_MB if bound_memory else None,
        counter=counter,
    )
    return QueryResult(columns, unify_rows(rows), time.thread_time() - start, counter.count if counter else 0)


@ENGINES.register("sqlite")
class SqliteEngine:
    """SQLite, a part of Python.

    Args:
        isolated: True to run all queries in a worker, not only slow ones.
    """

    title, dialect = "SQLite", "sqlite"

    def __init__(self, isolated: bool = False):
        self.isolated = isolated

    def load(self, database: Database, schema: str | None = None) -> SqliteDatabase:
        """Return the database itself: its schema is that of ``database``."""
        return SqliteDatabase(database, self.isolated)
