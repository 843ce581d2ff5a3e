"""Verdicts in any engine: a query is right if it has the expected rows on each of several databases, and a script if it
leaves each of them as expected; and how near a wrong query comes."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ....rewards import Verdict
from ....rewards.verifiers.registry import CORRECT, WRONG, rejected
from ....rewards.verifiers.sql import Database, QueryError, ResultRows, compare_results, same_rows
from .engine import EngineFailure, QueryLimits, Script, StateProbe, make_engine
from .scripts import split_script


def grade_query(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    tied: Sequence[tuple[Database, ResultRows]] = (),
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> Verdict:
    """Run a query on all databases and compare the results.

    Rows are compared as a multiset, or as a list if ``ordered``. Columns are compared by position, not by name. Values
    are compared in the form of `engine`: numbers at 12 significant digits, 1 = 1.0 = TRUE but not '1', a date as its
    text.

    Args:
        query: untrusted text.
        expected: databases with the expected rows, the cheapest first, since the comparison stops at the first
            mismatch.
        ordered: True if the order of the rows counts.
        tied: those of ``expected`` on which the order must hold whichever way ties are broken; see `compare_results`.
        engine: the engine that runs the query.
        schema: CREATE TABLE statements of that engine, as in `SqlEngine.load`.
        limits: time limit for all databases together, and maximum rows on each.

    Returns:
        The verdict: wrong, with the error, for a query that fails or exceeds the limits; ``valid=False`` if the engine
        failed.

    Raises:
        InputError: the engine is not available, or the databases cannot be loaded.
    """
    limits = limits or QueryLimits()

    def run(text: str, database: Database, seconds: float, rows: int) -> tuple[ResultRows, float]:
        with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
            result = loaded.query(text, QueryLimits(max(seconds, 0.001), rows))
        return result.rows, result.seconds

    try:
        return compare_results(
            query, expected, ordered=ordered, tied=tied, seconds=limits.seconds, max_rows=limits.rows, run=run
        )
    except EngineFailure as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")


def count_milestones(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    tied: Sequence[tuple[Database, ResultRows]] = (),
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> tuple[int, int]:
    """Count the milestones that a query reaches, and all milestones: it runs on the first database, its result there
    has the right number of columns, and one for each database on which it is right.

    Args:
        query, expected, ordered, tied, engine, schema: as for `grade_query`.
        limits: limits of the query on each database.

    Raises:
        EngineFailure: the engine failed.
        InputError: as for `grade_query`.
    """
    limits = limits or QueryLimits()
    number = 2 + len(expected)
    database, _ = expected[0]
    try:
        with contextlib.closing(make_engine(engine).load(database, schema)) as loaded:
            columns = loaded.query(query, limits).columns
    except (QueryError, TimeoutError):
        return 0, number
    width = next((len(rows[0]) for _, rows in expected if rows), len(columns))
    reached = 1 + (len(columns) == width)
    for pair in expected:
        both = [pair] if pair in tied else []
        verdict = grade_query(query, [pair], ordered=ordered, tied=both, engine=engine, schema=schema, limits=limits)
        if not verdict.valid:
            raise EngineFailure(verdict.feedback)
        reached += verdict.success
    return reached, number


@dataclass(frozen=True, slots=True)
class ScriptCase:
    """A database, and what is expected after a right script.

    Args:
        database: the contents before.
        probes: what is observed.
        expected: the outcome of each probe, as in `ScriptResult`.
        columns: (table or view, column, class of its type) of all columns afterwards, in any order; None if the script
            cannot change them. Classes are those of `classify_type`; "" is any.
    """

    database: Database
    probes: tuple[StateProbe, ...]
    expected: tuple[ResultRows | None, ...]
    columns: tuple[tuple[str, str, str], ...] | None = None


def grade_script(
    text: str,
    cases: Sequence[ScriptCase],
    *,
    engine: str = "sqlite",
    schema: str | None = None,
    limits: QueryLimits | None = None,
) -> Verdict:
    """Run statements on a copy of each database and compare what they leave.

    Args:
        text: untrusted text. CREATE, ALTER and DROP are allowed if the cases have ``columns``.
        cases: databases with the expected outcomes. Rows are compared as multisets.
        engine: the engine that runs the statements.
        schema: CREATE TABLE statements of that engine, as in `SqlEngine.load`.
        limits: time limit for all databases together, and maximum rows of each observation.

    Returns:
        The verdict: wrong, with the error, for a statement that is refused, fails, violates a constraint or exceeds the
        limits; ``valid=False`` if the engine failed.

    Raises:
        InputError: the engine is not available, or the databases cannot be loaded.
    """
    limits = limits or QueryLimits()
    left, defines = limits.seconds, cases[0].columns is not None
    try:
        statements = split_script(text, defines)
        for case in cases:
            with contextlib.closing(make_engine(engine).load(case.database, schema)) as loaded:
                script = Script(statements, defines, case.probes)
                found = loaded.run_script(script, replace(limits, seconds=max(left, 0.001)))
            left -= found.seconds
            if case.columns is not None and not same_columns(found.columns, case.columns):
                return WRONG
            for outcome, expected in zip(found.outcomes, case.expected, strict=True):
                if (outcome is None) != (expected is None):
                    return WRONG
                if outcome is not None and expected is not None and not same_rows(outcome, expected, ordered=False):
                    return WRONG
    except TimeoutError:
        return rejected(f"The statements did not finish within {limits.seconds:g} s.")
    except QueryError as error:
        return rejected(str(error))
    except EngineFailure as failure:
        return Verdict(0.0, False, valid=False, feedback=f"The engine {engine!r} failed: {failure}.")
    return CORRECT


def same_columns(found: Sequence[tuple[str, str, str]], expected: Sequence[tuple[str, str, str]]) -> bool:
    """Return True if the columns of a database are the expected ones; ``found`` has types, ``expected`` classes."""
    kinds = {(table.lower(), column.lower()): classify_type(kind) for table, column, kind in found}
    wanted = {(table.lower(), column.lower()): kind for table, column, kind in expected}
    return kinds.keys() == wanted.keys() and all(kind in ("", kinds[name]) for name, kind in wanted.items())


def classify_type(declared: str) -> str:
    """Return the class of a column's type: "whole" or "real" numbers, "text" (also of dates, which SQLite has as text),
    or the type itself in lower case."""
    name = declared.lower()
    if "int" in name or name in ("serial", "bigserial"):
        return "whole"
    if any(part in name for part in ("real", "floa", "doub", "numeric", "decimal")):
        return "real"
    return "text" if any(part in name for part in ("char", "text", "clob", "date", "string")) else name
