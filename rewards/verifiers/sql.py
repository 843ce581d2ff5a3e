"""Verifier "sql": a query is right if it has the same result as the gold query on one or more small databases.

Execution match as in Reasoning-SQL (arXiv 2503.23157); its shaped parts are in `sql_similarity.py`. The query is
untrusted: it runs on a database that it cannot change, with all actions denied except reading, and with bounds on time,
rows, the length of any value and the size of the result. sqlite is part of Python, so no further package is needed.
"""

from __future__ import annotations

import math
import re
import sqlite3
import sys
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

from ...checks import check_count, check_number
from ...errors import InputError
from ..verdict import Verdict
from .json_text import strip_code_fence
from .registry import CORRECT, VERIFIERS, WRONG, rejected
from .sql_order import break_ties, is_ordered

MAX_LENGTH = 20_000
# A function such as replace() cannot be interrupted, and its time grows with the product of its arguments' lengths.
MAX_VALUE = 100_000
# Largest result, in bytes of Python objects of all rows together.
MAX_RESULT = 32_000_000
OPERATIONS_BETWEEN_LOOKS = 100
# Total size of the databases cached for scripts, in bytes.
MAX_CACHED = 64_000_000
# Sums of the same numbers in another order differ in the last digits of a double.
SIGNIFICANT_DIGITS = 12

ResultRows = tuple[tuple[Any, ...], ...]
_IMAGES: OrderedDict[str, bytes] = OrderedDict()
_IMAGES_LOCK = threading.Lock()
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
# The json aggregates check the limit on a value's length only at their end, after they have allocated the memory.
DENIED_FUNCTIONS = {
    *("load_extension", "fts3_tokenizer", "sqlite_compileoption_get", "sqlite_compileoption_used"),
    *("json_group_array", "json_group_object", "jsonb_group_array", "jsonb_group_object"),
}
# A conversion that repeats a character, and how often: "%.9c", "%.*c". SQLite does so within one operation, whatever
# the limits on time and on the length of a value.
_FORMATS = re.compile(r"printf|format", re.IGNORECASE)
_REPEATED = re.compile(r"%[^%A-Za-z]*\.([^%A-Za-z]*)l*c")


class QueryError(ValueError):
    """Error for a query without a result; the message is one sentence for the agent."""


@dataclass(frozen=True)
class Database:
    """Database of a query, given by exactly one of three sources.

    Args:
        schema: script of CREATE and INSERT statements; run once in memory, and the result is cached.
        path: a file of sqlite, opened for reading only; it must not change during the query.
        image: bytes as returned by ``sqlite3.Connection.serialize``.
    """

    schema: str | None = None
    path: str | None = None
    image: bytes | None = None


@dataclass(slots=True)
class OperationCounter:
    """Count of the operations of SQLite's virtual machine in a query: the same whenever the query runs on the same
    database and release of SQLite.

    Args:
        limit: most operations; the query is stopped soon after.
        count: operations so far, in steps of `STEP`.
    """

    STEP: ClassVar[int] = 1_000
    limit: float = math.inf
    count: int = 0


