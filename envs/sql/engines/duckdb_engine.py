"""DuckDB, in worker processes: its queries can take the memory of a process, and some functions ignore an interrupt."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass

from ....errors import MissingExtra
from ....rewards.verifiers.sql import Database
from .engine import ENGINES, QueryLimits, QueryResult, Script, ScriptResult
from .isolation import run_in_worker, run_script_in_worker


@dataclass(frozen=True, slots=True)
class DuckdbDatabase:
    """A database of DuckDB. A worker process loads the database at its first query, and caches it.

    Args:
        database: the contents.
        schema: CREATE TABLE statements of DuckDB; None derives them from the contents.
    """

    database: Database
    schema: str | None

    def query(self, sql: str, limits: QueryLimits = QueryLimits()) -> QueryResult:  # noqa: B008 (frozen)
        return run_in_worker("duckdb", self.database, self.schema, sql, limits)

    def run_script(self, script: Script, limits: QueryLimits = QueryLimits()) -> ScriptResult:  # noqa: B008 (frozen)
        return run_script_in_worker("duckdb", self.database, self.schema, script, limits)

    def close(self) -> None:
        pass


@ENGINES.register("duckdb")
class DuckdbEngine:
    """DuckDB.

    Raises:
        MissingExtra: the package duckdb is not installed.
    """

    title, dialect = "DuckDB", "duckdb"

    def __init__(self) -> None:
        if importlib.util.find_spec("duckdb") is None:
            raise MissingExtra("the engine 'duckdb'", "sql")

    def load(self, database: Database, schema: str | None = None) -> DuckdbDatabase:
        return DuckdbDatabase(database, schema)
