"""Rewards of programs and queries: tests passed, kinds of errors, milestones reached, SQL.

The extra "tests" says for each test how it failed: "" (it passed), "wrong" (another value or output), "error" (an
exception, a signal, an exit code), "limit" (time, memory, output) or "syntax" (it is no Python); None where no program
was judged. The code environments supply it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ...checks import check_count, check_number
from ...errors import InputError
from ..answers import extract
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from ..verifiers.json_text import strip_code_fence
from ..verifiers.sql import Database, executes, verify_sql
from ..verifiers.sql_similarity import ngram_jaccard, schema_jaccard
from .format import FormatCheck, r1_format
from .scores import Score, Scorer

KINDS = ("", "wrong", "error", "limit", "syntax")


def failures_of(episode: Episode) -> Sequence[str]:
    """The extra "tests"; () where no program was judged.

    Raises:
        InputError: it is missing, or holds something else.
    """
    failures = episode.extra("tests")
    if failures is None:
        return ()
    if isinstance(failures, (list, tuple)) and all(failure in KINDS for failure in failures):
        return failures
    raise InputError(f"the extra 'tests' must be a list of {', '.join(map(repr, KINDS))}, or None, not {failures!r}.")


def share_passed(episode: Episode) -> float:
    """Of the tests; 1 for a success alone, 0 where no program was judged."""
    failures = failures_of(episode)
    if episode.success:
        return 1.0
    # A success needs more than its tests where a program also has to be fast.
    return min(failures.count("") / len(failures), 1.0 - 1.0 / (len(failures) + 1)) if failures else 0.0


def outcome_of(episode: Episode) -> str:
    """How a program that is no success failed: by the worst kind among its tests ("syntax" where there was none to
    judge, "wrong" where all of them passed)."""
    failures = failures_of(episode)
    return max(failures, key=KINDS.index) or "wrong" if failures else "syntax"


@register("tests-passed")
class TestsPassed(Reward):
    """The whole worth of a program: 1 for a success, and up to ``partial`` for the share of the tests that passed.

    Args:
        partial: what all tests together would be worth to a program that fails one; below 1.
        power: of the share: above 1, the last tests count most.

    Raises:
        InputError: an argument out of its range; when called, an extra "tests" of another form.
    """

    paper = "APPS, arXiv 2105.09938 (test case average, strict accuracy)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})

    def __init__(self, partial: float = 1.0, power: float = 1.0):
        self.partial = check_number("partial", partial, low=0.0, high=1.0)
        self.power = check_number("power", power, low=1e-3)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def value(self, episode: Episode) -> float:
        share = share_passed(episode)
        return share if share == 1.0 else self.partial * share**self.power


@register("error-kind")
class ErrorKind(Reward):
    """The whole worth of a program: 1 for a success, and less by how the worst of its tests failed.

    Args:
        syntax: value of text that Python cannot read, or that holds no program.
        error: value of a program that an exception, a signal, an exit code or a limit ended in some test.
        wrong: value of one that runs, with another result in some test.
        adaptive: of one that runs, pay up to 1 by the share of its tests that passed, from ``wrong`` on (RLTF).

    Raises:
        InputError: not ``syntax <= error <= wrong < 1``; when called, an extra "tests" of another form.
    """

    paper = "CodeRL, arXiv 2207.01780, Eq. 5; RLTF, arXiv 2307.04349 (adaptive feedback)"
    complete = True
    ranks_success = True
    needs = frozenset({"tests"})

    def __init__(self, syntax: float = -1.0, error: float = -0.6, wrong: float = -0.3, adaptive: bool = False):
        self.wrong = check_number("wrong", wrong, high=1.0 - 1e-9)
        self.error = check_number("error", error, high=self.wrong)
        self.syntax = check_number("syntax", syntax, high=self.error)
        self.adaptive = adaptive

    @property
    def bounds(self) -> tuple[float, float]:
        return self.syntax, 1.0

    def value(self, episode: Episode) -> float:
        kind = outcome_of(episode)
        if episode.success:
            return 1.0
        if kind == "syntax":
            return self.syntax
        if kind != "wrong":
            return self.error
        return self.wrong + (1.0 - self.wrong) * share_passed(episode) * self.adaptive


@register("syntax")
class Syntax(Reward):
    """A term for a program that Python can read.

    Args:
        bonus: value of one that it can read.
        penalty: value of text that it cannot, or that holds no program; not above ``bonus``.

    Raises:
        InputError: ``penalty > bonus``; when called, an extra "tests" of another form.
    """

    paper = "PPOCoder, arXiv 2301.13816 (compiler feedback)"
    needs = frozenset({"tests"})

    def __init__(self, bonus: float = 0.0, penalty: float = -1.0):
        self.bonus = check_number("bonus", bonus)
        self.penalty = check_number("penalty", penalty, high=self.bonus)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.penalty, self.bonus

    def value(self, episode: Episode) -> float:
        return self.penalty if outcome_of(episode) == "syntax" else self.bonus


@register("milestones")
class Milestones(Reward):
    """The whole worth of a program: its score for a success; else ``failure``, and ``bonus`` a milestone reached.

    The extra "milestones" is (reached, of how many), which the environment counts and not the program; None where none
    was run.

    Args:
        failure: value of a program that failed and reached nothing.
        bonus: for each milestone.
        most: milestones that are paid.

    Raises:
        InputError: milestones that could pay more than the lowest score, 0; when called, an extra of another form.
    """

    paper = "RL for machine learning engineering agents, arXiv 2509.01684 (environment instrumentation)"
    complete = True
    ranks_success = True
    needs = frozenset({"milestones"})

    def __init__(self, failure: float = -10.0, bonus: float = 0.1, most: int = 7):
        self.bonus = check_number("bonus", bonus, low=0.0)
        self.most = check_count("most", most)
        self.failure = check_number("failure", failure, high=-self.bonus * self.most)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.failure, 1.0

    def value(self, episode: Episode) -> float:
        reached = _reached(episode)
        return episode.progress if episode.success else self.failure + self.bonus * min(reached, self.most)


def _reached(episode: Episode) -> int:
    found = episode.extra("milestones")
    if found is None:
        return 0
    if isinstance(found, (list, tuple)) and len(found) == 2 and 0 <= found[0] <= found[1]:
        return int(found[0])
    raise InputError(f"the extra 'milestones' must be (reached, of how many), or None, not {found!r}.")


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