@VERIFIERS.register("sql")
def verify_sql(
    answer: str,
    reference: Mapping[str, Any],
    *,
    seconds: float = 2.0,
    max_rows: int = 10_000,
    allow_empty: bool = False,
) -> Verdict:
    """Check that the query ``answer`` has the result of the gold query, on each database.

    Rows are compared in order if the gold query has an ORDER BY at its top level (which should then order totally), and
    otherwise as multisets, so that duplicates count. Columns are compared by position and not by name, floats to 12
    significant digits; 1 = 1.0, but not '1'.

    Args:
        answer: one SELECT (WITH, VALUES), bare or in a code fence. Statements that write, attach, set a pragma or load
            an extension are refused, as are json_group_array and json_group_object. A query that fails, or has a
            result of over 32 MB, is malformed.
        reference: ``{"schema": SQL script, "gold": query}``, or ``{"database": path of a file, "gold": query}``;
            instead of one script, a list of scripts for as many databases. With a list, ``"tied": [places]`` names
            databases on which an order must hold whichever way ties are broken, as in `compare_results`.
        seconds: CPU time that a query may take on all databases together. An answer that takes more is malformed, as
            the query itself is the cause.
        max_rows: most rows of a result; an answer with more is malformed.
        allow_empty: accept a gold query that has no rows on any database. By default such a query is an error, as
            ``SELECT 1 WHERE 0`` would match it.

    Returns:
        A verdict, with ``valid=False`` if the gold query did not finish in time.

    Raises:
        InputError: the reference has another form, its script or gold query fails, the result of the gold query has no
            rows or too many, or a bound is out of range.
    """
    check_number("seconds of the sql verifier", seconds, low=0.001)
    check_count("max_rows of the sql verifier", max_rows, low=1)
    databases, gold = read_reference(reference)
    expected = []
    for database in databases:
        try:
            # A file may change between two calls, so only results on a script's database are cached.
            run_gold = _gold_rows if database.path is None else _gold_rows.__wrapped__
            expected.append((database, run_gold(database, gold, seconds, max_rows)))
        except TimeoutError:
            return Verdict(0.0, False, valid=False, feedback="The gold query did not finish in time.")
    if not allow_empty and not any(rows for _, rows in expected):
        raise InputError(
            f"the gold query {gold[:100]!r} has no rows, which every empty result would match; "
            "choose another, or pass allow_empty=True."
        )
    tied = [expected[place] for place in reference.get("tied", ())]
    query = strip_code_fence(answer)
    return compare_results(query, expected, tied=tied, ordered=is_ordered(gold), seconds=seconds, max_rows=max_rows)


def compare_results(
    query: str,
    expected: Sequence[tuple[Database, ResultRows]],
    *,
    ordered: bool,
    tied: Sequence[tuple[Database, ResultRows]] = (),
    seconds: float = 2.0,
    max_rows: int = 10_000,
    run: Callable[[str, Database, float, int], tuple[ResultRows, float]] | None = None,
) -> Verdict:
    """Check that a query has the expected rows on each of several databases, by the rules of `verify_sql`.

    Args:
        query: untrusted text.
        expected: (database, rows of a right query), as `run_query` returns them; the cheapest database first, as the
            comparison ends at the first difference.
        ordered: True if the order of the rows counts.
        tied: those pairs of ``expected`` on which the query must have the expected rows both ways: with the rows that
            its ORDER BY leaves tied as they are found, and reversed (`break_ties`), so that no order is right by
            accident. The gold query must leave no ties there.
        seconds: CPU time on all databases together.
        max_rows: most rows of a result.
        run: function (query, database, remaining seconds, ``max_rows``) -> (rows, seconds taken); it may raise the
            exceptions of `run_query`, which is the default.
    """
    run, left = run or _run_timed, seconds
    both = break_ties(query) if tied else None
    runs = [(query, *one) for one in expected if both is None or one not in tied]
    runs += [(text, *one) for one in tied for text in both or ()]
    for text, database, rows in runs:
        try:
            try:
                found, taken = run(text, database, max(left, 0.0), max_rows)
            except QueryError:
                if text == query:
                    raise
                # A query of a form that cannot be written so.
                found, taken = run(query, database, max(left, 0.0), max_rows)
        except TimeoutError:
            return rejected(f"The query did not finish within {seconds:g} s.")
        except QueryError as error:
            return rejected(str(error))
        left -= taken
        if not same_rows(found, rows, ordered):
            return WRONG
    return CORRECT


def _run_timed(query: str, database: Database, seconds: float, max_rows: int) -> tuple[ResultRows, float]:
    start = time.thread_time()
    return run_query(query, database, seconds=seconds, max_rows=max_rows), time.thread_time() - start


def same_rows(one: ResultRows, other: ResultRows, ordered: bool) -> bool:
    """Return True if two results are equal: duplicates count, the order of the rows only if ``ordered``."""
    if one == other:
        return True
    return not ordered and len(one) == len(other) and Counter(one) == Counter(other)


def executes(query: str, database: Database, *, seconds: float = 2.0, max_rows: int = 10_000) -> bool:
    """Return True if ``query`` only reads and runs without error and within the bounds: Reasoning-SQL's syntax term."""
    try:
        run_query(query, database, seconds=seconds, max_rows=max_rows)
    except (QueryError, TimeoutError):
        return False
    return True


