"""The protocol of an engine: load a database, run read-only queries on it, or scripts on copies of it, close it.

A script is statements that change a copy, whose constraints are enforced, and trusted probes that observe the effect,
each of which is undone. Nothing of a script is left for the next one.

Results are in one form on all engines, so that they can be compared: NULL is None; numbers are int or float, rounded to
12 significant digits; dates and times are ISO 8601 text, and a midnight is its date; truth values are 1 and 0.
"""

from __future__ import annotations

import datetime
import decimal
import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from ....checks import check_count, check_number
from ....registry import Registry
from ....rewards.verifiers.sql import MAX_LENGTH, Database, QueryError, ResultRows, round_floats

ENGINES: Registry[type[SqlEngine]] = Registry(
    "engine of SQL",
    modules=[f"{__package__}.sqlite_engine", f"{__package__}.duckdb_engine", f"{__package__}.postgres_engine"],
)


# Memory of a query in an engine, MiB: engines can bound it for a process or a connection, but not for a query.
MEMORY_MB = 128


class EngineFailure(RuntimeError):
    """An engine did not work, for no fault of the query: it cannot be started, or was lost."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Bounds of one query.

    Args:
        seconds: time limit; CPU time in SQLite, CPU time and sleep in DuckDB, wall time in PostgreSQL.
        rows: maximum number of rows of the result.
        operations: maximum number of operations of SQLite's virtual machine, which are then counted; other engines
            have no count.
    """

    seconds: float = 2.0
    rows: int = 10_000
    operations: int | None = None

    def __post_init__(self) -> None:
        check_number("seconds of a query", self.seconds, low=0.0)
        check_count("rows of a query", self.rows, low=1)
        if self.operations is not None:
            check_count("operations of a query", self.operations, low=1)


@dataclass(frozen=True, slots=True)
class QueryResult:
    """The result of a query.

    Args:
        columns: names of the columns.
        rows: the rows, in the common form stated at the top of this module.
        seconds: time that the query took, of the kind of `QueryLimits.seconds`.
        operations: operations that the query took, if they were counted.
    """

    columns: tuple[str, ...]
    rows: ResultRows
    seconds: float
    operations: int = 0


@dataclass(frozen=True, slots=True)
class StateProbe:
    """Trusted statements that run on a changed database, and the query whose rows are compared afterwards."""

    statements: tuple[str, ...]
    query: str


@dataclass(frozen=True, slots=True)
class Script:
    """Statements and what is observed after them.

    Args:
        statements: as `scripts.split_script` returns them.
        defines: True if the statements may also define tables, views and indexes.
        probes: run one by one, each on the database that the statements leave.
    """

    statements: tuple[str, ...]
    defines: bool
    probes: tuple[StateProbe, ...]


@dataclass(frozen=True, slots=True)
class ScriptResult:
    """The effect of a script.

    Args:
        outcomes: for each probe, the rows of its query, or None if the engine refused one of its statements.
        columns: (table or view, column, declared type) of everything in the database.
        seconds: time taken, of the kind of `QueryLimits.seconds`.
    """

    outcomes: tuple[ResultRows | None, ...]
    columns: tuple[tuple[str, str, str], ...]
    seconds: float


class LoadedDatabase(Protocol):
    """A database in an engine, which no query or script can change: scripts work on a copy.

    Attributes:
        database: the contents.
        schema: as in `SqlEngine.load`; None for the schema of ``database``.
    """

    @property
    def database(self) -> Database: ...

    @property
    def schema(self) -> str | None: ...

    def query(self, sql: str, limits: QueryLimits = ...) -> QueryResult:
        """Run one read-only statement.

        Raises:
            QueryError: the statement is not read-only, fails, or exceeds the limits on its result; one sentence for the
                agent.
            TimeoutError: the query exceeded its time limit.
            EngineFailure: the engine failed, and not because of the query.
        """
        ...

    def run_script(self, script: Script, limits: QueryLimits = ...) -> ScriptResult:
        """Run statements on a copy of the database, and observe the effect.

        Raises:
            QueryError: a statement fails, or violates a constraint; one sentence for the agent.
            TimeoutError: statements and probes together exceeded the time limit.
            EngineFailure: as for `query`.
        """
        ...

    def close(self) -> None:
        """Release the database and all its resources."""
        ...


class SqlEngine(Protocol):
    """An engine.

    Attributes:
        title: its name in a prompt.
        dialect: its name in sqlglot.
    """

    title: str
    dialect: str

    def load(self, database: Database, schema: str | None = None) -> LoadedDatabase:
        """Load a database.

        Args:
            database: the tables and rows, in one of the forms of SQLite.
            schema: CREATE TABLE statements of this engine for these tables, one a line, in their order; by default the
                database's statements, translated.

        Raises:
            InputError: the rows do not fit the schema, or the database cannot be read.
            MissingExtra: the package of the engine is not installed.
            EngineFailure: the engine does not work.
        """
        ...


@functools.cache
def make_engine(name: str) -> SqlEngine:
    """Return the engine of a name; the process has one instance of each.

    Raises:
        InputError: no engine has this name.
    """
    return ENGINES[name]()


def check_text(sql: str) -> None:
    """Raise QueryError for a text that engines cannot read unchanged: too long, or with NUL or surrogates."""
    if len(sql) > MAX_LENGTH:
        raise QueryError(f"The query is longer than {MAX_LENGTH:,} characters.")
    if "\0" in sql or any("\ud800" <= letter <= "\udfff" for letter in sql):
        raise QueryError("The query has a character that is no text.")


def unify_rows(rows: Iterable[Sequence[Any]]) -> ResultRows:
    """Convert rows to the common form of results stated at the top of this module."""
    return round_floats([tuple(map(unify_value, row)) for row in rows])


def unify_value(value: Any) -> Any:
    """Convert one value to the common form of results, except for rounding."""
    if value is None or isinstance(value, (str, float)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, decimal.Decimal):
        return int(value) if value.is_finite() and value == value.to_integral_value() else float(value)
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"X'{bytes(value).hex()}'"
    return str(value)
