"""PostgreSQL, over a connection to a server (`postgres_server`).

Each process has a separate database there, with a schema for each database that it loads, and drops it at its end.
Queries run as a role that may only select, in a read-only transaction that is rolled back, through a cursor, which
accepts only one SELECT. Scripts run as another role, see `postgres_scripts`. Neither role may call functions marked
volatile in the catalogue: these sleep, lock, notify, read files, change settings or run text as a query.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import secrets
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from ....errors import InputError, MissingExtra
from ....rewards.verifiers.sql import Database, QueryError, fetch_rows
from .engine import (
    ENGINES,
    EngineFailure,
    QueryLimits,
    QueryResult,
    Script,
    ScriptResult,
    check_text,
    unify_rows,
)
from .postgres_scripts import PostgresScripts, copy_tables, describe_error
from .postgres_server import VARIABLE, check_server, find_server
from .tables import quote

R = TypeVar("R")
# Maximum number of loaded databases kept on the server for later queries, and of their rows.
KEPT, KEPT_ROWS = 64, 500_000
# The server needs statistics to plan queries on databases with more rows than this.
_ANALYZED = 10_000
# Selects the databases of earlier processes: without connections, and older than five minutes.
_ABANDONED = """
    SELECT datname FROM pg_database AS one WHERE datname ~ '^palaestra_[0-9a-f]{16}$'
    AND NOT EXISTS (SELECT FROM pg_stat_activity AS other WHERE other.datname = one.datname)
    AND (pg_stat_file('base/' || oid || '/PG_VERSION')).modification < now() - interval '5 minutes'
"""
_REVOKE_VOLATILE = """
    DO $$ DECLARE one regprocedure; BEGIN
    FOR one IN SELECT oid FROM pg_proc WHERE provolatile = 'v' AND prokind = 'f'
        AND pronamespace = 'pg_catalog'::regnamespace LOOP
        EXECUTE format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', one);
    END LOOP; END $$