def run_query(query: str, database: Database, *, seconds: float = 2.0, max_rows: int = 10_000) -> ResultRows:
    """Run a query on a read-only database and return its rows, with floats rounded to 12 significant digits. Raises the
    exceptions of `read_result`."""
    return round_floats(read_result(query, database, seconds=seconds, max_rows=max_rows)[1])


def read_result(
    query: str,
    database: Database,
    *,
    seconds: float = 2.0,
    max_rows: int = 10_000,
    memory_mb: int | None = None,
    counter: OperationCounter | None = None,
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """Run a query on a read-only database and return the names of its columns, and its rows.

    Args:
        query: untrusted text.
        database: the database, opened for this query.
        seconds: CPU time that the query may take.
        max_rows: most rows.
        memory_mb: bound on the memory that sqlite takes in this whole process, MiB, from now on (it cannot be raised
            again); also keeps intermediate results out of files. For worker processes.
        counter: counts the operations of the query, and has a limit for them.

    Raises:
        QueryError: the text is not a single reading statement, it fails, or its result has more than ``max_rows`` rows
            or more than 32 MB.
        TimeoutError: the query took more than ``seconds`` of CPU time, or more operations than the counter's limit.
        InputError: the database cannot be made or opened.
    """
    if len(query) > MAX_LENGTH:
        raise QueryError(f"The query is longer than {MAX_LENGTH:,} characters.")
    connection = open_database(database)
    deadline = time.thread_time() + seconds
    limit = math.inf if counter is None else counter.limit

    def is_over() -> bool:
        if counter is not None:
            counter.count += counter.STEP
            if counter.count > limit:
                return True
        return time.thread_time() > deadline

    try:
        if memory_mb is not None:
            connection.execute("PRAGMA temp_store = MEMORY")
            connection.execute(f"PRAGMA hard_heap_limit = {memory_mb << 20}")
        guard_formats(connection, query)
        connection.set_authorizer(_authorize)
        connection.set_progress_handler(is_over, OPERATIONS_BETWEEN_LOOKS if counter is None else counter.STEP)
        cursor = connection.execute(query)
        rows = fetch_rows(cursor, max_rows)
        if cursor.description is None:
            raise QueryError("The text is no query.")
    except QueryError:
        raise
    except (sqlite3.Error, sqlite3.Warning, ValueError, OverflowError, MemoryError) as error:
        if counter is not None and counter.count > limit:
            raise TimeoutError(f"the query took more than {limit:,} operations") from None
        if time.thread_time() > deadline:
            raise TimeoutError(f"the query took more than {seconds:g} s") from None
        reason = " ".join(str(error).split())[:120].rstrip(".") or "out of memory"
        reason = reason.replace("user-defined function raised exception", "printf cannot write this")
        raise QueryError(f"The query fails: {reason}.") from None
    finally:
        connection.close()
    return tuple(name for name, *_ in cursor.description), rows


def fetch_rows(cursor: Iterable[tuple[Any, ...]], max_rows: int) -> list[tuple[Any, ...]]:
    """Collect the rows of a result. Raises QueryError if there are more than ``max_rows``, or more than 32 MB."""
    rows: list[tuple[Any, ...]] = []
    size = 0
    for row in cursor:
        if len(rows) == max_rows:
            raise QueryError(f"The query has more than {max_rows:,} rows.")
        size += sum(map(sys.getsizeof, row))
        if size > MAX_RESULT:
            raise QueryError(f"The result of the query is larger than {MAX_RESULT // 1_000_000} MB.")
        rows.append(row)
    return rows


def round_floats(rows: Sequence[tuple[Any, ...]]) -> ResultRows:
    """Round the floats of a result to 12 significant digits, as comparisons do."""
    return tuple(
        tuple(float(f"{one:.{SIGNIFICANT_DIGITS}g}") if isinstance(one, float) else one for one in row) for row in rows
    )


def _authorize(action: int, first: str | None, second: str | None, *_: Any) -> int:
    denied = action not in _ALLOWED or (action == sqlite3.SQLITE_FUNCTION and str(second).lower() in DENIED_FUNCTIONS)
    return sqlite3.SQLITE_DENY if denied else sqlite3.SQLITE_OK


def guard_formats(connection: sqlite3.Connection, query: str) -> None:
    """Replace printf by one that refuses long repetitions, on a connection that runs ``query``."""
    if _FORMATS.search(query):
        for name in ("printf", "format"):
            connection.create_function(name, -1, _format, deterministic=True)


def _format(*values: Any) -> Any:
    """Format values as SQLite's printf does. Raises ValueError if a format repeats a character more often than a value
    may be long, or takes the number of repetitions from an argument."""
    form = values[0] if values else None
    left = MAX_VALUE
    for often in _REPEATED.findall(form.decode("latin-1") if isinstance(form, bytes) else str(form)):
        if not (often.isascii() and often.isdigit()) or (left := left - int(often)) < 0:
            raise ValueError("a character is repeated too often")
    connection = sqlite3.connect(":memory:")
    try:
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
        return connection.execute(f"SELECT printf({', '.join('?' * len(values))})", values).fetchone()[0]
    finally:
        connection.close()


def open_database(database: Database) -> sqlite3.Connection:
    if database.path is not None:
        if not Path(database.path).is_file():
            raise InputError(f"there is no database file {database.path!r}.")
        uri = f"{Path(database.path).absolute().as_uri()}?mode=ro&immutable=1"
        connection = sqlite3.connect(uri, uri=True, check_same_thread=False)
        try:
            connection.execute("SELECT 1 FROM sqlite_master LIMIT 1")
        except sqlite3.Error as error:
            connection.close()
            raise InputError(f"{database.path!r} is no database that sqlite can read: {error}.") from None
    else:
        image = _image(database.schema or "") if database.image is None else database.image
        connection = sqlite3.connect(":memory:", check_same_thread=False)
        connection.deserialize(image)
    # Text in a database may be invalid UTF-8; this decoding keeps different bytes different.
    connection.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_VALUE)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500)
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.execute("PRAGMA query_only = ON")
    return connection


