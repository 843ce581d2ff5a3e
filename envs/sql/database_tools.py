"""Tools for the database of a question: list its tables, search them, describe one, sample its rows, and run queries.

They work on the database that a family's ``database_of(task)`` returns; other questions get an empty database. Each
output has at most 1,000 characters. Queries are read-only.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.sql import Database
from ..code.judging.outputs import keep_ends
from ..question import Question, Task
from ..tools.tool import TOOLS, Arguments, Tool, ToolResult
from .engines import EngineFailure, LoadedDatabase, make_engine
from .engines.tables import quote
from .outcomes import QueryOutcome, draw_table, try_query

# Maximum characters and rows of an output, and maximum rows of a sample.
SHOWN, SHOWN_ROWS, MOST_SAMPLED = 1_000, 12, 10
# Tables listed at a time, and lines of a search.
PAGE, FOUND = 20, 12
# Maximum characters of a line of a search.
_LONGEST_LINE = 120
_TABLES = (
    "SELECT name, sql FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY rowid"
)
_EMPTY = Database(schema="PRAGMA user_version = 1;")
_BLOCK = re.compile(r"```[ \t]*(?:sql|sqlite3?)\b[ \t]*\r?\n?(.*?)(?:```|\Z)", re.DOTALL | re.IGNORECASE)
_TAG = re.compile(r"<(sql|tool_call)>(.*?)(?:</\1>|\Z)", re.DOTALL)
_LIST = re.compile(r"(?:\.?tables|(?:list|show)(?: the)? tables)(?: +([0-9]{1,6}))?", re.IGNORECASE)
_SEARCH = re.compile(r"(?:search|find) +(.{1,100})", re.IGNORECASE)
# A comment, a string or quoted name, or a sign that separates columns; anything else.
_PART = re.compile(
    r"""/\*.*?\*/|--[^\n]*|'(?:[^']|'')*'|"[^"]*"|`[^`]*`|\[[^\]]*\]|[(),]|[^-/'"`\[(),]+|.""", re.DOTALL
)
_DESCRIBE = re.compile(r"(?:describe|\.?schema) +(.{1,100})", re.IGNORECASE)
_SAMPLE = re.compile(r"sample +(.{1,100}?)(?: +([0-9]{1,6}))?", re.IGNORECASE)
_TABLE = {"type": "string", "description": "name of the table"}
# Statements that write are recognised as queries too, and then refused.
_VERBS = "select|with|values|explain|pragma|insert|replace|update|delete|drop|create|alter|attach|detach|vacuum|copy"
_QUERY = re.compile(rf"query\b:?\s*(.*)|((?:{_VERBS})\b.*)", re.IGNORECASE | re.DOTALL)


def database_of(question: Question, task: Task) -> LoadedDatabase:
    """Return the database of a task in its engine, or an empty database in SQLite if the family has none."""
    find = getattr(question, "database_of", None)
    return make_engine("sqlite").load(_EMPTY) if find is None else find(task)


def describe_tables(database: LoadedDatabase) -> dict[str, str]:
    """Map the name of each table and view to its CREATE statement in the engine, in alphabetical order."""
    made = try_query(_TABLES, database.database).rows or ()
    lines = [sql for _, sql in made] if database.schema is None else database.schema.split("\n")
    return dict(sorted((str(name), str(line).rstrip(";")) for (name, _), line in zip(made, lines)))


def split_columns(statement: str) -> list[str]:
    """Split a CREATE TABLE statement into its columns and constraints, each with its comment, on one line each."""
    columns, depth = [""], 0
    for part in _PART.findall(statement):
        depth -= part == ")"
        if depth > 0 and not (part == "," and depth == 1):
            columns[-1] += part
        elif part == ",":
            columns.append("")
        depth += part == "("
    return [" ".join(column.split()) for column in columns if column.strip()]


def command_in(action: str) -> str:
    """Return the command in a reply: its last block, or else the whole reply, without a final semicolon."""
    return program_in(action, languages=frozenset({"sql", "sqlite", "sqlite3"})).strip().rstrip(";").rstrip()


