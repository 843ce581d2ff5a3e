"""Text to SQL, on databases and with questions generated from a seed."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ...rewards import Verdict
from ...rewards.answers import MAX_PROGRAM, fenced, query_in
from ...rewards.verifiers.sql import Database
from ..code.programs.dice import Dice
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from ..splits import split_of
from ..task_env import TaskEnv
from .databases.contents import Rows, draw_rows, format_row, make_database, tidy_rows
from .databases.domains import read_domains
from .databases.large_contents import write_large_script
from .databases.relations import Schema
from .engines import LoadedDatabase, QueryLimits, grade_query, make_engine
from .engines.dialects import translate_query, translate_years
from .engines.large_grading import FACTOR, grade_large
from .queries.constructs import check_constructs, draw_with, prepare_plan
from .queries.query_grammar import draw_query
from .queries.query_plans import Plan, draw_plan
from .queries.query_steps import write_steps
from .queries.query_tree import Query, count_matches, find_tables, is_ordered_query, list_words
from .queries.slow_forms import has_slow_form
from .queries.witnesses import Witnesses, find_witnesses
from .queries.wording import STYLES, write_question

# Number of queries drawn on one database, and number of queries for which witnesses are sought.
_DRAWS, _TRIES = 8, 10
# Databases drawn before a request for a construct is refused.
_PLANS = 1000
# Maximum rows of a result, and minimum rows that meet the conditions.
_MOST_ROWS, _FEWEST_MATCHES = 40, 3
REQUEST = (
    "Answer with one {engine} query. It must return exactly these columns in this order, and be right for any contents "
    "of the tables. Round nothing; years are integers; aggregates skip NULL, and without values are NULL (counts: 0)."
)
SHORT_REQUEST = "Answer with one {engine} query."
SLOW_REQUEST = (
    " The tables may have {rows:,} rows, and no index except on their keys: a query that takes over {factor} times as "
    "long as a plain one is refused."
)
# Rows of the largest table that may be asked for.
LEAST_LARGE, MOST_LARGE = 1_000, 100_000


@dataclass(frozen=True, slots=True)
class QueryTask:
    """Data of a task.

    Args:
        plan: the schema, and the joined tables.
        seed: seed of the contents of the first database.
        query: the reference query.
        witnesses: databases, with the query's results.
    """

    plan: Plan
    seed: int
    query: Query
    witnesses: Witnesses


class TextToSQL(Question):
    """Write a query that answers a question about a database.

    Description:
        A schema of one of nine domains (a shop, a hospital, a league, ...), a few of its rows, and a question. The
        query is run on several databases with this schema, which are chosen so that queries with one mistake (a join,
        a bound, NULL, DISTINCT, an aggregate, the order, a column, ...) have another result on at least one of them.
        With more tables than a domain has, several domains share the database, and tables have twins with names such as
        ``archived_sale``.

    Parameters:
        joins (0 to 2, on request up to 3): number of tables joined to the first one.
        tables (0 to 2, on request up to 40): number of further tables of the database.
        nesting (0 to 2): depth of nested queries in the conditions.
        wording (names, phrases): whether the question uses the names of tables and columns, or English words for them.
        clauses (1 to 4, on request up to 6): number of conditions, aggregates, groupings, sort keys and limits.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.

    Observation:
        CREATE TABLE statements with sample rows in comments, and a question such as ``For every sale whose product's
        price is at least 12, give its quantity and its store's name.``

    Actions:
        Text with one query, best in a block ```` ```sql ````. It is read-only: a query that writes, attaches, sets a
        pragma or takes too long is refused with an error.

    Reward:
        1 if the query has the right result on every database, 0 otherwise. Rows are compared with multiplicities, and
        in order if the question asks for one: by an outermost ORDER BY that leaves no ties, so that no row stands in
        its place by accident. Columns are compared by position, not by name; numbers at 12 significant digits, 1 = 1.0,
        but not '1'.

    Termination:
        After the first answer.

    Source:
        The task of Spider (arXiv 1809.08887), judged on several databases as in "Semantic Evaluation for Text-to-SQL
        with Distilled Test Suites" (arXiv 2010.02840); schemas, data and questions generated here.

    Args:
        engine: "sqlite", "duckdb" or "postgres", the engine that runs answers; the tasks are the same, but ask for the
            engine's dialect. The latter two need palaestra[sql], and PostgreSQL a server: an installed one is started,
            or PALAESTRA_POSTGRES names one (``host=localhost user=postgres password=...``).
        seconds: time limit of an answer on all databases together, in processor time except for PostgreSQL.
        sample_rows: rows of each table shown in the prompt.
        domains: names of the domains of databases, such as ("shop",); empty for all.
        constructs: further constructs, of which each query has one, as a sequence or with commas between them:
            "arithmetic" (between columns, also in aggregates), "case" (labels by CASE), "columns" (two compared),
            "contains" (LIKE with a part), "having" (groups compared with an average of all rows), "sets" (a set
            operation on two columns), "window" (a running sum, or the value of the row before), "self" (rows compared
            with others of their table), "children" (aggregates of the children of a row in two tables), "recursive"
            (all rows below another, months without gaps), "view" (the schema has a view), "note" (a note defines a
            word, number, season or code), "dirty" (values to be tidied); empty for none. "self", "children",
            "recursive" and views with totals have joins of their own, and the axes "joins" and "tables" then give the
            number of tables of the database.
        rows: with a number of 1,000 to 100,000, queries that have a right but slow form (aggregates of groups, ranks,
            running sums, rows of other tables) are asked for, and an answer that is right on all databases is also run
            on one with so many rows in its largest table. A slow answer, with over 20 times the operations of the
            reference query (engines other than SQLite: 20 times its time, at least 1 s), is refused. None for small
            databases only.
        prompt: as for every environment, or "compact" for models with a short context: a line such as ``sale(sale_id,
            product_id -> product, quantity)`` for each table, without types and rows, and the request in five words.
    """

    param_space = ParamSpace(
        [
            IntAxis("joins", 0, 2, limits=(0, 3)),
            IntAxis("tables", 0, 2, limits=(0, 40)),
            IntAxis("nesting", 0, 2),
            ChoiceAxis("wording", STYLES),
            IntAxis("clauses", 1, 4, limits=(1, 6)),
            IntAxis("noise", 0, 2, limits=(0, 4)),
        ],
        spread=True,
    )
    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    prompts = (*TaskEnv.prompts, "compact")
    supplies = frozenset({"sql_reference"})

    def __init__(
        self,
        *,
        engine: str = "sqlite",
        seconds: float = 2.0,
        sample_rows: int = 2,
        domains: Sequence[str] = (),
        constructs: Sequence[str] = (),
        rows: int | None = None,
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.engine = engine
        self.dialect = make_engine(engine).dialect
        request = SHORT_REQUEST if self.prompt == "compact" else REQUEST
        self.request = request.format(engine=make_engine(engine).title)
        self.rows = None if rows is None else check_count("rows", rows, LEAST_LARGE, high=MOST_LARGE)
        if rows is not None:
            self.request += SLOW_REQUEST.format(rows=rows, factor=FACTOR)
        self.domains = tuple([domains] if isinstance(domains, str) else domains)
        for name in self.domains:
            check_choice("domain", name, [domain.domain for domain in read_domains()])
        self.constructs = check_constructs(constructs)
        if rows is not None and "dirty" in self.constructs:
            raise InputError(
                "rows= cannot be asked for with the construct 'dirty': large tables have tidy values only."
            )
        self.seconds = check_number("seconds", seconds, low=0.01)
        self.sample_rows = check_count("sample_rows", sample_rows, low=0)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        best: QueryTask | None = None
        rows: Rows = {}
        tries = 0
        plans = 0
        while best is None or (tries < _TRIES and not best.witnesses.is_good):
            plans += 1
            if best is None and plans > _PLANS:
                needs = (*self.constructs, *(("a slow form",) if self.rows else ()))
                raise InputError(f"no query of {self.domains or 'any domain'} with {params} has {needs}.")
            construct = dice.one(self.constructs) if self.constructs else ""
            drawn_plan = draw_plan(dice, params["joins"], params["tables"], params["noise"], self.domains)
            if (plan := prepare_plan(dice, drawn_plan, construct)) is None:
                continue
            seed = dice.below(1 << 40)
            drawn = draw_rows(plan.schema, seed)
            with contextlib.closing(make_database(plan.schema, drawn)) as connection:
                query = self._draw_good_query(dice, plan, drawn, connection, params, construct)
                if query is None:
                    continue
                tries += 1
                witnesses = find_witnesses(query, plan.schema, drawn, connection, seed)
            if best is None or len(witnesses.survivors) < len(best.witnesses.survivors):
                best, rows = QueryTask(plan, seed, query, witnesses), drawn
        plan, query = best.plan, best.query
        question = write_question(query, plan.schema, params["wording"], dice)
        gold = translate_query(query.sql(), self.dialect)
        is_compact = self.prompt == "compact"
        shown = plan.schema.outline if is_compact else show_tables(plan.schema, rows, self.sample_rows, self.dialect)
        return Task(
            f"{shown}\n\n{question}\n{self.request}",
            reference=gold,
            solution=fenced(gold, "sql"),
            # The content key is the same in all dialects.
            content=f"{plan.schema.ddl}\n{best.seed}\n{query.sql()}",
            split_key=list_words(query),
            data=best,
        )

    def _draw_good_query(
        self,
        dice: Dice,
        plan: Plan,
        rows: Rows,
        connection: sqlite3.Connection,
        params: dict[str, Any],
        construct: str = "",
    ) -> Query | None:
        """Draw a query of this split that returns 1 to `_MOST_ROWS` rows, not only NULL and 0, and whose conditions at
        least `_FEWEST_MATCHES` rows meet. Return None if `_DRAWS` draws give none."""
        rows = tidy_rows(plan.schema, rows)
        for _ in range(_DRAWS):
            query = draw_with(dice, plan, rows, params["clauses"], params["nesting"], construct)
            if query and self.rows and not has_slow_form(query):
                continue
            # Check the split before running queries, which takes most of the time.
            if not query or (self.split != "all" and split_of(list_words(query)) != self.split):
                continue
            if connection.execute(count_matches(query).sql()).fetchone()[0] < _FEWEST_MATCHES:
                continue
            found = connection.execute(query.sql()).fetchall()
            if 0 < len(found) <= _MOST_ROWS and any(value for row in found for value in row):
                return query
        return None

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return a query that answers another question about the same database."""
        known: QueryTask = episode.data
        rows = tidy_rows(known.plan.schema, draw_rows(known.plan.schema, known.seed))
        dice = Dice(rng)
        while True:
            query = draw_query(dice, known.plan, rows, self._params["clauses"], self._params["nesting"])
            if query and query != known.query:
                return fenced(translate_query(query.sql(), self.dialect), "sql")

    def gold_query(self, task: Task) -> str:
        """Return the right query of a task in the dialect of the engine."""
        return task.reference

    def database_of(self, task: Task) -> LoadedDatabase:
        """Return the database shown in the prompt."""
        return self.load(task.data, task.data.witnesses.expected[0][0])

    def load(self, known: QueryTask, database: Database) -> LoadedDatabase:
        """Return one of the databases of a task, in the engine."""
        return make_engine(self.engine).load(database, known.plan.schema.ddl_for(self.dialect))

    def verify(self, task: Task, answer: str) -> Verdict:
        grading, query = self.grading_of(task), query_in(answer)
        verdict = grade_query(query, **grading)
        if self.rows is None or not verdict.success:
            return verdict
        known: QueryTask = task.data
        schema = known.plan.schema
        views = {view.name: view.table for view in schema.views}
        tables = [views.get(name, name) for name in find_tables(known.query)]
        tables = [name for name in tables if name in schema.names]
        database = Database(schema=write_large_script(schema, tables, self.rows, known.seed))
        same = {name: grading[name] for name in ("ordered", "engine", "schema")}
        return grade_large(query, self.gold_query(task), database, self.rows, **same)

    def grading_of(self, task: Task) -> dict[str, Any]:
        """Return the arguments of `grade_query` by which queries are judged."""
        known: QueryTask = task.data
        return {
            "expected": known.witnesses.expected,
            "ordered": is_ordered_query(known.query),
            "tied": known.witnesses.tied,
            "engine": self.engine,
            "schema": known.plan.schema.ddl_for(self.dialect),
            "limits": QueryLimits(self.seconds),
        }

    def solution_steps(self, task: Task) -> list[str]:
        """Return one line for each clause of the reference query, then the answer."""
        steps = write_steps(task.data.query)
        return [*(steps if self.dialect == "sqlite" else map(translate_years, steps)), self.oracle(task)]

    def compute_extra(self, subject: Task, name: str) -> Any:
        if name != "sql_reference":
            return super().compute_extra(subject, name)
        if self.dialect != "sqlite":
            # Verifiers of rewards run queries in SQLite only.
            return {"dialect": self.dialect, "gold": subject.reference}
        witnesses = subject.data.witnesses
        scripts = [write_script(database.image) for database, _ in witnesses.expected]
        tied = [place for place, one in enumerate(witnesses.expected) if one in witnesses.tied]
        return {"schema": scripts, "gold": subject.reference, **({"tied": tied} if tied else {})}


def show_tables(schema: Schema, rows: Rows, number: int, dialect: str) -> str:
    """Write the tables, each with its first rows."""
    lines = []
    creates = schema.ddl_for(dialect).split("\n")
    for relation, create in zip(schema.relations, creates):
        lines += [create, *(f"-- {format_row(row)}" for row in rows[relation.name][:number])]
    return "\n".join([*lines, *creates[len(schema.relations) :]])


def write_script(image: bytes) -> str:
    """Write the SQL script that recreates a database."""
    connection = sqlite3.connect(":memory:")
    connection.deserialize(image)
    lines = [line for line in connection.iterdump() if line.startswith(("CREATE", "INSERT"))]
    connection.close()
    return "\n".join(lines)


register("palaestra/TextToSQL-v0", f"{__name__}:TextToSQL")