def _image(schema: str) -> bytes:
    """Return the database that a script makes, as bytes, so that each query runs on a fresh copy. The last ones are
    cached, up to `MAX_CACHED` bytes."""
    with _IMAGES_LOCK:
        if schema in _IMAGES:
            _IMAGES.move_to_end(schema)
            return _IMAGES[schema]
    image = _make_image(schema)
    with _IMAGES_LOCK:
        _IMAGES[schema] = image
        while len(_IMAGES) > 1 and sum(map(len, _IMAGES.values())) > MAX_CACHED:
            _IMAGES.popitem(last=False)
    return image


def _make_image(schema: str) -> bytes:
    connection = sqlite3.connect(":memory:")
    try:
        connection.executescript(schema)
        connection.commit()
        return connection.serialize()
    except (sqlite3.Error, sqlite3.Warning, ValueError) as error:
        raise InputError(f"the schema of the sql verifier fails in sqlite: {error}.") from None
    finally:
        connection.close()


@lru_cache(maxsize=64)
def _gold_rows(database: Database, query: str, seconds: float, max_rows: int) -> ResultRows:
    try:
        return run_query(query, database, seconds=seconds, max_rows=max_rows)
    except QueryError as error:
        raise InputError(f"the gold query of the sql verifier cannot be used. {error}") from None


def read_reference(reference: Any) -> tuple[list[Database], str]:
    """Return the databases and the gold query of a reference of `verify_sql`. Raises InputError for another form."""
    keys = set(reference) if isinstance(reference, Mapping) else set()
    if keys - {"tied"} in ({"schema", "gold"}, {"database", "gold"}) and isinstance(gold := reference["gold"], str):
        if isinstance(path := reference.get("database"), (str, Path)) and "tied" not in keys:
            return [Database(path=str(path))], gold
        scripts, tied = reference.get("schema"), reference.get("tied", ())
        scripts: Any = [scripts] if isinstance(scripts, str) else scripts
        are_lists = isinstance(scripts, (list, tuple)) and isinstance(tied, (list, tuple))
        is_whole = are_lists and scripts and all(isinstance(one, str) for one in scripts)
        if is_whole and all(one in range(len(scripts)) for one in tied):
            return [Database(schema=script) for script in scripts], gold
    raise InputError(
        "the sql verifier needs {'schema': SQL script, or a list of them, perhaps 'tied': places in it, 'gold': query} "
        f"or {{'database': path, 'gold': query}} as reference, not {reference!r:.200}."
    )