class DatabaseTool(Tool):
    """Base of tools that inspect the database of the question. A subclass implements `look`."""

    priority = 2
    deed = "use tools"
    form = "a command"

    def run(self, arguments: Arguments, question: Question, task: Task) -> ToolResult:
        try:
            return self.look(arguments, database_of(question, task))
        except EngineFailure:
            return ToolResult(valid=False)

    def look(self, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        """Run the call and return its result. If this raises `EngineFailure`, the call does not count."""
        raise NotImplementedError(f"{type(self).__name__} must implement look(arguments, database).")


class TableTool(DatabaseTool):
    """Base of tools that show the table named by the argument "table". A subclass implements `show`."""

    def look(self, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        tables = describe_tables(database)
        plain = arguments["table"].strip().strip("\"'`[]")
        name = next((table for table in tables if table.lower() == plain.lower()), None)
        if name is None:
            listed = keep_ends(", ".join(tables), 200) or "none"
            return ToolResult(failed=True, error=f"There is no table {plain[:60]!r}; the tables are: {listed}.")
        return self.show(name, tables[name], arguments, database)

    def show(self, name: str, statement: str, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        """Show the table of this name; ``statement`` is its CREATE TABLE statement."""
        raise NotImplementedError(f"{type(self).__name__} must implement show(name, statement, arguments, database).")


@TOOLS.register("tables")
class TableLister(DatabaseTool):
    """Lists the tables."""

    name = "tables"
    usage = f"list the tables with their numbers of rows, {PAGE} on a page"
    parameters: ClassVar = {"page": {"type": "integer", "description": "which page; 1 if left out"}}
    optional = ("page",)

    def write(self, arguments: Mapping[str, Any]) -> str:
        return fenced(f"tables {arguments['page']}" if "page" in arguments else "tables", "")

    def parse(self, action: str) -> Arguments | None:
        found = _LIST.fullmatch(command_in(action))
        return None if found is None else {"page": found[1]} if found[1] else {}

    def look(self, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        tables = list(describe_tables(database))
        pages = max(-(-len(tables) // PAGE), 1)
        page = min(max(int(arguments.get("page", 1)), 1), pages)
        lines = [f"Page {page} of {pages}, {len(tables)} tables in all:"] if pages > 1 else []
        for table in tables[PAGE * (page - 1) : PAGE * page]:
            ((number,),) = try_query(f"SELECT COUNT(*) FROM {quote(table)}", database).rows or (("?",),)
            lines.append(f"{table} ({number} {'row' if number == 1 else 'rows'})")
        return ToolResult(keep_ends("\n".join(lines) or "(there are no tables)", SHOWN))


@TOOLS.register("search_schema")
class SchemaSearcher(DatabaseTool):
    """Searches the names of tables and columns, and the comments beside them."""

    name = "search_schema"
    usage = f"find tables and columns by words in their names, types or comments, at most {FOUND}"
    parameters: ClassVar = {"word": {"type": "string", "description": "a word or a part of one, or several"}}

    def write(self, arguments: Mapping[str, Any]) -> str:
        return fenced(f"search {arguments['word']}", "")

    def parse(self, action: str) -> Arguments | None:
        found = _SEARCH.fullmatch(command_in(action))
        return {"word": found[1]} if found else None

    def look(self, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        words = arguments["word"].strip("\"'`").lower().split()
        lines = []
        for table, statement in describe_tables(database).items():
            columns = split_columns(statement)
            comment = " ".join(re.findall(r"/\*.*?\*/", statement.partition("(")[0]))
            named = f"{table} {comment}".lower()
            if all(word in named for word in words):
                lines.append(f"{table} ({len(columns)} columns) {comment}".rstrip())
            matches = [one for one in columns if all(word in f"{named} {one.lower()}" for word in words)]
            # A word of the table's name alone does not make all its columns matches.
            lines += [f"{table}: {one}" for one in matches if any(word in one.lower() for word in words)]
        if not lines:
            return ToolResult(f"No table, column or comment has {' and '.join(map(repr, words))[:100]}.")
        head = f"{len(lines)} matches, the first {FOUND}:\n" if len(lines) > FOUND else ""
        shown = (line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 3]}..." for line in lines[:FOUND])
        return ToolResult(keep_ends(head + "\n".join(shown), SHOWN))


@TOOLS.register("describe")
class TableDescriber(TableTool):
    """Describes a table by its CREATE TABLE statement."""

    name = "describe"
    usage = "show the columns of a table"
    parameters: ClassVar = {"table": _TABLE}

    def write(self, arguments: Mapping[str, Any]) -> str:
        return fenced(f"describe {arguments['table']}", "")

    def parse(self, action: str) -> Arguments | None:
        found = _DESCRIBE.fullmatch(command_in(action))
        return {"table": found[1]} if found else None

    def show(self, name: str, statement: str, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        return ToolResult(keep_ends(statement, SHOWN))


@TOOLS.register("sample")
class RowSampler(TableTool):
    """Shows the first rows of a table."""

    name = "sample"
    usage = f"show its first N rows, at most {MOST_SAMPLED}; 3 without N"
    purpose = f"show the first rows of a table, at most {MOST_SAMPLED}; 3 without a number"
    parameters: ClassVar = {"table": _TABLE, "rows": {"type": "integer", "description": "how many rows"}}
    optional = ("rows",)

    def write(self, arguments: Mapping[str, Any]) -> str:
        return fenced(f"sample {arguments['table']} {max(arguments.get('rows', 3), 0)}", "")

    def parse(self, action: str) -> Arguments | None:
        found = _SAMPLE.fullmatch(command_in(action))
        return {"table": found[1], "rows": found[2] or "3"} if found else None

    def show(self, name: str, statement: str, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        most = min(max(int(arguments["rows"]), 1), MOST_SAMPLED)
        return _show_outcome(try_query(f"SELECT * FROM {quote(name)} LIMIT {most}", database))


@TOOLS.register("sql")
class QueryRunner(DatabaseTool):
    """Runs a query in a block of SQL, in the tag <sql>, or in a <tool_call> in JSON.

    Args:
        seconds: time limit of a query, as in `QueryLimits`.
    """

    name = "sql"
    priority = 1
    deed = "run SQL"
    usage = (
        "write one query between ```sql and ```, and its first rows come back. It runs on the database of the question."
    )
    form = "a block of SQL"
    purpose = "run a query on the database of the question and return its first rows"
    parameters: ClassVar = {"query": {"type": "string", "description": "one query in SQL"}}

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

    def look(self, arguments: Arguments, database: LoadedDatabase) -> ToolResult:
        return _show_outcome(try_query(arguments["query"], database, seconds=self.seconds))


@TOOLS.register("query")
class QueryCommand(QueryRunner):
    """Runs a query, with or without the word ``query`` before it."""

    name = "query"
    deed = "use tools"
    usage = f"run a query and show its first rows, at most {SHOWN_ROWS}"
    form = "a command"
    purpose = usage

    def parse(self, action: str) -> Arguments | None:
        found = _QUERY.fullmatch(command_in(action))
        return super().parse(action) if found is None else {"query": found[1] or found[2] or ""}


def _read_call(text: str) -> str | None:
    """Return the query in a JSON call; None if the text is no such call."""
    with contextlib.suppress(ValueError, TypeError, KeyError, RecursionError):
        call = json.loads(text)
        query = call["arguments"]["query"]
        if isinstance(query, str):
            return query
    return None


def _show_outcome(outcome: QueryOutcome) -> ToolResult:
    if outcome.rows is None:
        return ToolResult(failed=True, error=outcome.error)
    return ToolResult(draw_table(outcome.columns, outcome.rows, SHOWN_ROWS, SHOWN))
