"""palaestra/SQLResult-v0: predict the result of a query."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from ...rewards import Verdict
from ...rewards.answers import fenced, program_in
from ...rewards.verifiers.registry import CORRECT, WRONG, rejected
from ...rewards.verifiers.sql import Database, ResultRows, round_floats
from ..code.programs.dice import Dice
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from ..splits import split_of
from .databases.contents import draw_rows, make_database
from .databases.relations import Schema
from .engines import LoadedDatabase, make_engine
from .engines.dialects import translate_query, translate_years
from .outcomes import write_cell
from .queries.query_grammar import draw_query
from .queries.query_plans import draw_plan
from .queries.query_steps import write_steps
from .queries.query_tree import AggregateOf, Query, SelectQuery, SetQuery, is_ordered_query, list_words

# Maximum rows of a result, and number of queries drawn on one database.
_MOST_ROWS, _DRAWS = 8, 8
# A result that is a single number up to this one is rejected, as it is easily guessed.
_SMALL = 50
# Answers may be rounded to two decimals.
_TOLERANCE = 0.005 + 1e-9
_RULE = re.compile(r"\|?[\s:|-]*-[\s:|-]*\|?")


@dataclass(frozen=True, slots=True)
class ResultTask:
    """Data of a task: the query, the database, the query's rows, and the tables as `SqlEngine.load` takes them."""

    query: Query
    database: Database
    rows: ResultRows
    schema: str | None = None


class SQLResult(Question):
    """Predict the result of a query on a small database.

    Description:
        Queries and schemas are those of `TextToSQL`, on tables with few rows. Results have one to eight rows. Results
        that are a single number from 0 to 50, or have no values except 0 and NULL, are excluded.

    Parameters:
        joins (0 to 2, on request up to 3): number of tables joined to the first one.
        nesting (0 to 2): depth of nested queries in the conditions.
        clauses (1 to 4, on request up to 6): number of conditions, aggregates, groupings, sort keys and limits.
        rows (5 to 9, on request 4 to 24): maximum rows of a table.

    Observation:
        All rows of the tables, and the query.

    Actions:
        Text with the rows of the result in a block, one a line, with ``|`` between values (a tab or comma will do, and
        so will a Markdown table); NULL for a missing value.

    Reward:
        1 if the rows are those of the result, with the same multiplicities; 0 otherwise. The order counts if the query
        ends in an ORDER BY. Numbers may be rounded to two decimals; text must be equal except for surrounding quotation
        marks.

    Termination:
        After the first answer.

    Source:
        Execution of queries by a model as in TAPEX (arXiv 2107.07653), asked as CRUXEval (arXiv 2401.03065) asks for
        outputs of programs; databases and queries generated here.

    Args:
        engine: "sqlite", "duckdb" or "postgres", as for `TextToSQL`: the query is in its dialect, and the result comes
            from it.
        **kwargs: as for every environment.
    """

    param_space = ParamSpace(
        [
            IntAxis("joins", 0, 2, limits=(0, 3)),
            IntAxis("nesting", 0, 2),
            IntAxis("clauses", 1, 4, limits=(1, 6)),
            IntAxis("rows", 5, 9, limits=(4, 24)),
        ],
        spread=True,
    )
    default_answer_format = "whole"
    answer_form = "program"
    strips_marks: ClassVar[bool] = False

    def __init__(self, *, engine: str = "sqlite", **kwargs: Any):
        super().__init__(**kwargs)
        self.engine = engine
        self.dialect = make_engine(engine).dialect

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        while True:
            plan = draw_plan(dice, params["joins"], 0, 0)
            drawn = draw_rows(plan.schema, dice.below(1 << 40), most=params["rows"])
            with contextlib.closing(make_database(plan.schema, drawn)) as connection:
                for _ in range(_DRAWS):
                    query = draw_query(dice, plan, drawn, params["clauses"], params["nesting"])
                    # Most draws on few rows fail; the split can be checked before the query is run.
                    if query and self.split != "all" and split_of(list_words(query)) != self.split:
                        continue
                    rows = round_floats(connection.execute(query.sql()).fetchall()) if query else ()
                    if query and _is_hard_to_guess(rows):
                        schema = plan.schema.ddl_for(self.dialect)
                        known = ResultTask(query, Database(image=connection.serialize()), rows, schema)
                        return self._ask(known, plan.schema, drawn)

    def _ask(self, known: ResultTask, schema: Schema, drawn: dict[str, list[tuple[Any, ...]]]) -> Task:
        tables = "\n".join(
            f"{one.name} ({', '.join(field.name for field in one.fields)})\n{_write_rows(drawn[one.name])}"
            for one in schema.relations
        )
        order = "in their order" if is_ordered_query(known.query) else "in any order"
        gold = translate_query(known.query.sql(), self.dialect)
        if self.dialect != "sqlite":
            known = replace(known, rows=self._load(known).query(gold).rows)
        title = make_engine(self.engine).title
        return Task(
            f"{tables}\n\nWhat does this {title} query return?\n{fenced(gold, 'sql')}\nAnswer with its rows in a "
            f"block, one a line, {order}, with | between values, and NULL for a missing value. Numbers may be rounded "
            "to two decimals.",
            reference=known.rows,
            solution=fenced(_write_rows(known.rows), ""),
            split_key=list_words(known.query),
            data=known,
        )

    def gold_query(self, task: Task) -> str:
        """Return the query of a task in the dialect of the engine."""
        return translate_query(task.data.query.sql(), self.dialect)

    def database_of(self, task: Task) -> LoadedDatabase:
        """Return the database that the prompt shows."""
        return self._load(task.data)

    def _load(self, known: ResultTask) -> LoadedDatabase:
        return make_engine(self.engine).load(known.database, known.schema)

    def verify(self, task: Task, answer: str) -> Verdict:
        expected = list(task.data.rows)
        width = len(expected[0])
        found = read_rows(program_in(answer, languages=frozenset({""})))
        if not found or any(len(row) != width for row in found):
            values = "1 value" if width == 1 else f"{width} values"
            return rejected(f"Write one row a line, with {values} in each and | between values.")
        if len(found) != len(expected):
            return WRONG
        for row in found:
            ordered = is_ordered_query(task.data.query)
            match = next((one for one in expected[: 1 if ordered else None] if all(map(_is_value, row, one))), None)
            if match is None:
                return WRONG
            expected.remove(match)
        return CORRECT

    def solution_steps(self, task: Task) -> list[str]:
        """Return one line for each clause, with the number of rows that it leaves."""
        connection = sqlite3.connect(":memory:")
        with contextlib.closing(connection):
            connection.deserialize(task.data.database.image)
            steps = _count_steps(task.data.query, connection)
            return [*(steps if self.dialect == "sqlite" else map(translate_years, steps)), self.oracle(task)]


