"""palaestra/SQLChange-v0: change the rows of a database."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards.answers import fenced
from ..code.programs.dice import Dice
from ..param_space import ChoiceAxis, IntAxis, ParamSpace
from ..question import Task
from ..registration import register
from ..splits import split_of
from .databases.contents import Rows, draw_rows, make_database
from .engines import ScriptCase, StateProbe
from .engines.dialects import translate_statement, translate_years
from .queries.change_grammar import KINDS, draw_change, draw_change_plan
from .queries.change_tree import Change, InsertValues
from .queries.change_witnesses import ChangeWitnesses, find_change_witnesses
from .queries.change_wording import write_request
from .queries.query_plans import Plan
from .queries.query_tree import count_matches, list_words
from .queries.wording import STYLES
from .script_question import ScriptQuestion, ScriptTask

# Number of changes drawn on one database, number of changes for which witnesses are sought, and databases drawn before
# a request is refused.
_DRAWS, _TRIES, _PLANS = 8, 6, 1000
# Minimum rows that meet the conditions, at least in the first step.
_FEWEST_MATCHES = 2


@dataclass(frozen=True, slots=True)
class ChangeTask(ScriptTask):
    """Data of a task, with the right change and what became of its near misses."""

    plan: Plan
    change: Change
    witnesses: ChangeWitnesses


class SQLChange(ScriptQuestion):
    """Change the rows of a database as requested.

    Description:
        A schema of one of nine domains (a shop, a hospital, a league, ...), a few of its rows, and a request to insert,
        update, delete or copy rows. The statements are run on several databases with this schema, which are chosen so
        that changes with one mistake (a condition, a bound, NULL, a value, a row too many, a forgotten reference, the
        order of two steps, ...) leave other rows in some table.

    Parameters:
        kind (insert, upsert, update, delete, cascade, copy, compute): rows added; rows added or overwritten by key;
            columns set; rows deleted; rows deleted although others refer to them; rows added for existing rows; columns
            computed from other tables or by cases.
        steps (1 to 2, on request up to 3): number of changes, one after the other.
        joins (0 to 2, on request up to 3): number of tables joined to the changed one in the conditions; of tables more
            for insert and upsert.
        tables (0 to 2, on request up to 4): number of further tables of the database.
        nesting (0 to 1, on request up to 2): depth of nested queries in the conditions.
        wording (names, phrases): whether the request uses the names of tables and columns, or English words for them.
        clauses (1 to 3, on request up to 5): number of conditions, at most 3; number of rows for insert and upsert.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.

    Observation:
        CREATE TABLE statements with sample rows in comments, and a request such as ``Delete every product whose price
        is at least 12. Also delete all sales that refer to one of them.``

    Actions:
        Text with INSERT, UPDATE and DELETE statements, each ended by a semicolon, best in a block ```` ```sql ````.
        Other statements are refused: definitions, transactions, pragmas, attached databases, files. A statement that
        fails, violates a key, a reference or NOT NULL, or takes too long is an error.

    Reward:
        1 if afterwards every table has exactly the requested rows on every database, 0 otherwise. Numbers are compared
        at 12 significant digits.

    Termination:
        After the first answer.

    Source:
        Judged by the whole state of the database, as in BIRD-CRITIC (arXiv 2506.18951) and on several databases as in
        "Semantic Evaluation for Text-to-SQL with Distilled Test Suites" (arXiv 2010.02840); all generated here.

    Args:
        engine: "sqlite", "duckdb" or "postgres", the engine that runs answers; the tasks are the same, but ask for the
            engine's dialect. The latter two need palaestra[sql], see `TextToSQL`.
        seconds: time limit of an answer on all databases together, in processor time except for PostgreSQL.
        sample_rows: rows of each table shown in the prompt.
        domains: names of the domains of databases, such as ("shop",); empty for all.
        prompt: as for every environment, or "compact" for models with a short context, as for `TextToSQL`.
    """

    param_space = ParamSpace(
        [
            ChoiceAxis("kind", KINDS),
            IntAxis("steps", 1, 2, limits=(1, 3)),
            IntAxis("joins", 0, 2, limits=(0, 3)),
            IntAxis("tables", 0, 2, limits=(0, 4)),
            IntAxis("nesting", 0, 1, limits=(0, 2)),
            ChoiceAxis("wording", STYLES),
            IntAxis("clauses", 1, 3, limits=(1, 5)),
            IntAxis("noise", 0, 2, limits=(0, 4)),
        ],
        spread=True,
    )
    request_text = (
        "Answer with {engine} statements (INSERT, UPDATE, DELETE; no BEGIN or COMMIT), each ended by a semicolon. "
        "Afterwards every table must have exactly the requested rows, for any contents; leave everything else as it "
        "is. Conditions do not hold for NULL unless they name it."
    )
    short_request = "Answer with {engine} statements."

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        dice = Dice(rng)
        best: ChangeTask | None = None
        rows: Rows = {}
        tries = plans = 0
        while best is None or (tries < _TRIES and best.witnesses.survivors):
            plans += 1
            plan = draw_change_plan(dice, params, self.domains)
            if best is None and (plans > _PLANS or plan is None):
                raise InputError(f"no change of {self.domains or 'any domain'} has {params}.")
            if plan is None:
                break
            seed = dice.below(1 << 40)
            drawn = draw_rows(plan.schema, seed)
            change = self._draw_good_change(dice, plan, drawn, params)
            if change is None:
                continue
            tries += 1
            witnesses = find_change_witnesses(change, plan.schema, drawn, seed)
            if witnesses and (best is None or len(witnesses.survivors) < len(best.witnesses.survivors)):
                probes = tuple(StateProbe((), f"SELECT * FROM {name}") for name in plan.schema.names)
                cases = tuple(ScriptCase(database, probes, states) for database, states in witnesses.expected)
                best, rows = ChangeTask(plan.schema, seed, cases, plan, change, witnesses), drawn
        assert best is not None
        request = write_request(best.change, best.schema, params["wording"], dice)
        gold = self._write(best.change)
        return Task(
            f"{self.show(best.schema, rows)}\n\n{request}\n{self.request}",
            reference=gold,
            solution=fenced(gold, "sql"),
            # The content key is the same in all dialects.
            content=f"{best.schema.ddl}\n{best.seed}\n{best.change.sql()}",
            split_key=_list_words(best.change),
            data=best,
        )

    def _draw_good_change(self, dice: Dice, plan: Plan, rows: Rows, params: dict[str, Any]) -> Change | None:
        """Draw a change of this split, the conditions of whose first step hold for some rows but not for all. Return
        None if `_DRAWS` draws give none."""
        with contextlib.closing(make_database(plan.schema, rows)) as connection:
            for _ in range(_DRAWS):
                change = draw_change(dice, plan, rows, params)
                if not change or (self.split != "all" and split_of(_list_words(change)) != self.split):
                    continue
                first = change.steps[0]
                if isinstance(first, InsertValues):
                    return change
                matches = connection.execute(count_matches(first.rows).sql()).fetchone()[0]
                if _FEWEST_MATCHES <= matches < len(rows[first.rows.table]):
                    return change
        return None

    def _write(self, change: Change) -> str:
        return "\n".join(f"{translate_statement(one, self.dialect)};" for one in change.statements)

    def random_action(self, episode: Task, rng: np.random.Generator) -> str:
        """Return statements for another request about the same database."""
        known: ChangeTask = episode.data
        rows = draw_rows(known.schema, known.seed)
        dice = Dice(rng)
        while True:
            change = draw_change(dice, known.plan, rows, self._params)
            if change and change != known.change:
                return fenced(self._write(change), "sql")

    def solution_steps(self, task: Task) -> list[str]:
        """Return one line for each statement, then the answer."""
        steps = []
        for step in task.data.change.steps:
            steps += [f"{one.partition(' ')[0].capitalize()} rows: {one}" for one in step.sql().split(";\n")]
        return [*(steps if self.dialect == "sqlite" else map(translate_years, steps)), self.oracle(task)]


def _list_words(change: Change) -> str:
    return list_words(change)  # type: ignore[arg-type]


register("palaestra/SQLChange-v0", f"{__name__}:SQLChange")
