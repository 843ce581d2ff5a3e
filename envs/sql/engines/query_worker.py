"""The worker's side of `isolation`: loads databases and runs queries, with a timer that ends a worker stuck in a
query."""

from __future__ import annotations

import base64
import functools
import signal
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError
from .engine import QueryLimits, QueryResult, Script, StateProbe

if TYPE_CHECKING:
    from .duckdb_memory import DuckdbMemory

# The system ends a worker stuck in a query at this multiple of the deadline plus these seconds.
KILL_SHARE, KILL_SECONDS = 1.1, 0.01
# Databases of DuckDB that a worker caches: as many as judge one answer. The threads' stacks of each take 70 MB of the
# worker's address space.
KEPT = 6
# Besides them, one database with more rows than this is cached.
LARGE = 10_000


def answer_query(job: dict[str, Any]) -> dict[str, Any]:
    """Run one query or script: {"result": the fields of its result}, or {"error": kind, "message": text}."""
    source, limits = job["database"], QueryLimits(**job["limits"])
    if source["image"] is not None:
        source["image"] = base64.b64decode(source["image"])
    try:
        run = _prepare(job, Database(**source), limits)
        signal.setitimer(signal.ITIMER_PROF, KILL_SHARE * limits.seconds + KILL_SECONDS)
        try:
            return {"result": run()}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0.0)
    except QueryError as error:
        return {"error": "query", "message": str(error)}
    except TimeoutError as error:
        return {"error": "time", "message": str(error)}
    except InputError as error:
        return {"error": "input", "message": str(error)}


def _prepare(job: dict[str, Any], database: Database, limits: QueryLimits) -> Callable[[], list[Any]]:
    """Load the database, and return the function that runs the query or script."""
    if (source := job.get("script")) is not None:
        probes = tuple(StateProbe(tuple(one["statements"]), one["query"]) for one in source["probes"])
        script = Script(tuple(source["statements"]), source["defines"], probes)
        if job["engine"] == "sqlite":
            from .sqlite_scripts import run_script_here

            work = functools.partial(run_script_here, database, script, limits, bound_memory=True)
        else:
            work = functools.partial(LOADED.load_copy(database, job["schema"]).run_script, script, limits)

        def run() -> list[Any]:
            found = work()
            return [found.outcomes, found.columns, found.seconds]

        return run
    query: Callable[[str, QueryLimits], QueryResult]
    if job["engine"] == "sqlite":
        from .sqlite_engine import run_here

        query = functools.partial(run_here, database, bound_memory=True)
    else:
        query = LOADED.load(database, job["schema"]).query

    def run_query() -> list[Any]:
        result = query(job["sql"], limits)
        return [result.columns, result.rows, result.seconds, result.operations]

    return run_query


class LoadedDatabases:
    """Cache of the last used databases of DuckDB, each in a separate instance."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[Database, str | None], DuckdbMemory] = OrderedDict()
        self._copy: DuckdbMemory | None = None

    def load(self, database: Database, schema: str | None) -> DuckdbMemory:
        """Return the instance with a database; if the cache is full, it replaces the least recently used one, or the
        large one."""
        from .duckdb_memory import DuckdbMemory

        key = (database, schema)
        if key not in self._kept:
            small = [other for other, one in self._kept.items() if one.rows <= LARGE]
            instance = self._kept.pop(small[0]) if len(small) == KEPT else DuckdbMemory()
            instance.load(database, schema)
            if instance.rows > LARGE:
                for other in self._kept.keys() - {*small}:
                    del self._kept[other]
            self._kept[key] = instance
        self._kept.move_to_end(key)
        return self._kept[key]

    def load_copy(self, database: Database, schema: str | None) -> DuckdbMemory:
        """Load a database into an instance for scripts, which replaces what the last script left."""
        from .duckdb_memory import DuckdbMemory

        if self._copy is None or not self._copy.is_clean():
            self._copy = DuckdbMemory()
        self._copy.load(database, schema)
        return self._copy


LOADED = LoadedDatabases()
