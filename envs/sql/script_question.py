"""Base of questions that are answered by statements which change a database: `SQLChange` and `SQLSchema`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...checks import check_choice, check_count, check_number
from ...rewards import Verdict
from ...rewards.answers import MAX_PROGRAM, query_in
from ..question import Question, Task
from ..task_env import TaskEnv
from .databases.contents import Rows
from .databases.domains import read_domains
from .databases.relations import Schema
from .engines import LoadedDatabase, QueryLimits, ScriptCase, grade_script, make_engine
from .text_to_sql import show_tables


@dataclass(frozen=True, slots=True)
class ScriptTask:
    """Data of a task.

    Args:
        schema: the tables before.
        seed: seed of the contents of the first database.
        cases: databases, with what is expected on each.
    """

    schema: Schema
    seed: int
    cases: tuple[ScriptCase, ...]


class ScriptQuestion(Question):
    """Base of families whose answer is a script. A subclass implements `generate`, with a `ScriptTask` as data.

    Args:
        engine: "sqlite", "duckdb" or "postgres", the engine that runs answers.
        seconds: time limit of an answer on all databases together.
        sample_rows: rows of each table shown in the prompt.
        domains: names of the domains of databases; empty for all.
        prompt: as for every environment, or "compact": an outline of the tables instead of their statements and rows.
    """

    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks: ClassVar[bool] = False
    prompts = (*TaskEnv.prompts, "compact")
    request_text: ClassVar[str]
    short_request: ClassVar[str]

    def __init__(
        self,
        *,
        engine: str = "sqlite",
        seconds: float = 2.0,
        sample_rows: int = 2,
        domains: Sequence[str] = (),
        **kwargs: Any,
    ):
        super().__init__(**kwargs)
        self.engine = engine
        self.dialect = make_engine(engine).dialect
        request = self.short_request if self.prompt == "compact" else self.request_text
        self.request = request.format(engine=make_engine(engine).title)
        self.domains = tuple([domains] if isinstance(domains, str) else domains)
        for name in self.domains:
            check_choice("domain", name, [domain.domain for domain in read_domains()])
        self.seconds = check_number("seconds", seconds, low=0.01)
        self.sample_rows = check_count("sample_rows", sample_rows, low=0)

    def show(self, schema: Schema, rows: Rows) -> str:
        """Write the tables as the prompt shows them."""
        if self.prompt == "compact":
            return schema.outline
        return show_tables(schema, rows, self.sample_rows, self.dialect)

    def database_of(self, task: Task) -> LoadedDatabase:
        """Return the database shown in the prompt."""
        known: ScriptTask = task.data
        return make_engine(self.engine).load(known.cases[0].database, known.schema.ddl_for(self.dialect))

    def verify(self, task: Task, answer: str) -> Verdict:
        known: ScriptTask = task.data
        return grade_script(
            query_in(answer),
            known.cases,
            engine=self.engine,
            schema=known.schema.ddl_for(self.dialect),
            limits=QueryLimits(self.seconds),
        )
