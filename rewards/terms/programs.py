"""Rewards of programs and queries: tests passed, kinds of errors, milestones reached, SQL.

``episode.extra("tests")`` holds one entry for each test: "" (it passed), "wrong" (another value or output), "error" (an
exception, a signal, an exit code), "limit" (time, memory, output) or "syntax" (not valid Python); it is None if no
program was judged. The code environments supply it.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ...checks import check_number, option
from ...errors import InputError
from ..answers import extract, query_in
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from ..verifiers.sql import executes, read_reference, verify_sql
from ..verifiers.sql_clauses import clause_similarity
from ..verifiers.sql_similarity import ngram_jaccard, parse_query, schema_jaccard
from .format import FormatCheck, r1_format
from .scores import ScoreSource

KINDS = ("", "wrong", "error", "limit", "syntax")


def failures_of(episode: Episode) -> Sequence[str]:
    """Return ``episode.extra("tests")``, or () if no program was judged.

    Raises:
        InputError: the extra is missing, or holds something else.
    """
    failures = episode.extra("tests")
    if failures is None:
        return ()
    if isinstance(failures, (list, tuple)) and all(failure in KINDS for failure in failures):
        return failures
    raise InputError(f"the extra 'tests' must be a list of {', '.join(map(repr, KINDS))}, or None, not {failures!r}.")


def share_passed(episode: Episode) -> float:
    """Return the share of the tests that passed; 1 only for a success, 0 if no program was judged."""
    failures = failures_of(episode)
    if episode.success:
        return 1.0
    # A program that passes all tests can still fail, such as by being too slow.
    return min(failures.count("") / len(failures), 1.0 - 1.0 / (len(failures) + 1)) if failures else 0.0


def worst_failure(episode: Episode) -> str:
    """Return the worst kind of failure among the tests; "syntax" without a program, "wrong" if all tests passed."""
    failures = failures_of(episode)
    return max(failures, key=KINDS.index) or "wrong" if failures else "syntax"


@register("tests-passed")
class TestsPassed(Reward):
    """Reward of a whole program: 1 for a success, otherwise ``partial * share of passed tests ** power``.

    Raises:
        InputError: when called, ``episode.extra("tests")`` has another form.
    """

    paper = "APPS, arXiv 2105.09938 (test case average, strict accuracy)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})
    bounds = (0.0, 1.0)
    partial: float = option(default=1.0, low=0, high=1, says="factor of the share of passed tests.")
    power: float = option(default=1.0, low=1e-3, says="exponent of the share; above 1, the last tests count most.")

    def value(self, episode: Episode) -> float:
        share = share_passed(episode)
        return share if share == 1.0 else self.partial * share**self.power


@register("error-kind")
class ErrorKind(Reward):
    """Reward of a whole program: 1 for a success, and less by the worst kind of failure among its tests.

    Raises:
        InputError: ``syntax <= error <= wrong < 1`` does not hold; when called, ``episode.extra("tests")`` has another
            form.
    """

    paper = "CodeRL, arXiv 2207.01780, Eq. 5; RLTF, arXiv 2307.04349 (adaptive feedback)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})
    syntax: float = option(default=-1.0, says="reward of text that Python cannot parse, or that holds no program.")
    error: float = option(default=-0.6, says="reward of a program that an exception, exit code or limit ended.")
    wrong: float = option(default=-0.3, high=1.0 - 1e-9, says="reward of a program with another result; below 1.")
    adaptive: bool = option(default=False, says="raise ``wrong`` towards 1 by the share of tests passed (RLTF).")

    def setup(self) -> None:
        check_number("error", self.error, high=self.wrong)
        check_number("syntax", self.syntax, high=self.error)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.syntax, 1.0

    def value(self, episode: Episode) -> float:
        kind = worst_failure(episode)
        if episode.success:
            return 1.0
        if kind == "syntax":
            return self.syntax
        if kind != "wrong":
            return self.error
        return self.wrong + (1.0 - self.wrong) * share_passed(episode) * self.adaptive


@register("syntax")
class Syntax(Reward):
    """Term for a program that Python can parse.

    Raises:
        InputError: ``penalty > bonus``; when called, ``episode.extra("tests")`` has another form.
    """

    paper = "PPOCoder, arXiv 2301.13816 (compiler feedback)"
    needs = frozenset({"tests"})
    bonus: float = option(default=0.0, says="value of a program that Python can parse.")
    penalty: float = option(default=-1.0, says="value of any other text; not above ``bonus``.")

    def setup(self) -> None:
        check_number("penalty", self.penalty, high=self.bonus)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, self.bonus

    def value(self, episode: Episode) -> float:
        return self.penalty if worst_failure(episode) == "syntax" else self.bonus


@register("milestones")
class Milestones(Reward):
    """Reward of a whole program: its score for a success; else ``failure``, plus ``bonus`` for each milestone reached.

    ``episode.extra("milestones")`` is (number reached, number of all), counted by the environment and not by the
    program; None if no program was run.

    Raises:
        InputError: milestones that could raise a failure above the lowest score, 0; when called, an extra of another
            form.
    """

    paper = "RL for machine learning engineering agents, arXiv 2509.01684 (environment instrumentation)"
    complete = True
    ranks_success = True
    needs = frozenset({"milestones"})
    failure: float = option(default=-10.0, says="reward of a program that failed and reached no milestone.")
    bonus: float = option(default=0.1, low=0, says="added for each milestone.")
    most: int = option(default=7, says="largest number of milestones that count.")

    def setup(self) -> None:
        check_number("failure", self.failure, high=-self.bonus * self.most)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.failure, 1.0

    def value(self, episode: Episode) -> float:
        extra = episode.extra("milestones")
        if extra is None:
            reached = 0
        elif isinstance(extra, (list, tuple)) and len(extra) == 2 and 0 <= extra[0] <= extra[1]:
            reached = int(extra[0])
        else:
            raise InputError(f"the extra 'milestones' must be (reached, of how many), or None, not {extra!r}.")
        return episode.progress if episode.success else self.failure + self.bonus * min(reached, self.most)


def query_of(episode: Episode) -> str:
    """Return the query in the last action: in the tag <answer>, or else the last SQL block after the thoughts, or else
    all text after the thoughts. A leading word "answer", a command of `SQLExplorer`, is removed."""
    query = query_in(extract(episode.response, "tag") or extract(episode.response, "whole") or "")
    return re.sub(r"^\s*answer\b:?\s*", "", query, flags=re.IGNORECASE)


@register("sql-clauses")
class SQLClauses(Reward):
    """Reward of a whole response that holds a query: 1 for a success, otherwise ``partial`` times the mean clause
    overlap.

    The overlap of each clause (select, from, where, group, having, order, limit, set operations) is the share in common
    with the right query; see `verifiers.sql_clauses.compare_clauses`.

    Raises:
        InputError: when called, a reference that cannot be used.
        MissingExtra: sqlglot is not installed (extra [sql]).
    """

    paper = "Spider, arXiv 1809.08887, Section 5 (component matching)"
    complete = True
    ranks_success = True
    needs = frozenset({"sql_reference"})
    bounds = (0.0, 1.0)
    partial: float = option(default=0.5, low=0, high=1.0 - 1e-6, says="factor of the share, below 1.")

    def value(self, episode: Episode) -> float:
        if episode.success:
            return 1.0
        gold, dialect = _read_gold(episode.extra("sql_reference"))
        return self.partial * clause_similarity(query_of(episode), gold, dialect=dialect)


@register("reasoning-sql")
class ReasoningSQL(Reward):
    """Reward of a whole response that holds a query, in five or six terms, each a weight times a part in [0, 1].

    "execution": the result equals the gold query's; "schema" and "ngram": Jaccard indices of tables and columns, and of
    token n-grams; "syntax": the query runs; "format": tags; and "judge" for queries with another result. The query is
    the text between ``<answer>`` tags, or else the last SQL block after the thoughts, or else all text after the
    thoughts.

    ``episode.extra("sql_reference")`` is the verifier's reference, or {"dialect": of sqlglot, "gold": query} from an
    environment that runs queries in a separate engine. In the latter case the result is right if the episode is a
    success, and the query runs if the environment reports no error and sqlglot parses it.

    A query with the right result always outranks a query with a wrong one. `ranks_success` is not claimed, as the
    environment's success may differ from the right result. The paper's weight of the execution is recalled as 3, with
    which a wrong query can tie.

    Raises:
        InputError: weights with which a query with another result could outrank one with the right one; when called, a
            reference that cannot be used.
        MissingExtra: sqlglot is not installed (extra [sql]).
    """

    paper = "Reasoning-SQL, arXiv 2503.23157"
    needs = frozenset({"sql_reference"})
    complete = True
    execution: float = option(
        default=3.5, low=0, says="weight of the right result; must exceed the sum of all others but ``syntax``."
    )
    schema: float = option(default=1.0, low=0, says="weight of tables and columns in common.")
    ngram: float = option(default=1.0, low=0, says="weight of n-grams in common.")
    syntax: float = option(default=1.0, low=0, says="weight of a query that runs.")
    format: float = option(default=1.0, low=0, says="weight of the format.")
    judge: Any = option(default=None, says="score in [0, 1] of a query with another result.")
    judge_weight: float = option(default=2.0, low=0, says="weight of a judge; the default needs ``execution`` above 5.")
    n: int = option(default=2, low=1, says="length of the n-grams in tokens.")
    seconds: float = option(default=2.0, low=0.01, says="CPU time that a query may take.")
    check: FormatCheck = option(default=r1_format, says="the format; tags for thought and answer by default.")

    def setup(self) -> None:
        self.weights = {name: getattr(self, name) for name in ("execution", "schema", "ngram", "syntax", "format")}
        if self.judge is not None:
            self.weights["judge"] = self.judge_weight
        rest = sum(weight for name, weight in self.weights.items() if name not in ("execution", "syntax"))
        if not self.weights["execution"] > rest:
            raise InputError(
                f"execution={self.execution!r} must exceed the other weights but syntax together ({rest:g}), so that "
                "no query with another result outranks one with the right one."
            )
        self.judge = None if self.judge is None else ScoreSource(self.judge, "judge", 0.0, 1.0)

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
        query = query_of(episode)
        gold, dialect = _read_gold(reference)
        if "dialect" in reference:
            right = episode.success
            runs = right or (parse_query(query, dialect) is not None and episode.steps[-1].action_error is None)
        else:
            result = verify_sql(query, reference, seconds=self.seconds)
            if not result.valid:
                return None
            right = result.success
            runs = right or executes(query, read_reference(reference)[0][0], seconds=self.seconds)
        judged = 0.0 if self.judge is None or right else self.judge(episode)
        if judged is None:
            return None
        return {
            "execution": float(right),
            "schema": schema_jaccard(query, gold, dialect=dialect),
            "ngram": ngram_jaccard(query, gold, n=self.n),
            "syntax": float(runs),
            "format": float(self.check(episode)),
            "judge": judged,
        }


def _read_gold(reference: Any) -> tuple[str, str]:
    """Return the right query of a reference, and its dialect."""
    if isinstance(reference, Mapping) and set(reference) == {"dialect", "gold"}:
        return reference["gold"], reference["dialect"]
    return read_reference(reference)[1], "sqlite"
