"""Tools for the database of a question: list its tables, describe one, sample its rows, and run queries.

They work on what ``database_of(task)`` of a family returns, for other questions on a database without tables. Each
output has at most 1,000 characters. Queries can only read; the database stays as it is.
"""

from __future__ import annotations

import contextlib
import json
import re

from ...rewards.answers import program_in
from ...rewards.verifiers.sql import Database
from ..code.judging.outputs import keep_ends
from ..question import Question, Task
from ..tools.tool import TOOLS, Arguments, Tool, ToolResult
from .outcomes import describe_rows, try_query

# Most characters and rows of an output, and most rows of a sample.
SHOWN, SHOWN_ROWS, MOST_SAMPLED = 1_000, 12, 10
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
_EMPTY = Database(schema="PRAGMA user_version = 1;")
_BLOCK = re.compile(r"```[ \t]*(?:sql|sqlite3?)\b[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(sql|tool_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_LIST = re.compile(r"\.?tables|(?:list|show)(?: the)? tables", re.IGNORECASE)
_DESCRIBE = re.compile(r"(?:describe|\.?schema) +(.{1,100})", re.IGNORECASE)
_SAMPLE = re.compile(r"sample +(.{1,100}?)(?: +([0-9]{1,6}))?", re.IGNORECASE)
# What writes is a query as well, and is refused.
_VERBS = "select|with|values|explain|pragma|insert|replace|update|delete|drop|create|alter|attach|detach|vacuum|copy"
_QUERY = re.compile(rf"query\b:?\s*(.*)|((?:{_VERBS})\b.*)", re.IGNORECASE | re.DOTALL)


def database_of(question: Question, task: Task) -> Database:
    """Return the database of a task; one without tables where the family has none."""
    find = getattr(question, "database_of", None)
    return _EMPTY if find is None else find(task)


def list_tables(database: Database) -> list[str]:
    """List the names of the tables in alphabetical order."""
    return [str(name) for (name,) in try_query(_TABLES, database).rows or ()]


def command_in(action: str) -> str:
    """Return the command in a reply: its last block, or else all of it, without a semicolon at its end."""
    return program_in(action, languages=frozenset({"sql", "sqlite", "sqlite3"})).strip().rstrip(";").rstrip()


def _find_table(database: Database, name: str) -> tuple[str | None, str]:
    """Return the table of this name in any case, or None and a sentence that lists the tables."""
    tables = list_tables(database)
    plain = name.strip().strip("\"'`[]")
    found = next((table for table in tables if table.lower() == plain.lower()), None)
    listed = keep_ends(", ".join(tables), 200) or "none"
    return found, "" if found else f"There is no table {plain[:60]!r}; the tables are: {listed}."


def quote_name(name: str) -> str:
    """Write the name of a table or column in quotation marks."""
    return '"' + name.replace('"', '""') + '"'


@TOOLS.register("tables")
class TableLister(Tool):
    """Lists the tables."""

    name = "tables"
    priority = 2
    deed = "use tools"
    usage = "list the tables with their numbers of rows"
    form = "a command"

    def parse(self, action: str) -> Arguments | None:
        return {} if _LIST.fullmatch(command_in(action)) else None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        database = database_of(question, task)
        lines = []
        for table in list_tables(database):
            ((number,),) = try_query(f"SELECT COUNT(*) FROM {quote_name(table)}", database).rows or (("?",),)
            lines.append(f"{table} ({number} {'row' if number == 1 else 'rows'})")
        return ToolResult(keep_ends("\n".join(lines) or "(there are no tables)", SHOWN))


@TOOLS.register("describe")
class TableDescriber(Tool):
    """Describes a table by the statement that made it."""

    name = "describe"
    priority = 2
    deed = "use tools"
    usage = "show the columns of a table"
    form = "a command"

    def parse(self, action: str) -> Arguments | None:
        found = _DESCRIBE.fullmatch(command_in(action))
        return {"table": found[1]} if found else None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        database = database_of(question, task)
        table, error = _find_table(database, arguments["table"])
        if table is None:
            return ToolResult(failed=True, error=error)
        name = table.replace("'", "''")
        rows = try_query(f"SELECT sql FROM sqlite_master WHERE type = 'table' AND name = '{name}'", database).rows
        return ToolResult(keep_ends(str((rows or (("",),))[0][0]), SHOWN))


@TOOLS.register("sample")
class RowSampler(Tool):
    """Shows the first rows of a table."""

    name = "sample"
    priority = 2
    deed = "use tools"
    usage = "show its first 3 rows, or as many as a number behind it says"
    form = "a command"

    def parse(self, action: str) -> Arguments | None:
        found = _SAMPLE.fullmatch(command_in(action))
        return {"table": found[1], "rows": found[2] or "3"} if found else None

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        database = database_of(question, task)
        table, error = _find_table(database, arguments["table"])
        if table is None:
            return ToolResult(failed=True, error=error)
        most = min(max(int(arguments["rows"]), 1), MOST_SAMPLED)
        outcome = try_query(f"SELECT * FROM {quote_name(table)} LIMIT {most}", database)
        return _show(outcome.rows, outcome.error)


@TOOLS.register("sql")
class QueryRunner(Tool):
    """Runs a query in a block of SQL, in the tag <sql>, or in a <tool_call> in JSON.

    Args:
        seconds: CPU time of a query.
    """

    name = "sql"
    priority = 1
    deed = "run SQL"
    usage = (
        "write one query between ```sql and ```, and its first rows come back. It runs on the database of the question."
    )
    form = "a block of SQL"

    def __init__(self, seconds: float = 2.0):
        self.seconds = seconds

    def parse(self, action: str) -> Arguments | None:
        for tag, inner in reversed(_TAG.findall(action)):
            query = inner if tag == "sql" else _read_call(inner)
            if query is not None:
                return {"query": command_in(query)}
        blocks = _BLOCK.findall(action)
        return {"query": blocks[-1].strip()} if blocks else None

    def refuse(self, arguments: Arguments) -> str | None:
        return None if arguments["query"].strip() else "The query is empty; write one."

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        outcome = try_query(arguments["query"], database_of(question, task), seconds=self.seconds)
        return _show(outcome.rows, outcome.error)


@TOOLS.register("query")
class QueryCommand(QueryRunner):
    """Runs a query after the word ``query``, or one that stands alone."""

    name = "query"
    deed = "use tools"
    usage = f"run a query and show its first {SHOWN_ROWS} rows"
    form = "a command"

    def parse(self, action: str) -> Arguments | None:
        found = _QUERY.fullmatch(command_in(action))
        return super().parse(action) if found is None else {"query": found[1] or found[2] or ""}


def _read_call(text: str) -> str | None:
    """Return the query in a call in JSON; None where it is none."""
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        call = json.loads(text)
        query = call["arguments"]["query"]
        if isinstance(query, str):
            return query
    return None


def _show(rows: tuple[tuple[object, ...], ...] | None, error: str) -> ToolResult:
    if rows is None:
        return ToolResult(failed=True, error=error)
    return ToolResult(keep_ends(describe_rows(rows, SHOWN_ROWS), SHOWN))