def _is_hard_to_guess(rows: ResultRows) -> bool:
    if not 0 < len(rows) <= _MOST_ROWS or not any(value for row in rows for value in row):
        return False
    (value, *others), *more = rows
    return bool(more or others) or isinstance(value, str) or not 0 <= value <= _SMALL


def _write_rows(rows: Sequence[tuple[Any, ...]]) -> str:
    return "\n".join(" | ".join(map(write_cell, row)) for row in rows)


def read_rows(text: str) -> list[list[str]]:
    """Read rows: one a line, values separated by ``|``, tabs or commas, without quotation marks. The header of a
    Markdown table is left out."""
    found: list[list[str]] = []
    for line in filter(None, map(str.strip, text.split("\n"))):
        if _RULE.fullmatch(line) and "|" in line:
            found = []
            continue
        if line[0] + line.rstrip(",")[-1] in ("()", "[]"):
            line = line.rstrip(",")[1:-1].rstrip(",")
        if line.startswith("|"):
            line = line.removeprefix("|").removesuffix("|")
        separator = next((mark for mark in "|\t" if mark in line), ",")
        found.append([cell.strip().strip("'\"`") for cell in line.split(separator)])
    return found


def _is_value(cell: str, expected: Any) -> bool:
    if expected is None:
        return cell.lower() in ("null", "none", "")
    if isinstance(expected, str):
        return cell == expected
    with contextlib.suppress(ValueError):
        return abs(float(cell) - expected) <= _TOLERANCE
    return False


def _count_steps(query: Query, connection: sqlite3.Connection) -> Iterator[str]:
    if isinstance(query, SetQuery):
        yield from (f"First side: {line}" for line in _count_steps(query.left, connection))
        yield from (f"Second side: {line}" for line in _count_steps(query.right, connection))
        yield from write_steps(query)[-1 - query.ordered :]
        return
    assert isinstance(query, SelectQuery)
    counted = replace(query, columns=(AggregateOf("COUNT"),), group=(), having=(), order=(), limit=None, distinct=False)
    joins = len(query.joins)
    for place, line in enumerate(write_steps(query)):
        if place <= joins + len(query.where):
            part: SelectQuery = replace(counted, joins=query.joins[:place], where=query.where[: max(place - joins, 0)])
            left = connection.execute(part.sql()).fetchone()[0]
            line = f"{line} {left} {'row is' if left == 1 else 'rows are'} left."
        yield line


register("palaestra/SQLResult-v0", f"{__name__}:SQLResult")
