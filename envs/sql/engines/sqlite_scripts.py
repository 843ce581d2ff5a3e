"""Scripts in SQLite: on a copy in memory, with an authorizer that allows changes and, on request, definitions."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from typing import Any

from ....rewards.verifiers.sql import (
    DENIED_FUNCTIONS,
    Database,
    QueryError,
    ResultRows,
    fetch_rows,
    guard_formats,
    open_database,
)
from .engine import MEMORY_MB, QueryLimits, Script, ScriptResult, StateProbe, unify_rows

# Maximum size of a changed database, in pages of 1024 bytes.
_MOST_PAGES = 16_000
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_CHANGES = _READS | {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_DEFINED = {
    *(sqlite3.SQLITE_CREATE_TABLE, sqlite3.SQLITE_CREATE_VIEW, sqlite3.SQLITE_CREATE_INDEX),
    *(sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_VIEW, sqlite3.SQLITE_DROP_INDEX),
}
_DEFINITIONS = _CHANGES | _DEFINED | {sqlite3.SQLITE_ALTER_TABLE, sqlite3.SQLITE_REINDEX}
_WRITES = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_LIST = """
    SELECT m.name, p.name, p.type FROM sqlite_master AS m, pragma_table_xinfo(m.name) AS p
    WHERE m.type IN ('table', 'view') AND m.name NOT LIKE 'sqlite_%' ORDER BY m.rowid, p.cid
"""


class _Connection:
    """A copy of a database, with bounds on time, size and deeds."""

    def __init__(self, database: Database, script: Script, limits: QueryLimits, bound_memory: bool):
        self.limits, self.allowed = limits, _DEFINITIONS if script.defines else _CHANGES
        self.connection = open_database(database)
        self.connection.isolation_level = None
        if bound_memory:
            self.connection.execute("PRAGMA temp_store = MEMORY")
            self.connection.execute(f"PRAGMA hard_heap_limit = {MEMORY_MB << 20}")
        for setting in ("query_only = OFF", "foreign_keys = ON", f"max_page_count = {_MOST_PAGES}"):
            self.connection.execute(f"PRAGMA {setting}")
        for text in script.statements:
            guard_formats(self.connection, text)
        self.start = time.thread_time()
        self.connection.set_progress_handler(lambda: self.seconds() > limits.seconds, 100)

    def seconds(self) -> float:
        return time.thread_time() - self.start

    def authorize(self, action: int, first: str | None, second: str | None, database: str | None, *_: Any) -> int:
        # ADD COLUMN checks the rows so far with a pragma.
        checks = action == sqlite3.SQLITE_PRAGMA and first == "quick_check" and self.allowed is _DEFINITIONS
        own = self.allowed is _CHANGES and action in _WRITES and str(first).lower().startswith("sqlite_")
        denied = action == sqlite3.SQLITE_FUNCTION and str(second).lower() in DENIED_FUNCTIONS
        # A temporary table is not seen in the list of tables.
        hidden = database == "temp" and action in _DEFINED
        refused = own or denied or hidden or not (checks or action in self.allowed)
        return sqlite3.SQLITE_DENY if refused else sqlite3.SQLITE_OK

    def execute(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """Run a statement under the authorizer. Raises the errors of SQLite."""
        self.connection.set_authorizer(self.authorize)
        try:
            yield from self.connection.execute(statement)
        finally:
            self.connection.set_authorizer(None)

    def observe(self, probe: StateProbe) -> ResultRows | None:
        """Run a probe and undo it."""
        self.connection.execute("SAVEPOINT probe")
        try:
            for statement in probe.statements:
                list(self.execute(statement))
            return unify_rows(fetch_rows(self.execute(probe.query), self.limits.rows))
        except sqlite3.Error:
            if self.seconds() > self.limits.seconds:
                raise
            return None
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK TO probe")
                self.connection.execute("RELEASE probe")


def run_script_here(
    database: Database, script: Script, limits: QueryLimits, bound_memory: bool = False
) -> ScriptResult:
    """Run a script in this process, on a copy of a database.

    Args:
        database: the contents before.
        script: the statements and probes.
        limits: time limit of all together, and maximum rows of each observation.
        bound_memory: True to limit SQLite's memory in this whole process.

    Raises:
        QueryError: a statement fails, or violates a constraint.
        TimeoutError: the time limit was exceeded.
    """
    copy = _Connection(database, script, limits, bound_memory)
    try:
        for statement in script.statements:
            for _ in copy.execute(statement):
                raise QueryError("A statement returns rows.")
        outcomes = tuple(copy.observe(probe) for probe in script.probes)
        columns = tuple(copy.connection.execute(_LIST).fetchall())
    except QueryError:
        raise
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        if copy.seconds() > limits.seconds:
            raise TimeoutError(f"the statements took more than {limits.seconds:g} s") from None
        raise QueryError(f"A statement fails: {_describe(error)}.") from None
    finally:
        copy.connection.close()
    return ScriptResult(outcomes, columns, copy.seconds())


def _describe(error: Exception) -> str:
    reason = " ".join(str(error).split())[:120].rstrip(".") or "out of memory"
    return reason.replace("user-defined function raised exception", "printf cannot write this")
