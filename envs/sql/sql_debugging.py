"""palaestra/SQLDebugging-v0: mend a query in several turns, with the engine's errors and first rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import InputError
from ...rewards.answers import MAX_PROGRAM, query_in
from ..game import Game, Transition
from ..param_space import IntAxis, ParamSpace
from ..question import Task, with_prompt
from ..registration import register
from ..tools.tool_question import make_question
from ..unicode import Unicode
from .database_tools import SHOWN, QueryRunner
from .engines import EngineFailure, count_milestones
from .engines.large_grading import TOO_SLOW
from .sql_repair import BrokenQuery, SQLRepair

_TURNS = IntAxis("turns", 2, 6, harder="down", limits=(1, 12))
# Characters around the question, and around the rows.
_ADDED = 512


@dataclass(frozen=True, slots=True)
class QueryDialogue:
    """The state of an episode.

    Args:
        task: the question.
        milestones: the number of milestones of a query; see `count_milestones`.
        given: the number that the query of the question reaches, or 0 if it has none.
        best: the largest number that any query has reached so far.
        turns: the number of turns left.
        output: the first rows of the last turn's query; "" after an error, None before the first turn.
    """

    task: Task
    milestones: int
    given: int
    best: int
    turns: int
    output: str | None = None

    @property
    def over(self) -> bool:
        return self.best == self.milestones

    @property
    def progress(self) -> float:
        """Share of the milestones missing at first that the best query has reached, 0 to 1. Rounded to 30 binary
        places, so that the increments sum to exactly 1."""
        return round((self.best - self.given) / (self.milestones - self.given) * 2**30) / 2**30


class SQLDebugging(Game):
    """Mend a query in several turns, with the errors and the first rows of each.

    Description:
        The question is one of `SQLRepair`, with a query that is almost right (or of another family about databases,
        ``of``, such as `TextToSQL`, where the first query is the agent's own). In each turn the agent writes a query.
        If it is wrong, its error message or its first rows come back, and it may be mended. Both are those of the
        engine on the database shown in the prompt, and tell nothing of the right query or of the other databases that
        judge it.

    Parameters:
        joins (0 to 2, on request up to 3): number of tables joined to the first one.
        tables (0 to 2, on request up to 40): number of further tables of the database.
        nesting (0 to 2): depth of nested queries in the conditions.
        fault (error, result): whether the query fails, or has a wrong result.
        wording (names, phrases): whether the question uses the names of tables and columns, or English words for them.
        clauses (1 to 4, on request up to 6): number of conditions, aggregates, groupings, sort keys and limits.
        noise (0 to 2, on request up to 4): number of further columns, often with names similar to others.
        turns (6 to 2, harder downwards, on request 1 to 12): queries in all. One may suffice.

    Observation:
        The question with its tables and its query; then the error of the last query, or its first rows in at most 1000
        characters, and the number of turns left.

    Actions:
        Text with the whole query, best in a block ```` ```sql ````. The whole reply is read, unless ``answer_format``
        says otherwise.

    Reward:
        1 for the right query, in whatever turn, and 0 otherwise. With ``graded=True`` the reward of a turn is the
        increase of ``info["progress"]``: (best - given) / (all - given) milestones, where ``given`` is reached by the
        query of the question and ``best`` by the best query so far. The extra ``milestones`` has the best number and
        all: the query runs, it has the right number of columns, and one for each database on which it is right. A turn
        in which the engine fails is invalid, and changes only the number of turns left.

    Termination:
        With the right query. Truncated when no turn is left. A query that fails is an ``action_error`` and uses up a
        turn; so does a reply without a query.

    Source:
        Self-correction by error messages and results as in Self-Debug (arXiv 2304.05128) and InterCode (arXiv
        2306.14898); databases, questions and mistakes as in `SQLRepair`.

    Args:
        graded: True for a reward for progress; see Reward.
        of: the id of a question about a database: SQLRepair, TextToSQL, Spider or BIRD.
        of_kwargs: arguments for it, such as ``{"engine": "duckdb"}``: queries run, and fail, in that engine.
        answer_format: how the query is read; None for the family's default.
        seconds: time limit of a query on the database shown, in processor time except for PostgreSQL.
        **kwargs: as for every environment; the axes are those of ``of``, and turns.

    Raises:
        InputError: ``of`` is no such question, or an argument does not fit.
    """

    param_space = ParamSpace([*SQLRepair.param_space.axes, _TURNS], spread=True)
    default_answer_format = "whole"
    answer_form = "program"
    max_answer = MAX_PROGRAM
    strips_marks = False
    supplies = frozenset({"milestones"})
    keeps_states = True

    def __init__(
        self,
        *,
        graded: bool = False,
        of: str = "palaestra/SQLRepair-v0",
        of_kwargs: Mapping[str, Any] | None = None,
        answer_format: str | None = None,
        seconds: float = 2.0,
        **kwargs: Any,
    ):
        self.inner = make_question(type(self).__name__, of, with_prompt(of_kwargs, kwargs), answer_format)
        if not hasattr(self.inner, "grading_of"):
            raise InputError(f"`of` must be the id of a question about a database that queries answer; {of} is not.")
        self.graded, self.of, self.runner = graded, of, QueryRunner(seconds)
        self.param_space = ParamSpace([*self.inner.param_space.axes, _TURNS], self.inner.param_space.spread)
        self.supplies = self.supplies | self.inner.supplies
        super().__init__(answer_format=answer_format, **kwargs)
        # The question draws tasks of its split alone.
        self.inner.split = self.split
        self.observation_space = Unicode(max(self.inner.max_observation, SHOWN) + _ADDED)

    def start(self, rng: np.random.Generator, params: dict[str, Any]) -> QueryDialogue:
        task = self.inner.generate(rng, {name: value for name, value in params.items() if name != "turns"})
        try:
            given, number = self._count(task, task.data.wrong if isinstance(task.data, BrokenQuery) else "")
        except EngineFailure:
            # The reference of a data set cannot be run: no turn is valid.
            given, number = 0, 1
        return QueryDialogue(task, number, given, given, params["turns"])

    def _count(self, task: Task, query: str) -> tuple[int, int]:
        """Count the milestones of a query and all milestones. A query that is not right lacks at least one."""
        inner: Any = self.inner
        reached, number = count_milestones(query, **inner.grading_of(task))
        return min(reached, number - 1), number

    def turn_limit(self, state: QueryDialogue) -> int:
        return state.turns

    def observe(self, state: QueryDialogue) -> str:
        if state.over:
            return ""
        left = "no turn" if not state.turns else "one turn" if state.turns == 1 else f"{state.turns} turns"
        if state.output is None:
            return (
                f"{self.inner.prompt_of(state.task)}\nYou have {left}; in each, write one query. The right one ends "
                "the exercise. Of any other, the error or the first rows on the database above come back, so that you "
                "can mend it."
            )
        rows = f"```output\n{state.output}\n```\n" if state.output else ""
        return f"{rows}You have {left} left."

    def step(self, action: Any) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self.require_running()
        # An action that cannot be read uses up a turn as well, but never reaches `act`.
        if self.read_action(action)[1]:
            self._state = replace(self._state, turns=self._state.turns - 1, output="")
        return super().step(action)

    def act(self, state: QueryDialogue, action: str) -> Transition:
        state = replace(state, turns=state.turns - 1, output="")
        query = query_in(action)
        verdict = self.inner.verify(state.task, action)
        shown = self.runner.run({"query": query}, self.inner, state.task)
        if not (verdict.valid and shown.valid):
            return Transition(state, progress=state.progress, terms={"query": 0.0}, valid=False)
        error = shown.error or (verdict.feedback if verdict.feedback.startswith(TOO_SLOW) else None)
        if verdict.success:
            after = replace(state, best=state.milestones)
        else:
            try:
                best = max(state.best, self._count(state.task, query)[0])
            except EngineFailure:
                return Transition(state, progress=state.progress, terms={"query": 0.0}, valid=False)
            after = replace(state, best=best, output=shown.output)
        earned = after.progress - state.progress if self.graded else float(verdict.success)
        return Transition(
            *(after, verdict.success, verdict.success, after.progress),
            terms={"query": earned},
            action_error=None if verdict.success else error,
            feedback=after.output or "",
        )

    def oracle(self, state: QueryDialogue) -> str:
        return self.inner.oracle(state.task)

    def random_action(self, episode: QueryDialogue, rng: np.random.Generator) -> str:
        """Return a query that answers another question about the same database."""
        self.inner._params = {name: value for name, value in self._params.items() if name != "turns"}
        return self.inner.random_action(episode.task, rng)

    def measure_states(self, states: Sequence[QueryDialogue], name: str) -> Any:
        if name == "milestones":
            return [states[-1].best, states[-1].milestones]
        return self.inner.compute_extra(states[0].task, name)

    def solver_cost(self, episode: QueryDialogue) -> float:
        """Return the characters of the prompt and the right query."""
        return float(len(episode.task.prompt) + len(self.inner.oracle(episode.task)))

    def content_of(self, episode: QueryDialogue) -> str:
        return self.inner.content_of(episode.task)

    def split_key(self, episode: QueryDialogue) -> str:
        return self.inner.split_key(episode.task)

    def close(self) -> None:
        self.inner.close()


register("palaestra/SQLDebugging-v0", f"{__name__}:SQLDebugging")
