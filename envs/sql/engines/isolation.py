"""Queries in worker processes, for engines that could exhaust the memory of this process or crash it.

A worker has a limit on its address space and writes no files. It stops a query at its deadline. If the query does not
stop, the worker is killed soon after, and the next query gets a new worker. The deadline is in processor time, so that
a busy machine makes no query late.
"""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError
from ....rewards.verifiers.workers import WorkerFailure, WorkerPool
from .engine import EngineFailure, QueryLimits, QueryResult, Script, ScriptResult, check_text

ADDRESS_SPACE_MB = 1536
# Maximum wait for a worker's answer on a busy machine: in seconds, and as a multiple of the deadline.
SPARE_SECONDS, SPARE_SHARE = 60.0, 20.0
POOL = WorkerPool(f"{__package__}.query_worker:answer_query", memory_mb=ADDRESS_SPACE_MB)


def run_in_worker(engine: str, database: Database, schema: str | None, sql: str, limits: QueryLimits) -> QueryResult:
    """Run a query in a worker.

    Args:
        engine: "sqlite" or "duckdb".
        database: the database; the worker loads it and caches the last ones.
        schema: as in `SqlEngine.load`.
        sql: untrusted text.
        limits: limits of the query, without loading.

    Raises:
        QueryError, TimeoutError, EngineFailure: as `LoadedDatabase.query`.
        InputError: the worker could not load the database.
    """
    check_text(sql)
    columns, rows, seconds, operations = _ask({"sql": sql}, engine, database, schema, limits)
    return QueryResult(tuple(columns), tuple(map(tuple, rows)), seconds, operations)


def run_script_in_worker(
    engine: str, database: Database, schema: str | None, script: Script, limits: QueryLimits
) -> ScriptResult:
    """Run a script in a worker, on a copy of a database. Arguments and exceptions are as in `run_in_worker`."""
    outcomes, columns, seconds = _ask({"script": dataclasses.asdict(script)}, engine, database, schema, limits)
    found = tuple(None if rows is None else tuple(map(tuple, rows)) for rows in outcomes)
    return ScriptResult(found, tuple(map(tuple, columns)), seconds)


def _ask(work: dict[str, Any], engine: str, database: Database, schema: str | None, limits: QueryLimits) -> list[Any]:
    source = dataclasses.asdict(database)
    if database.image is not None:
        source["image"] = base64.b64encode(database.image).decode("ascii")
    job = {**work, "engine": engine, "database": source, "schema": schema, "limits": dataclasses.asdict(limits)}
    try:
        answer: dict[str, Any] = POOL.run(job, SPARE_SECONDS + SPARE_SHARE * limits.seconds)
    except WorkerFailure as failure:
        if failure.reason == "cpu":
            raise TimeoutError(f"the query took more than {limits.seconds:g} s") from None
        if failure.reason in ("died", "memory"):
            # The second worker failed, too.
            raise QueryError("The query takes too much memory, or ends the engine.") from None
        raise EngineFailure(f"a worker process failed ({failure})") from failure
    if "result" in answer:
        return answer["result"]
    raise {"query": QueryError, "time": TimeoutError, "input": InputError}[answer["error"]](answer["message"])
