"""palaestra/SQLRepair-v0: mend a query that is almost right."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...rewards.answers import fenced
from ...rewards.verifiers.sql import same_rows
from ..code.programs.dice import Dice
from ..param_space import ChoiceAxis, ParamSpace
from ..question import Task
from ..registration import register
from .engines.dialects import translate_query
from .outcomes import describe_rows, try_query
from .queries.faults import faults
from .queries.near_misses import near_misses
from .queries.query_tree import is_ordered_query
from .text_to_sql import QueryTask, TextToSQL

# Rows of a wrong result shown in the prompt.
_SHOWN_ROWS = 3
# Maximum characters of a prompt with sample rows; longer ones leave them out.
_LONGEST_PROMPT = 2_000
_MISTAKES = {
    "join": "The join keeps other rows, or goes another way.",
    "condition": "The conditions differ.",
    "comparison": "A comparison differs.",
    "aggregate": "An aggregate differs.",
    "average": "An average is rounded, or counts NULL as 0.",
    "null": "It handles NULL in another way.",
    "distinct": "It keeps or drops duplicates.",
    "column": "A column differs, or its place.",
    "order": "The order differs.",
    "limit": "The limit differs.",
    "window": "The ranking differs, or the rows that it looks at.",
    "arithmetic": "A number is computed in another way.",
    "case": "Labels are given in another way.",
    "nesting": "The inner query is used in another way.",
    "set operation": "The set operation differs.",
    "self": "Rows are compared with other rows of the table in another way.",
    "fan-out": "A join of two tables of children counts rows several times.",
    "recursion": "It goes through the hierarchy or the series in another way.",
    "view": "It uses the view where the table is meant, or the table where the view is.",
    "note": "It reads the note in another way.",
    "cleaning": "It does not tidy the values of a column, or not as they are kept.",
}


@dataclass(frozen=True, slots=True)
class BrokenQuery(QueryTask):
    """Data of a task, with the wrong query.

    Args:
        wrong: the wrong query.
        outcome: its error, or its result on one database, in words.
        mistake: the mistake in words.
    """

    wrong: str
    outcome: str
    mistake: str


class SQLRepair(TextToSQL):
    """Mend a query that is almost right.

    Description:
        A database and a question as in `TextToSQL`, and a query with one mistake. Either the database refuses it (a
        wrong name, a missing join, clauses in the wrong order, ...), or it runs and has a wrong result (another join,
        bound, aggregate, order, column, ...).

    Parameters:
        joins (0 to 2, on request up to 3): number of tables joined to the first one.
        tables (0 to 2, on request up to 40): number of further tables of the database.
        nesting (0 to 2): depth of nested queries in the conditions.
        fault (error, result): whether the query fails, or has a wrong result.
        wording (names, phrases): whether the question uses the names of tables and columns, or English words for them.
        clauses (1 to 4, on request up to 6): number of conditions, aggregates, groupings, sort keys and limits.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.

    Observation:
        CREATE TABLE statements with a sample row in comments (not in the longest prompts), the question, the query, and
        its error or its first rows on one of the databases that judge the answer.

    Actions:
        Text with the whole query, mended, as in `TextToSQL`.

    Reward:
        1 if the query has the right result on every database, 0 otherwise, as in `TextToSQL`. The query shown earns 0.

    Termination:
        After the first answer.

    Source:
        Repair of queries as in BIRD-CRITIC (arXiv 2506.18951) and self-correction as in "Teaching Large Language Models
        to Self-Debug" (arXiv 2304.05128); databases, questions and mistakes generated here.

    Args:
        engine: as for `TextToSQL`; the error or result shown is from this engine.
        seconds: time limit of an answer on all databases together, in processor time except for PostgreSQL.
        sample_rows: rows of each table shown in the prompt.
        domains: names of the domains of databases; empty for all.
        constructs: further constructs of the queries, as for `TextToSQL`.
        rows: rows of a large database on which an answer must not be slow, as for `TextToSQL`.
    """

    param_space = ParamSpace(
        [
            *TextToSQL.param_space.axes[:3],
            ChoiceAxis("fault", ("error", "result")),
            *TextToSQL.param_space.axes[3:],
        ],
        spread=True,
    )

    def __init__(self, *, seconds: float = 2.0, sample_rows: int = 1, **kwargs: Any):
        super().__init__(seconds=seconds, sample_rows=sample_rows, **kwargs)

    def generate(self, rng: np.random.Generator, params: dict[str, Any]) -> Task:
        while True:
            task = super().generate(rng, params)
            broken = (self._break if params["fault"] == "error" else self._spoil)(Dice(rng), task.data)
            if broken is not None:
                break
        shown = task.prompt.removesuffix(f"\n{self.request}")
        wrong = f"This query is almost right:\n{fenced(broken.wrong, 'sql')}\n{broken.outcome}\n{self.request}"
        if len(shown) + len(wrong) >= _LONGEST_PROMPT:
            shown = "\n".join(line for line in shown.split("\n") if not line.startswith("-- "))
        content = f"{task.content}\n{broken.wrong}"
        return replace(task, prompt=f"{shown}\n{wrong}", content=content, data=broken)

    def _break(self, dice: Dice, known: QueryTask) -> BrokenQuery | None:
        """Make a query that fails; None if the drawn mistake has no effect."""
        kinds: dict[str, list[tuple[str, str]]] = {}
        for kind, *found in faults(known.query, known.plan.schema, self.dialect):
            kinds.setdefault(kind, []).append((found[0], found[1]))
        mistake, wrong = dice.one(kinds[dice.one(sorted(kinds))])
        outcome = try_query(wrong, self.load(known, known.witnesses.expected[0][0]))
        return _extend(known, wrong, outcome.error, mistake) if outcome.error else None

    def _spoil(self, dice: Dice, known: QueryTask) -> BrokenQuery | None:
        """Make a query with a wrong result; None if the databases distinguish no near miss."""
        survivors = {wrong for _, wrong in known.witnesses.survivors}
        kinds: dict[str, list[str]] = {}
        for kind, other in near_misses(known.query, known.plan.schema):
            if other.sql() not in survivors:
                kinds.setdefault(kind, []).append(other.sql())
        while kinds:
            kind = dice.one(sorted(kinds))
            chosen = dice.one(kinds[kind])
            wrong = translate_query(chosen, self.dialect)
            for database, rows in known.witnesses.expected:
                found = try_query(wrong, self.load(known, database)).rows
                if found is not None and not same_rows(found, rows, is_ordered_query(known.query)):
                    told = f"It runs, but its result is wrong. On one database: {describe_rows(found, _SHOWN_ROWS)}"
                    return _extend(known, wrong, told, _MISTAKES[kind])
            # It is equivalent, or sorts tied rows as asked by accident.
            kinds[kind].remove(chosen)
            if not kinds[kind]:
                del kinds[kind]
        return None

    def solution_steps(self, task: Task) -> list[str]:
        """Name the mistake, then the clauses of the right query."""
        return [task.data.mistake, *super().solution_steps(task)]


def _extend(known: QueryTask, wrong: str, outcome: str, mistake: str) -> BrokenQuery:
    return BrokenQuery(known.plan, known.seed, known.query, known.witnesses, wrong, outcome, mistake)


register("palaestra/SQLRepair-v0", f"{__name__}:SQLRepair")
