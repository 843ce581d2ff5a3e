"""An in-memory instance of DuckDB in this process, for the workers of `isolation`.

Queries are read-only by construction: the engine's own parser must find exactly one statement, a SELECT. It runs in a
read-only transaction that is rolled back. Scripts change the one database of an instance, which the next load replaces.
Files, the network, extensions and changes of settings are disabled.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError, ResultRows, fetch_rows
from .engine import MEMORY_MB, QueryLimits, QueryResult, Script, ScriptResult, StateProbe, unify_rows
from .tables import quote, read_tables

# The last setting locks the others.
_SETTINGS = (
    *("enable_external_access = false", "allow_community_extensions = false", "allow_unsigned_extensions = false"),
    *("autoinstall_known_extensions = false", "autoload_known_extensions = false", "lock_configuration = true"),
)
# Rows per INSERT.
_ROWS_AT_ONCE = 2_000
_CHANGES = {
    *(duckdb.StatementType.INSERT, duckdb.StatementType.UPDATE, duckdb.StatementType.DELETE),
    duckdb.StatementType.MERGE_INTO,
}
_DEFINITIONS = {
    *(duckdb.StatementType.CREATE, duckdb.StatementType.ALTER, duckdb.StatementType.DROP),
}
_LIST = "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY ALL"
_ELSEWHERE = """
    SELECT table_name FROM duckdb_tables() WHERE NOT internal AND (database_name, schema_name) <> ('data', 'main')
    UNION ALL
    SELECT view_name FROM duckdb_views() WHERE NOT internal AND (database_name, schema_name) <> ('data', 'main')
