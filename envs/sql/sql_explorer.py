"""palaestra/SQLExplorer-v0: find out about a database with tools, then write the query."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards.answers import fenced, query_in
from ..game import Transition
from ..param_space import IntAxis, ParamSpace
from ..question import Question, Task
from ..registration import register
from ..tools.tool import choose_call
from ..tools.tool_function import ToolFunction
from ..tools.tool_question import Session, ToolQuestion, count_times
from .database_tools import (
    PAGE,
    QueryCommand,
    RowSampler,
    SchemaSearcher,
    TableDescriber,
    TableLister,
    command_in,
    describe_tables,
)
from .text_to_sql import TextToSQL

_SPARE = IntAxis("spare", 0, 6, harder="down", limits=(0, 20))
_ANSWER = re.compile(r"answer\b:?\s*(.+)", re.IGNORECASE | re.DOTALL)
_GIVE = ToolFunction(
    "answer",
    "give the query that answers the question, which ends the episode",
    {"query": {"type": "string", "description": "one query in SQL"}},
    answers=True,
)
_COMMANDS = "tables, search WORD, describe TABLE, sample TABLE N, query SELECT ... or answer SELECT ..."


@dataclass(frozen=True, slots=True)
class SchemaSearch(Session):
    """The state of an episode; ``needed`` are the tables of the reference query."""

    needed: tuple[str, ...] = ()

    @property
    def milestones(self) -> tuple[int, int]:
        """Return the number of milestones reached and in total: one for each needed table, described or sampled, and
        one for a query that ran."""
        made = [call for call in self.made if not call.failed]
        seen = {value.strip("\"'`[] ").lower() for call in made for name, value in call.arguments if name == "table"}
        reached = sum(table.lower() in seen for table in self.needed) + any(call.name == "query" for call in made)
        return reached, len(self.needed) + 1


class SQLExplorer(ToolQuestion):
    """Answer a question about an unknown database with a query, after exploring it with tools.

    Description:
        The question is one of `TextToSQL` (or of another family about databases, ``of``). Neither its tables nor their
        rows are shown: the agent lists, searches, describes and samples them, tries queries, and then gives the query
        that answers the question. The answer is judged as in the family, on databases beyond the one that it has seen.
        With many tables, several domains share the database, some tables have twins such as ``archived_sale``, the
        listing has pages, and the scripted solver searches for the first table that it needs.

    Parameters:
        joins (0 to 2, on request up to 3): number of tables joined to the first one.
        tables (0 to 2, on request up to 40): number of further tables of the database.
        nesting (0 to 2): depth of nested queries in the conditions.
        wording (names, phrases): whether the question uses the names of tables and columns, or English words for them.
        clauses (1 to 4, on request up to 6): number of conditions, aggregates, groupings, sort keys and limits.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.
        spare (6 to 0, harder downwards, on request up to 20): calls of tools beyond those of the scripted solver, which
            lists the tables (searches, if there are more than 20), describes each that it needs, and tries its query.

    Observation:
        The question and the commands; then the output of the last call, at most 1000 characters, and the calls left.

    Actions:
        One command: ``tables`` (perhaps with a page), ``search WORD``, ``describe TABLE``, ``sample TABLE`` (perhaps
        with a number of rows), ``query SELECT ...``, which may be left out before SELECT, or ``answer SELECT ...``. It
        may stand in a block. A query in <answer></answer> is an answer as well.

    Reward:
        The family's reward for the answer, and 0 for calls. ``info["progress"]`` and the extra ``milestones`` count the
        needed tables that were described or sampled, and a query that ran.

    Termination:
        After the answer. Truncated after two turns more than there are calls. A call that fails, such as a query with
        an unknown column or one that writes, is an ``action_error`` and takes one of the calls; so does a reply without
        a command.

    Source:
        Agents that explore databases as in Spider 2.0 (arXiv 2411.07763) and InterCode (arXiv 2306.14898).

    Args:
        of: the id of a question about a database: TextToSQL, SQLRepair, Spider or BIRD.
        of_kwargs: arguments for it, such as ``{"engine": "duckdb"}``: calls and answers run in that engine.
        answer_format: how the answer is read; None for the family's default.
        seconds: time limit of a query, in processor time except for PostgreSQL.
        **kwargs: as for every environment; the axes are those of ``of``, and spare.

    Raises:
        InputError: ``of`` is no such question, or an argument does not fit.
    """

    param_space = ParamSpace([*TextToSQL.param_space.axes, _SPARE], spread=True)
    supplies = frozenset({"milestones"})

    def __init__(
        self,
        *,
        of: str = "palaestra/TextToSQL-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        seconds: float = 2.0,
        **kwargs: Any,
    ):
        tools = [TableLister(), SchemaSearcher(), TableDescriber(), RowSampler(), QueryCommand(seconds)]
        super().__init__(of=of, of_kwargs=of_kwargs, tools=tools, answer_format=answer_format, **kwargs)

    def choose_space(self, inner: Question) -> ParamSpace:
        if not hasattr(inner, "database_of"):
            raise InputError(f"`of` must be the id of a question about a database; {self.of} has none.")
        return ParamSpace([*inner.param_space.axes, _SPARE], inner.param_space.spread)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> SchemaSearch:
        inner: Any = self.inner
        task = inner.generate(rng, {name: value for name, value in params.items() if name != "spare"})
        words = set(re.findall(r"\w+", query_in(inner.oracle(task)).lower()))
        needed = tuple(table for table in describe_tables(inner.database_of(task)) if table.lower() in words)
        return SchemaSearch(task, len(needed) + 2 + params["spare"], needed=needed)

    def ask(self, task: Task) -> str:
        """Return the question without the description of the tables, which ends at the prompt's first blank line."""
        return self.inner.prompt_of(task).partition("\n\n")[2]

    def explain(self, calls: int) -> str:
        return (
            f"\nYou do not know the database yet. Write one command in a reply; the first five may be used "
            f"{count_times(calls)} in all.\ntables N: {self.tools[0].usage}\nsearch WORD: {self.tools[1].usage}\n"
            f"describe TABLE: {self.tools[2].usage}\nsample TABLE N: {self.tools[3].usage}\n"
            f"query SELECT ...: {self.tools[4].usage}\n"
            "answer SELECT ...: give the query that answers the question, which ends the episode"
        )

    def tool_functions(self) -> tuple[ToolFunction, ...]:
        return (*super().tool_functions(), _GIVE)

    def write_call(self, name: str, arguments: Mapping[str, Any]) -> str:
        if name != _GIVE.name:
            return super().write_call(name, arguments)
        return fenced(f"answer {_GIVE.check(arguments)['query']}", "")

    def tell_left(self, calls: int) -> str:
        return f"{calls} {'call is' if calls == 1 else 'calls are'} left before the answer."

    def act(self, state: Session, action: str) -> Transition:
        command = command_in(action)
        if found := _ANSWER.fullmatch(command):
            return self.judge_answer(state, found[1])
        call = choose_call(self.tools, action)
        is_bare = call is None or (call[0].name == "query" and not command.lower().startswith("query"))
        if is_bare and "</answer>" in action:
            return self.judge_answer(state, command)
        if call is None:
            error = f"This is no command; write {_COMMANDS}"
            # An error uses up a call, so that the calls left never exceed the turns; only the error is shown.
            after = replace(state, calls=max(state.calls - 1, 0), output="")
            return Transition(after, progress=self.progress_of(state), action_error=error)
        if not state.calls:
            # The output of the previous call is not shown again.
            error = "No call is left; write answer SELECT ..."
            return Transition(replace(state, output=""), progress=self.progress_of(state), action_error=error)
        return super().act(state, action)

    def progress_of(self, state: Session) -> float:
        assert isinstance(state, SchemaSearch)
        reached, number = state.milestones
        return reached / (number + 1)

    def oracle(self, state: SchemaSearch) -> str:
        described = {value for call in state.made for name, value in call.arguments if name == "table"}
        unseen = [table for table in state.needed if table not in described]
        gold = self.inner.oracle(state.task)
        if not state.made:
            inner: Any = self.inner
            many = len(describe_tables(inner.database_of(state.task))) > PAGE
            return fenced(f"search {state.needed[0]}" if many and state.needed else "tables", "")
        if unseen and state.calls:
            return fenced(f"describe {unseen[0]}", "")
        if state.calls and all(call.name != "query" for call in state.made) and "```sql" in gold:
            return fenced(f"query {query_in(gold)}", "")
        return fenced(f"answer {query_in(gold)}", "")

    def random_action(self, episode: SchemaSearch, rng: np.random.Generator) -> str:
        """Return a tool call, or an answer with the query of another question about the same database."""
        inner: Any = self.inner
        tables = list(describe_tables(inner.database_of(episode.task)))
        table = tables[int(rng.integers(len(tables)))]
        commands = ("tables", f"describe {table}", f"sample {table}", f"query SELECT COUNT(*) FROM {table}", "")
        command = commands[int(rng.integers(len(commands)))] if episode.calls else ""
        inner._params = {name: value for name, value in self._params.items() if name != "spare"}
        return fenced(command or f"answer {query_in(inner.random_action(episode.task, rng) or 'SELECT 1')}", "")

    def measure_states(self, states: Sequence[Any], name: str) -> Any:
        return list(states[-1].milestones) if name == "milestones" else super().measure_states(states, name)


register("palaestra/SQLExplorer-v0", f"{__name__}:SQLExplorer")
