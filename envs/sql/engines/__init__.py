"""Engines of databases: `sqlite`, `duckdb` and `postgres` behind one protocol, and the comparison of their results.

database = make_engine("duckdb").load(Database(path="shop.sqlite"))
database.query("SELECT 1", QueryLimits(seconds=1.0)).rows
"""

from __future__ import annotations

from .engine import ENGINES, EngineFailure, LoadedDatabase, QueryLimits, QueryResult, SqlEngine, StateProbe, make_engine
from .grading import ScriptCase, count_milestones, grade_query, grade_script

__all__ = [
    "ENGINES",
    "EngineFailure",
    "LoadedDatabase",
    "QueryLimits",
    "QueryResult",
    "ScriptCase",
    "SqlEngine",
    "StateProbe",
    "count_milestones",
    "grade_query",
    "grade_script",
    "make_engine",
]
