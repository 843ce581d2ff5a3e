"""palaestra/SQLSchema-v0: change the schema of a database."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards.answers import fenced
from ...rewards.verifiers.sql import Database, QueryError, same_rows
from ..code.programs.dice import Dice
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..splits import split_of
from .databases.contents import Rows, draw_rows, make_database
from .databases.relations import Schema
from .definitions.definition import Definition
from .definitions.definition_grammar import KINDS, DefinitionDraft, draw_view
from .definitions.definition_probes import definition_misses, list_columns, list_probes
from .definitions.definition_wording import write_definition
from .engines import QueryLimits, ScriptCase
from .engines.dialects import translate_query
from .engines.engine import Script
from .engines.grading import same_columns
from .engines.sqlite_scripts import run_script_here
from .queries.query_plans import Plan, draw_plan
from .queries.query_tree import list_words
from .queries.witnesses import find_witnesses
from .queries.wording import STYLES, write_question
from .script_question import ScriptQuestion, ScriptTask

# Databases of a task other than a view's, and databases drawn before a request is refused.
_CASES, _PLANS = 2, 2000
# Number of views for which witnesses are sought, and maximum rows of a view.
_TRIES, _MOST_ROWS = 6, 40
_LIMITS = QueryLimits(60.0)


@dataclass(frozen=True, slots=True)
class SchemaTask(ScriptTask):
    """Data of a task, with the right change of the schema."""

    definition: Definition


class SQLSchema(ScriptQuestion):
    """Change the schema of a database as requested.

    Description:
        A schema of one of nine domains (a shop, a hospital, a league, ...), a few of its rows, and a request to create,
        change, rename, split or drop a table, or to create a view. What an answer leaves is judged by its behaviour:
        its tables and columns, the rows kept, and rows that it must accept or refuse (missing values, defaults, bounds,
        duplicates, references, deleted parents), so that schemas with one rule too few or too many are told apart.

    Parameters:
        kind (drop, rename, add, create, rule, split, view): a table or columns dropped; a table or columns renamed; a
            column added; a table created; rules added to a table; a column moved to a new table; a view created.
        rules (1 to 4, on request up to 6): number of rules of columns, of columns to rename or drop, or of clauses of a
            view.
        joins (0 to 2, on request up to 3): minimum number of tables that the table depends on, or that a view joins.
        tables (0 to 2, on request up to 4): number of further tables of the database.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.

    Observation:
        CREATE TABLE statements with sample rows in comments, and a request such as ``Add a column to sale:\\n- weight:
        real number, required, at least 0.5\\nRows so far get 2.``

    Actions:
        Text with statements, each ended by a semicolon, best in a block ```` ```sql ````: CREATE, ALTER and DROP of
        tables, views and indexes, INSERT, UPDATE and DELETE. Other statements are refused. A statement that fails or
        takes too long is an error.

    Reward:
        1 if on every database the tables, columns, classes of types and rows are the requested ones afterwards, and all
        probes are accepted or refused as they should be; 0 otherwise.

    Termination:
        After the first answer.

    Source:
        Definitions beside queries as in BIRD-CRITIC (arXiv 2506.18951), judged by behaviour; all generated here.

    Args:
        engine: "sqlite", "duckdb" or "postgres", the engine that runs answers; the tasks ask for its dialect, and are
            the same except that DuckDB has no delete actions. The latter two need palaestra[sql], see `TextToSQL`.
        seconds: time limit of an answer on all databases together, in processor time except for PostgreSQL.
        sample_rows: rows of each table shown in the prompt.
        domains: names of the domains of databases, such as ("shop",); empty for all.
        prompt: as for every environment, or "compact" for models with a short context, as for `TextToSQL`.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("kind", KINDS),
            IntAxis("rules", 1, 4, limits=(1, 6)),
            IntAxis("joins", 0, 2, limits=(0, 3)),
            IntAxis("tables", 0, 2, limits=(0, 4)),
            IntAxis("noise", 0, 2, limits=(0, 4)),
        ],
        spread=True,
    )
    request_text = (
        "Answer with {engine} statements (no BEGIN, COMMIT or PRAGMA), each ended by a semicolon. A table must keep "
        "exactly the rules stated: required columns are never NULL, other columns may be; what no rule forbids must "
        "stay possible. A row that others refer to cannot be deleted unless a rule says so. Keep everything else: "
        "tables, columns, rules and rows."
    )
    short_request = "Answer with {engine} statements."

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        for _ in range(_PLANS):
            # A new table needs another one that is there before.
            tables = params["tables"] or (params["kind"] == "create" and not params["joins"])
            plan = draw_plan(dice, params["joins"], int(tables), params["noise"], self.domains)
            if plan.schema.children(plan.base):
                continue
            make = self._make_view if params["kind"] == "view" else self._make_task
            task = make(dice, plan, dice.below(1 << 40), params)
            if task is not None:
                return task
        raise InputError(f"no change of {self.domains or 'any domain'} has {params}.")

    def _make_task(self, dice: Dice, plan: Plan, seed: int, params: dict[str, Any]) -> Task | None:
        """Make a task whose databases tell all its near misses apart, or return None."""
        contents = [draw_rows(plan.schema, seed + place) for place in range(_CASES)]
        draft = DefinitionDraft(dice, plan, contents, self.dialect != "duckdb")
        definition = draft.draw(params["kind"], params["rules"])
        if definition is None or not self._is_of_split(definition):
            return None
        cases = self._observe(definition, [_make_image(definition.before, rows) for rows in contents])
        if cases is None or not all(_tells(one, cases) for _, one in definition_misses(definition)):
            return None
        return self._write(definition, cases, contents[0], seed, write_definition(definition, dice))

    def _make_view(self, dice: Dice, plan: Plan, seed: int, params: dict[str, Any]) -> Task | None:
        rows = draw_rows(plan.schema, seed)
        drawn = draw_view(dice, plan, rows, params["rules"])
        if drawn is None:
            return None
        query, names = drawn
        name = f"{plan.base}_{dice.one(('view', 'report', 'overview'))}"
        definition = Definition("view", plan.schema, view=(name, names, query.sql()))
        if not self._is_of_split(definition):
            return None
        with contextlib.closing(make_database(plan.schema, rows)) as connection:
            found = connection.execute(query.sql()).fetchall()
            if not 0 < len(found) <= _MOST_ROWS or not any(value for row in found for value in row):
                return None
            witnesses = find_witnesses(query, plan.schema, rows, connection, seed)
        if not witnesses.is_good:
            return None
        cases = self._observe(definition, [database for database, _ in witnesses.expected])
        if cases is None or not all(_tells(one, cases) for _, one in definition_misses(definition)):
            return None
        question = write_question(query, plan.schema, dice.one(STYLES), dice)
        return self._write(definition, cases, rows, seed, write_definition(definition, dice, question))

    def _is_of_split(self, definition: Definition) -> bool:
        return self.split == "all" or split_of(_list_words(definition)) == self.split

    def _observe(self, definition: Definition, databases: list[Database]) -> tuple[ScriptCase, ...] | None:
        """Return the cases with what the right change leaves; None if it fails."""
        probes, columns = list_probes(definition), list_columns(definition)
        script = Script(tuple(definition.statements("sqlite")), True, probes)
        try:
            return tuple(
                ScriptCase(database, probes, run_script_here(database, script, _LIMITS).outcomes, columns)
                for database in databases
            )
        except QueryError:
            return None

    def _write(
        self, definition: Definition, cases: tuple[ScriptCase, ...], rows: Rows, seed: int, request: str
    ) -> Task:
        before = definition.before
        gold = "\n".join(f"{one};" for one in self._statements(definition))
        return Task(
            f"{self.show(before, rows)}\n\n{request}\n{self.request}",
            reference=gold,
            solution=fenced(gold, "sql"),
            content=f"{before.ddl}\n{seed}\n{definition.sql()}",
            split_key=_list_words(definition),
            data=SchemaTask(before, seed, cases, definition),
        )

    def _statements(self, definition: Definition) -> Iterator[str]:
        for one in definition.statements(self.dialect):
            yield translate_query(one, self.dialect) if definition.view else one

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return statements with one mistake, or that create another table."""
        known: Definition = episode.data.definition
        misses = [one for _, one in definition_misses(known)]
        if not misses:
            return fenced("CREATE TABLE other (other_id INTEGER PRIMARY KEY);", "sql")
        chosen = misses[int(rng.integers(len(misses)))]
        return fenced("\n".join(f"{one};" for one in self._statements(chosen)), "sql")

    def solution_steps(self, task: Task) -> list[str]:
        """Return one line for each statement, then the answer."""
        steps = [f"{one.partition(' ')[0].capitalize()}: {one}" for one in self._statements(task.data.definition)]
        return [*steps, self.oracle(task)]


def _make_image(schema: Schema, rows: Rows) -> Database:
    with contextlib.closing(make_database(schema, rows)) as connection:
        connection.commit()
        return Database(image=connection.serialize())


def _tells(miss: Definition, cases: tuple[ScriptCase, ...]) -> bool:
    """Return True if a near miss fails, or leaves something else than expected on one of the databases."""
    for case in cases:
        try:
            script = Script(tuple(miss.statements("sqlite")), True, case.probes)
            found = run_script_here(case.database, script, _LIMITS)
        except QueryError:
            return True
        if not same_columns(found.columns, case.columns or ()):
            return True
        for outcome, expected in zip(found.outcomes, case.expected):
            if outcome is None or expected is None:
                if outcome is not expected:
                    return True
            elif not same_rows(outcome, expected, ordered=False):
                return True
    return False


def _list_words(definition: Definition) -> str:
    return list_words(definition)  # type: ignore[arg-type]


register("palaestra/SQLSchema-v0", f"{__name__}:SQLSchema")