"""
# The uninformative kind at the beginning of an error message, and the quoted query at its end.
_KIND, _QUOTE = " Error: ", "\n\nLINE "


class DuckdbMemory:
    """An instance of DuckDB with one replaceable database: replacing it takes a fifth of the time of a new instance."""

    def __init__(self) -> None:
        options: Any = {"threads": 1, "memory_limit": f"{MEMORY_MB}MiB", "temp_directory": ""}
        self.connection = duckdb.connect(":memory:", config=options)
        for setting in _SETTINGS:
            self.connection.execute(f"SET {setting}")
        self.connection.execute("ATTACH ':memory:' AS data; USE data")
        self.rows = 0

    def load(self, database: Database, schema: str | None) -> None:
        """Replace the database.

        Args:
            database: the contents.
            schema: CREATE TABLE statements; derived from the contents by default.

        Raises:
            InputError: the contents do not fit the schema.
        """
        tables, plain = read_tables(database)
        self.rows = sum(len(table.rows) for table in tables)
        self.connection.execute("USE memory; DETACH data; ATTACH ':memory:' AS data; USE data; BEGIN")
        try:
            self.connection.execute(schema or plain)
            for table in tables:
                columns = ", ".join(map(quote, table.columns))
                # A parameter for each column, not for each value, which would take ten times as long.
                values = ", ".join(["unnest(?)"] * len(table.columns))
                insert = f"INSERT INTO {quote(table.name)} ({columns}) SELECT {values}"
                for start in range(0, len(table.rows), _ROWS_AT_ONCE):
                    rows = table.rows[start : start + _ROWS_AT_ONCE]
                    self.connection.execute(insert, [list(column) for column in zip(*rows)])
            self.connection.execute("COMMIT")
        except duckdb.Error as error:
            self.connection.execute("ROLLBACK")
            raise InputError(f"the database cannot be loaded into DuckDB: {error}.") from None

    def query(self, sql: str, limits: QueryLimits) -> QueryResult:
        """Run one SELECT; as `LoadedDatabase.query`."""
        clock = QueryClock()
        try:
            with _interrupt(self.connection, clock, limits.seconds):
                statements = duckdb.extract_statements(sql)
                if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                    raise QueryError("Only one SELECT statement is allowed.")
                self.connection.execute("BEGIN TRANSACTION READ ONLY")
                cursor = self.connection.execute(statements[0])
                columns = tuple(str(name) for name, *_ in cursor.description or ())
                rows = fetch_rows(iter(cursor.fetchone, None), limits.rows)
        except QueryError:
            raise
        except (duckdb.FatalException, duckdb.InternalException):
            # Such an error leaves the instance unusable: it ends the worker, and so do errors of the rollback.
            raise MemoryError from None
        except (duckdb.Error, MemoryError, ValueError, OverflowError) as error:
            if clock.seconds() > limits.seconds or isinstance(error, duckdb.InterruptException):
                raise TimeoutError(f"the query took more than {limits.seconds:g} s") from None
            raise QueryError(f"The query fails: {_describe(error)}") from None
        finally:
            self._roll_back()
        return QueryResult(columns, unify_rows(rows), clock.seconds())

    def run_script(self, script: Script, limits: QueryLimits) -> ScriptResult:
        """Change the database; as `LoadedDatabase.run_script`, except that the changes stay until the next `load`."""
        allowed = _CHANGES | _DEFINITIONS if script.defines else _CHANGES
        clock = QueryClock()
        try:
            with _interrupt(self.connection, clock, limits.seconds):
                # Each statement is a transaction: within one, constraints would also hold for rows deleted before.
                for statement in script.statements:
                    parsed = duckdb.extract_statements(statement)
                    if not parsed or any(one.type not in allowed for one in parsed):
                        raise QueryError("A statement of this kind is not allowed.")
                    for one in parsed:
                        self.connection.execute(one)
                if script.defines and not self.is_clean():
                    raise QueryError("A table or view is not in the main schema.")
                outcomes = tuple(self._observe(probe, limits) for probe in script.probes)
                columns = tuple(self.connection.execute(_LIST).fetchall())
        except QueryError:
            raise
        except (duckdb.FatalException, duckdb.InternalException):
            raise MemoryError from None
        except (duckdb.Error, MemoryError, ValueError, OverflowError) as error:
            if clock.seconds() > limits.seconds or isinstance(error, duckdb.InterruptException):
                raise TimeoutError(f"the statements took more than {limits.seconds:g} s") from None
            raise QueryError(f"A statement fails: {_describe(error)}") from None
        return ScriptResult(outcomes, columns, clock.seconds())

    def is_clean(self) -> bool:
        """Return True if the instance has nothing but the database, which the next `load` replaces."""
        return not self.connection.execute(_ELSEWHERE).fetchall()

    def _observe(self, probe: StateProbe, limits: QueryLimits) -> ResultRows | None:
        self.connection.execute("BEGIN")
        try:
            for statement in probe.statements:
                self.connection.execute(statement)
            cursor = self.connection.execute(probe.query)
            return unify_rows(fetch_rows(iter(cursor.fetchone, None), limits.rows))
        except (duckdb.FatalException, duckdb.InternalException, duckdb.InterruptException):
            raise
        except duckdb.Error:
            return None
        finally:
            self._roll_back()

    def _roll_back(self) -> None:
        try:
            self.connection.execute("ROLLBACK")
        except duckdb.TransactionException:
            pass  # the statement was refused before the transaction began
        except duckdb.Error:
            raise MemoryError from None


class QueryClock:
    """Clock of a query in this thread: wall time without waits for a busy processor. Where the system does not report
    these waits (other than Linux), CPU time, or a quarter of the wall time after the first second if that is more."""

    def __init__(self) -> None:
        self._thread = threading.get_native_id()
        self._start = time.process_time(), time.monotonic(), self._waits()

    def _waits(self) -> float | None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            # Nanoseconds running, nanoseconds in the run queue, time slices (Linux,
            # Documentation/scheduler/sched-stats.rst).
            return int(Path(f"/proc/self/task/{self._thread}/schedstat").read_text().split()[1]) / 1e9
        return None

    def seconds(self) -> float:
        worked, passed = time.process_time() - self._start[0], time.monotonic() - self._start[1]
        before, now = self._start[2], self._waits()
        waited = None if before is None or now is None else now - before
        return max(worked, (passed - 1.0) / 4.0 if waited is None else passed - waited)


@contextlib.contextmanager
def _interrupt(connection: duckdb.DuckDBPyConnection, clock: QueryClock, seconds: float) -> Iterator[None]:
    """Interrupt the connection repeatedly once the clock has passed ``seconds``."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(min(max(seconds - clock.seconds(), 0.005), 0.1)):
            if clock.seconds() > seconds:
                connection.interrupt()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _describe(error: BaseException) -> str:
    text = str(error).partition(_QUOTE)[0]
    kind, found, rest = text.partition(_KIND)
    told = " ".join((rest if found and len(kind) < 30 else text).split())[:120].rstrip(".") or "out of memory"
    return told if told.endswith("?") else f"{told}."
