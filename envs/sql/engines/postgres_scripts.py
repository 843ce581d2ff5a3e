"""Scripts in PostgreSQL: as a role that owns copies of databases, in a transaction that is rolled back."""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError, ResultRows, fetch_rows
from .engine import EngineFailure, QueryLimits, Script, ScriptResult, StateProbe, unify_rows
from .tables import TableRows, quote, read_tables

# Maximum number of copies kept on the server, and number of scripts after which rows of catalogues that definitions
# left are removed.
KEPT, _VACUUM_AFTER = 64, 2000
# Scripts that take longer may leave many dead rows, so their copy is not used again.
_LONG_SECONDS = 0.5
_LIST = """
    SELECT table_name, column_name, data_type FROM information_schema.columns
    WHERE table_schema = '{name}' ORDER BY table_name, ordinal_position
"""


class PostgresScripts:
    """The copies of a process, and the connection of the role that owns them.

    Args:
        name: name of the process's database; the role is called after it.
        owner: connection as superuser.
        connect: opens a connection to the process's database.
    """

    def __init__(self, name: str, owner: Any, connect: Callable[..., Any]):
        self.owner, self.role = owner, f"{name}_writer"
        self.copies: OrderedDict[tuple[Database, str | None], str] = OrderedDict()
        self.number = 0
        password = secrets.token_hex(16)
        owner.execute(f"CREATE ROLE {self.role} LOGIN PASSWORD '{password}' CONNECTION LIMIT 4")
        owner.execute(f"ALTER ROLE {self.role} SET max_parallel_workers_per_gather = 0")
        owner.execute(f"GRANT CONNECT ON DATABASE {name} TO {self.role}")
        # For columns that number themselves.
        owner.execute(f"GRANT EXECUTE ON FUNCTION nextval(regclass) TO {self.role}")
        self.writer = connect(user=self.role, password=password)
        self.writer.prepare_threshold = None

    def run(self, database: Database, schema: str | None, script: Script, limits: QueryLimits) -> ScriptResult:
        """Run a script on a copy; as `LoadedDatabase.run_script`."""
        import psycopg

        name = self._load(database, schema)
        start = time.monotonic()
        try:
            cursor: Any
            with psycopg.RawCursor(self.writer) as cursor:
                cursor.execute(f"SET LOCAL search_path TO {name}")
                for statement in (*script.statements, "SET CONSTRAINTS ALL IMMEDIATE"):
                    _execute(cursor, statement, start + limits.seconds)
                outcomes = tuple(_observe(cursor, probe, start + limits.seconds, limits) for probe in script.probes)
                columns = tuple(cursor.execute(_LIST.format(name=name)).fetchall())
        except psycopg.errors.QueryCanceled:
            raise TimeoutError(f"the statements took more than {limits.seconds:g} s") from None
        except (psycopg.Error, UnicodeError) as error:
            if self.writer.closed:
                raise EngineFailure("PostgreSQL lost a connection") from error
            raise QueryError(f"A statement fails: {describe_error(error)}.") from None
        finally:
            if not self.writer.closed:
                self.writer.rollback()
                self._tidy(time.monotonic() - start)
        return ScriptResult(outcomes, columns, time.monotonic() - start)

    def _load(self, database: Database, schema: str | None) -> str:
        """Return the schema with a copy of the database, and make it unless there is one."""
        key = (database, schema)
        if key not in self.copies:
            name = f"w{secrets.token_hex(8)}"
            head = f"CREATE SCHEMA {name} AUTHORIZATION {self.role}; SET LOCAL search_path TO {name}"
            with copy_tables(self.owner, database, schema, f"{head}; SET LOCAL ROLE {self.role}"):
                pass
            self.copies[key] = name
            if len(self.copies) > KEPT:
                self._drop(next(iter(self.copies)))
        self.copies.move_to_end(key)
        return self.copies[key]

    def _tidy(self, seconds: float) -> None:
        """Remove what the last script, which took ``seconds``, left in files."""
        if seconds > _LONG_SECONDS:
            self._drop(next(reversed(self.copies)))
        self.number += 1
        if self.number % _VACUUM_AFTER == 0:
            self.owner.execute("VACUUM")

    def _drop(self, key: tuple[Database, str | None]) -> None:
        self.owner.execute(f"DROP SCHEMA {self.copies.pop(key)} CASCADE")


@contextlib.contextmanager
def copy_tables(owner: Any, database: Database, schema: str | None, head: str) -> Iterator[list[TableRows]]:
    """Load a database, after the statements ``head`` and in the same transaction, which ends with the context; yield
    its tables."""
    import psycopg

    tables, plain = read_tables(database)
    try:
        with owner.transaction(), owner.cursor() as cursor:
            cursor.execute(head)
            cursor.execute((schema or plain).encode())
            for table in tables:
                columns = ", ".join(map(quote, table.columns))
                with cursor.copy(f"COPY {quote(table.name)} ({columns}) FROM STDIN".encode()) as copy:
                    for row in table.rows:
                        copy.write_row(row)
            yield tables
    except psycopg.OperationalError as error:
        raise EngineFailure(f"PostgreSQL lost a connection: {error}") from None
    except (psycopg.Error, ValueError) as error:
        raise InputError(f"the database cannot be loaded into PostgreSQL: {error}.") from None


def _execute(cursor: Any, statement: str, deadline: float) -> None:
    left = max(int((deadline - time.monotonic()) * 1e3), 1)
    cursor.execute(f"SET LOCAL statement_timeout = {left}")
    # binary=True selects the extended protocol, whose messages hold one statement each.
    cursor.execute(statement.encode(), binary=True)


def _observe(cursor: Any, probe: StateProbe, deadline: float, limits: QueryLimits) -> ResultRows | None:
    """Run a probe and undo it."""
    import psycopg

    cursor.execute("SAVEPOINT probe")
    try:
        for statement in probe.statements:
            _execute(cursor, statement, deadline)
        _execute(cursor, f"DECLARE result NO SCROLL CURSOR FOR {probe.query}", deadline)
        with contextlib.closing(cursor.stream(f"FETCH {limits.rows + 1} FROM result")) as found:
            return unify_rows(fetch_rows(found, limits.rows))
    except psycopg.errors.QueryCanceled:
        raise
    except psycopg.Error:
        return None
    finally:
        if not cursor.connection.closed:
            cursor.execute("ROLLBACK TO probe; RELEASE probe")


def describe_error(error: BaseException) -> str:
    """Return the first line of an error, shortened, without a full stop."""
    return " ".join(str(error).partition("\n")[0].split())[:120].rstrip(".") or "out of memory"