"""


class _Session:
    """The connections of one process, as owner and as reader, and the database that they use."""

    def __init__(self, server: str):
        import psycopg

        self.server = server
        self.name = f"palaestra_{secrets.token_hex(8)}"
        # Database and schema -> name of the server's schema, and number of rows.
        self.loaded: OrderedDict[tuple[Database, str | None], tuple[str, int]] = OrderedDict()
        self.open_to_reader = ""
        self.connections = contextlib.ExitStack()
        password = secrets.token_hex(16)
        try:
            first: Any
            with psycopg.connect(server, autocommit=True) as first:
                if first.execute("SHOW is_superuser").fetchone() != ("on",):
                    raise InputError(f"the role of {VARIABLE} must be a superuser, which makes roles and databases.")
                for (name,) in first.execute(_ABANDONED).fetchall():
                    _drop(first, name)
                first.execute(f"CREATE ROLE {self.name} LOGIN PASSWORD '{password}' CONNECTION LIMIT 4")
                first.execute(f"ALTER ROLE {self.name} SET default_transaction_read_only = on")
                first.execute(f"ALTER ROLE {self.name} SET max_parallel_workers_per_gather = 0")
                first.execute(
                    f"CREATE DATABASE {self.name} TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
                )
            self.owner: Any = self._connect(autocommit=True)
            self.owner.execute(f"REVOKE ALL ON DATABASE {self.name} FROM PUBLIC")
            self.owner.execute("REVOKE ALL ON SCHEMA public FROM PUBLIC")
            self.owner.execute(f"GRANT CONNECT ON DATABASE {self.name} TO {self.name}")
            self.owner.execute(_REVOKE_VOLATILE)
            self.reader: Any = self._connect(user=self.name, password=password)
            self.reader.read_only, self.reader.prepare_threshold = True, None
            self.scripts = PostgresScripts(self.name, self.owner, self._connect)
        except psycopg.Error as error:
            self.close()
            raise EngineFailure(f"the server of {VARIABLE}={server!r} does not work: {error}") from None

    def _connect(self, **options: Any) -> Any:
        import psycopg

        connection = psycopg.connect(self.server, dbname=self.name, **options)
        self.connections.callback(connection.close)
        return connection

    def load(self, database: Database, schema: str | None) -> str:
        """Load a database unless it is loaded, and return the name of its schema."""
        if (database, schema) not in self.loaded:
            self.loaded[database, schema] = self._load(database, schema)
            while len(self.loaded) > KEPT or (
                len(self.loaded) > 1 and sum(rows for _, rows in self.loaded.values()) > KEPT_ROWS
            ):
                _, (oldest, _) = self.loaded.popitem(last=False)
                self.owner.execute(f"DROP SCHEMA {oldest} CASCADE")
        self.loaded.move_to_end((database, schema))
        return self.loaded[database, schema][0]

    def _load(self, database: Database, schema: str | None) -> tuple[str, int]:
        name = f"s{secrets.token_hex(8)}"
        head = f"CREATE SCHEMA {name}; SET LOCAL search_path TO {name}"
        with copy_tables(self.owner, database, schema, head) as tables:
            rows = sum(len(table.rows) for table in tables)
            self.owner.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {name} TO {self.name}")
            if rows > _ANALYZED:
                # Autovacuum, which would do so, is off.
                self.owner.execute(f"ANALYZE {', '.join(quote(table.name) for table in tables)}".encode())
        return name, rows

    def query(self, name: str, sql: str, limits: QueryLimits) -> QueryResult:
        import psycopg

        if self.open_to_reader != name:
            # The reader can see only one database at a time.
            if self.open_to_reader in [kept for kept, _ in self.loaded.values()]:
                self.owner.execute(f"REVOKE USAGE ON SCHEMA {self.open_to_reader} FROM {self.name}")
            self.owner.execute(f"GRANT USAGE ON SCHEMA {name} TO {self.name}")
            self.open_to_reader = name
        start = time.monotonic()
        try:
            cursor: Any
            with psycopg.RawCursor(self.reader) as cursor:
                milliseconds = max(int(limits.seconds * 1e3), 1)
                cursor.execute(f"SET LOCAL search_path TO {name}; SET LOCAL statement_timeout = {milliseconds}")
                # binary=True selects the extended protocol, whose messages hold one statement each.
                cursor.execute(b"DECLARE result NO SCROLL CURSOR FOR " + sql.encode(), binary=True)
                found = cursor.stream(f"FETCH {limits.rows + 1} FROM result")
                with contextlib.closing(found):
                    rows = fetch_rows(found, limits.rows)
                columns = tuple(one.name for one in cursor.description or ())
        except psycopg.errors.QueryCanceled:
            raise TimeoutError(f"the query took more than {limits.seconds:g} s") from None
        except (psycopg.Error, UnicodeError) as error:
            if self.reader.closed:
                raise EngineFailure("PostgreSQL lost a connection") from error
            raise QueryError(f"The query fails: {describe_error(error)}.") from None
        finally:
            if not self.reader.closed:
                self.reader.rollback()
        return QueryResult(columns, unify_rows(rows), time.monotonic() - start)

    def close(self) -> None:
        import psycopg

        self.connections.close()
        with contextlib.suppress(psycopg.Error), psycopg.connect(self.server, autocommit=True) as last:
            _drop(last, self.name)


def _drop(connection: Any, name: str) -> None:
    connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    connection.execute(f"DROP ROLE IF EXISTS {name}, {name}_writer")


class PostgresDatabase:
    """A database on the server.

    Args:
        engine: the engine, which holds the connections.
        database: the contents.
        schema: CREATE TABLE statements of PostgreSQL.
    """

    def __init__(self, engine: PostgresEngine, database: Database, schema: str | None):
        self.engine, self.database, self.schema = engine, database, schema

    def query(self, sql: str, limits: QueryLimits = QueryLimits()) -> QueryResult:  # noqa: B008 (frozen)
        return self.engine.query(self.database, self.schema, sql, limits)

    def run_script(self, script: Script, limits: QueryLimits = QueryLimits()) -> ScriptResult:  # noqa: B008 (frozen)
        return self.engine.work(lambda session: session.scripts.run(self.database, self.schema, script, limits))

    def close(self) -> None:
        pass


@ENGINES.register("postgres")
class PostgresEngine:
    """PostgreSQL. The queries of a process run sequentially.

    Raises:
        MissingExtra: the package psycopg is not installed.
        InputError: no server is named or installed.
    """

    title, dialect = "PostgreSQL", "postgres"

    def __init__(self) -> None:
        if importlib.util.find_spec("psycopg") is None:
            raise MissingExtra("the engine 'postgres'", "sql")
        check_server()
        self._lock = threading.Lock()
        self._session: _Session | None = None
        self._pid = 0
        atexit.register(self._close)

    def load(self, database: Database, schema: str | None = None) -> PostgresDatabase:
        return PostgresDatabase(self, database, schema)

    def query(self, database: Database, schema: str | None, sql: str, limits: QueryLimits) -> QueryResult:
        """Load a database unless it is loaded, and run a query; as `LoadedDatabase.query`."""
        check_text(sql)
        return self.work(lambda session: session.query(session.load(database, schema), sql, limits))

    def work(self, deed: Callable[[_Session], R]) -> R:
        """Do something with the session of this process, and again with a new one if that fails."""
        import psycopg

        if self._pid != os.getpid():
            # After a fork, the connections belong to the parent.
            self._pid, self._session, self._lock = os.getpid(), None, threading.Lock()
        with self._lock:
            for last in (False, True):
                try:
                    self._session = self._session or _Session(find_server())
                    return deed(self._session)
                except (EngineFailure, psycopg.OperationalError, psycopg.InterfaceError) as error:
                    if self._session is not None:
                        self._session.close()
                        self._session = None
                    if last:
                        raise EngineFailure(str(error)) from error
        raise AssertionError

    def _close(self) -> None:
        if self._pid == os.getpid() and self._session is not None:
            self._session.close()
