"""Reasoning-SQL: the right result, and credit for the right tables, the right words, a query that runs, and form."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..answers import extract
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from ..verifiers.json_text import strip_code_fence
from ..verifiers.sql import Database, executes, verify_sql
from ..verifiers.sql_similarity import ngram_jaccard, schema_jaccard
from .format import FormatCheck, r1_format
from .scored import Score, Scorer


@register("reasoning-sql")
class ReasoningSQL(Reward):
    """The whole worth of a response that holds a query, in five or six terms, each a part in [0, 1] times its weight.

    "execution": the result is the gold query's; "schema" and "ngram": Jaccard indices of tables and columns, and of
    token n-grams; "syntax": the query runs; "format": tags; and "judge" for queries with another result. The extra
    "sql_reference" is the verifier's reference, ``{"schema": SQL script, "gold": query}`` or with "database".
    A query is what stands between ``<answer>`` tags, or all of the response.

    The bundle puts the right result first, whatever the rest; `ranks_success` is not claimed, as the environment's
    success may be another.

    Args:
        execution: weight of the right result; with that of ``syntax``, which it implies, at least as much as all other
            weights together.
        schema: weight.
        ngram: weight.
        syntax: weight.
        format: weight.
        judge: score in [0, 1] of a query with another result.
        judge_weight: its weight, used only with a judge. The weight of 2 that the paper is remembered by needs an
            ``execution`` of at least 5.
        n: length of the n-grams in tokens.
        seconds: CPU time that a query may take.
        check: the format; None is ``<think>...</think><answer>...</answer>`` and nothing else.

    Raises:
        InputError: weights with which a query with another result could outrank one with the right one; when called, a
            reference that cannot be used.
        MissingExtra: sqlglot is not installed (extra [sql]).
    """

    paper = "Reasoning-SQL, arXiv 2503.23157"
    needs = frozenset({"sql_reference"})
    complete = True

    def __init__(
        self,
        execution: float = 3.0,
        schema: float = 1.0,
        ngram: float = 1.0,
        syntax: float = 1.0,
        format: float = 1.0,
        judge: Scorer | None = None,
        judge_weight: float = 2.0,
        n: int = 2,
        seconds: float = 2.0,
        check: FormatCheck = r1_format,
    ):
        given = {"execution": execution, "schema": schema, "ngram": ngram, "syntax": syntax, "format": format}
        if judge is not None:
            given["judge"] = judge_weight
        self.weights = {name: check_number(name, weight, low=0.0) for name, weight in given.items()}
        rest = sum(weight for name, weight in self.weights.items() if name not in ("execution", "syntax"))
        if self.weights["execution"] < rest:
            raise InputError(
                f"execution={execution!r} must be at least the other weights but syntax together ({rest:g}), so that "
                "no query with another result outranks one with the right one."
            )
        self.judge = None if judge is None else Score(judge, "judge", 0.0, 1.0)
        self.n, self.check = n, check
        self.seconds = check_number("seconds", seconds, low=0.01)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, sum(self.weights.values()) - self.weights.get("judge", 0.0)

    def __call__(self, episode: Episode) -> Verdict:
        parts = self._parts(episode) if episode.valid else None
        if parts is None:
            return self.verdict(episode, None)
        terms = {name: weight * parts[name] for name, weight in self.weights.items()}
        return dataclasses.replace(self.verdict(episode, sum(terms.values())), terms=terms)

    def _parts(self, episode: Episode) -> Mapping[str, float] | None:
        reference: Any = episode.extra("sql_reference")
        query = extract(episode.response, "tag") or episode.response
        result = verify_sql(query, reference, seconds=self.seconds)
        if not result.valid:
            return None
        judged = 0.0 if self.judge is None or result.success else self.judge(episode)
        if judged is None:
            return None
        database = Database(reference.get("schema"), reference.get("database"))
        return {
            "execution": float(result.success),
            "schema": schema_jaccard(query, reference["gold"]),
            "ngram": ngram_jaccard(query, reference["gold"], n=self.n),
            "syntax": float(result.success or executes(strip_code_fence(query), database, seconds=self.seconds)),
            "format": float(self.check(episode)),
            "judge": judged,
        }
