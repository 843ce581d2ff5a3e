"""Interface of judges: rule-coded judges, endpoints and ensembles.

Given a principle ("cites evidence", "short", a criterion of a rubric), a prompt and several responses, a judge gives
each response a score in [0, 1]. If a judge fails, the judgement has ``valid=False`` and no scores, so that a failure
is never taken for a score of 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from ...checks import Declared
from ...errors import InputError
from ...registry import Registry, take_callable


@dataclass(frozen=True, slots=True)
class Judgement:
    """Scores of several responses, or of one response by several criteria.

    Args:
        scores: one in [0, 1] for each response or criterion, in order; must be empty if ``valid`` is False.
        feedback: one text for each score, or empty.
        valid: False if the judge failed or its answer could not be read.
        error: the reason if ``valid`` is False.

    Raises:
        InputError: a score outside [0, 1], feedback of another length, or scores with ``valid=False``.
    """

    scores: tuple[float, ...]
    feedback: tuple[str, ...] = ()
    valid: bool = True
    error: str = ""

    def __post_init__(self) -> None:
        if not all(0.0 <= score <= 1.0 for score in self.scores):  # also refuses NaN
            raise InputError(f"a judgement's scores must lie in [0, 1], not {list(self.scores)!r}.")
        if self.feedback and len(self.feedback) != len(self.scores):
            raise InputError(f"{len(self.scores)} scores need as many feedbacks, not {len(self.feedback)}.")
        if not self.valid and self.scores:
            raise InputError("a judgement with valid=False has no scores; leave them empty.")

    @property
    def ranking(self) -> tuple[int, ...]:
        """Indices of the scores from best to worst; equal scores keep their order."""
        return tuple(sorted(range(len(self.scores)), key=lambda index: -self.scores[index]))

    @classmethod
    def failed(cls, error: str) -> Judgement:
        """Return an invalid judgement with the reason ``error``."""
        return cls((), valid=False, error=error)

    @property
    def first(self) -> float | str:
        """First score, or the error message if the judge failed."""
        return self.scores[0] if self.valid else self.error or "the judge failed"


class Judge(Declared):
    """Base class of judges. A subclass implements `score`, and also `grade` or `gather` if it can answer several
    questions at once. Its options are declared (see `checks.declared`)."""

    name: ClassVar[str] = "judge"
    paper: ClassVar[str] = ""

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        """Score each of ``responses`` to ``prompt`` by how well it follows ``principle``.

        Args:
            principle: the standard of judgement, in words; trusted.
            prompt: the task.
            responses: untrusted text of any length.
            reference: an answer known to be good, or None.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement score(principle, prompt, responses).")

    def grade(self, criteria: Sequence[str], prompt: str, response: str, reference: str | None = None) -> Judgement:
        """Score how well one response meets each of ``criteria``; by default with one call of `score` per criterion."""
        calls = [partial(self.score, criterion, prompt, [response], reference) for criterion in criteria]
        answers = self.gather(calls)
        for answer in answers:
            if not answer.valid:
                return answer
        feedback = tuple(answer.feedback[0] if answer.feedback else "" for answer in answers)
        return Judgement(tuple(answer.scores[0] for answer in answers), feedback)

    def gather(self, calls: Sequence[Callable[[], Judgement]]) -> list[Judgement]:
        """Make several calls and return their judgements; a judge that waits for a network makes them in parallel."""
        return [call() for call in calls]

    def reseeded(self, seed: int) -> Judge:
        """Return the judge with another seed, for independent votes; the judge itself if it has no randomness."""
        return self

    def __repr__(self) -> str:
        return self.name


JUDGES: Registry[Callable[..., Judge]] = Registry("judge", take=take_callable)


def make(name: str, /, **options: Any) -> Judge:
    """Build the judge registered under ``name`` with ``options``.

    Raises:
        InputError: unknown name, or options that its constructor does not take.
    """
    return JUDGES.make(name, **options)


def as_judge(judge: Judge | str | Mapping[str, Any]) -> Judge:
    """Resolve a judge: a `Judge` object, a registered name, or data such as ``{"judge": "endpoint", "model": "..."}``.

    Raises:
        InputError: ``judge`` has another form.
    """
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, str):
        return make(judge)
    if isinstance(judge, Mapping) and isinstance(judge.get("judge"), str):
        return make(judge["judge"], **{key: value for key, value in judge.items() if key != "judge"})
    raise InputError(f"a judge is a Judge, a registered name or {{'judge': name, ...options}}, not {judge!r}.")


def check_judge(name: str, judge: Judge | str | Mapping[str, Any]) -> Judge:
    """Return the judge that an option describes; see `as_judge`."""
    return as_judge(judge)
