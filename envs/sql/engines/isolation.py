"""Queries in worker processes, for engines that could take the memory of this process or end it.

A worker has a bound on its address space and writes no file. It stops a query at its deadline. One that does not stop
is killed with its worker soon after; the next query gets another worker. The deadline is in time of the processor, so
that a busy machine makes no query late.
"""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

from ....errors import InputError
from ....rewards.verifiers.sql import Database, QueryError
from ....rewards.verifiers.workers import WorkerFailure, WorkerPool
from .engine import EngineFailure, QueryLimits, QueryResult, check_text

ADDRESS_SPACE_MB = 1024
# The longest wait for a worker's answer on a machine that is busy otherwise: seconds, and in deadlines.
SPARE_SECONDS, SPARE_SHARE = 60.0, 20.0
POOL = WorkerPool(f"{__package__}.query_worker:answer_query", memory_mb=ADDRESS_SPACE_MB)


def run_in_worker(engine: str, database: Database, schema: str | None, sql: str, limits: QueryLimits) -> QueryResult:
    """Run a query in a worker.

    Args:
        engine: "sqlite" or "duckdb".
        database: loaded by the worker, which keeps the last ones.
        schema: as in `SqlEngine.load`.
        sql: untrusted text.
        limits: of the query; loading does not count.

    Raises:
        QueryError, TimeoutError, EngineFailure: as `LoadedDatabase.query`.
        InputError: the worker could not load the database.
    """
    check_text(sql)
    source = dataclasses.asdict(database)
    if database.image is not None:
        source["image"] = base64.b64encode(database.image).decode("ascii")
    job = {"engine": engine, "database": source, "schema": schema, "sql": sql, "limits": dataclasses.asdict(limits)}
    try:
        answer: dict[str, Any] = POOL.run(job, SPARE_SECONDS + SPARE_SHARE * limits.seconds)
    except WorkerFailure as failure:
        if failure.reason == "cpu":
            raise TimeoutError(f"the query took more than {limits.seconds:g} s") from None
        if failure.reason in ("died", "memory"):
            # It did so twice.
            raise QueryError("The query takes too much memory, or ends the engine.") from None
        raise EngineFailure(f"a worker process failed ({failure})") from failure
    if "result" in answer:
        columns, rows, seconds = answer["result"]
        return QueryResult(tuple(columns), tuple(map(tuple, rows)), seconds)
    raise {"query": QueryError, "time": TimeoutError, "input": InputError}[answer["error"]](answer["message"])
