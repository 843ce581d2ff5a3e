"""A database of DuckDB in the memory of this process, for the workers of `isolation`.

Reading only, by construction: the engine's own parser finds one statement, a SELECT; it runs in a read-only transaction
that is rolled back; files, the network and extensions are off, and so is every change of a setting.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import duckdb

from ....errors import InputError
from ....rewards.verifiers.sql import MAX_LENGTH, Database, QueryError, fetch_rows
from .engine import MEMORY_MB, QueryLimits, QueryResult, unify_rows
from .tables import quote, read_tables

# The last one keeps the others as they are.
_SETTINGS = (
    *("enable_external_access = false", "allow_community_extensions = false", "allow_unsigned_extensions = false"),
    *("autoinstall_known_extensions = false", "autoload_known_extensions = false", "lock_configuration = true"),
)
# How the message of an error begins with its kind, which says little; and where it goes on with the query.
_KIND, _QUOTE = " Error: ", "\n\nLINE "


class DuckdbMemory:
    """A database.

    Args:
        database: the contents.
        schema: CREATE TABLE statements; by default those that the contents give.

    Raises:
        InputError: the contents do not fit the schema.
    """

    def __init__(self, database: Database, schema: str | None):
        tables, plain = read_tables(database)
        options: Any = {"threads": 1, "memory_limit": f"{MEMORY_MB}MiB", "temp_directory": ""}
        self.connection = duckdb.connect(":memory:", config=options)
        try:
            self.connection.execute(schema or plain)
            for table in tables:
                columns = ", ".join(map(quote, table.columns))
                places = ", ".join("?" * len(table.columns))
                if table.rows:
                    # One statement is many times as fast as one a row.
                    values = ", ".join([f"({places})"] * len(table.rows))
                    flat = [value for row in table.rows for value in row]
                    self.connection.execute(f"INSERT INTO {quote(table.name)} ({columns}) VALUES {values}", flat)
        except duckdb.Error as error:
            raise InputError(f"the database cannot be loaded into DuckDB: {error}.") from None
        for setting in _SETTINGS:
            self.connection.execute(f"SET {setting}")

    def query(self, sql: str, limits: QueryLimits) -> QueryResult:
        """Run one SELECT; as `LoadedDatabase.query`."""
        if len(sql) > MAX_LENGTH:
            raise QueryError(f"The query is longer than {MAX_LENGTH:,} characters.")
        start = time.process_time()
        connection = self.connection
        with _interrupt(connection, start + limits.seconds):
            try:
                statements = duckdb.extract_statements(sql)
                if [one.type for one in statements] != [duckdb.StatementType.SELECT]:
                    raise QueryError("Only one SELECT statement is allowed.")
                connection.execute("BEGIN TRANSACTION READ ONLY")
                try:
                    cursor = connection.execute(statements[0])
                    columns = tuple(str(name) for name, *_ in cursor.description or ())
                    rows = fetch_rows(iter(cursor.fetchone, None), limits.rows)
                finally:
                    with contextlib.suppress(duckdb.Error):
                        connection.execute("ROLLBACK")
            except QueryError:
                raise
            except (duckdb.Error, MemoryError, ValueError, OverflowError) as error:
                if time.process_time() > start + limits.seconds:
                    raise TimeoutError(f"the query took more than {limits.seconds:g} s") from None
                raise QueryError(f"The query fails: {_describe(error)}.") from None
        return QueryResult(columns, unify_rows(rows), time.process_time() - start)

    def close(self) -> None:
        self.connection.close()


@contextlib.contextmanager
def _interrupt(connection: duckdb.DuckDBPyConnection, until: float) -> Iterator[None]:
    """Interrupt the connection again and again from a time of this process's processor on."""
    done = threading.Event()

    def watch() -> None:
        while not done.wait(max(until - time.process_time(), 0.005)):
            if time.process_time() > until:
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
    return " ".join((rest if found and len(kind) < 30 else text).split())[:120].rstrip(".") or "out of memory"
