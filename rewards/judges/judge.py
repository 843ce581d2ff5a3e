"""What judges text where no verifier can: one interface for rules, endpoints, ensembles and tournaments.

A judge is asked by principle ("cites evidence", "short", a criterion of a rubric) about one prompt and several
responses and answers with one score in [0, 1] each. A judge that did not answer says ``valid=False`` and has no scores
at all: nobody can mistake its silence for a zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from ...errors import InputError
from ...registry import Registry


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a judge says of several responses, or of one response by several criteria.

    Args:
        scores: one in [0, 1] each, in the order of the question; empty where ``valid`` is False.
        feedback: one text each; empty where there is none.
        valid: False when the judge failed or its answer could not be read.
        error: why it is not valid.

    Raises:
        InputError: a score outside [0, 1], feedback of another length, or scores that are not valid.
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
        """Indices from the best to the worst; equal scores keep their order."""
        return tuple(sorted(range(len(self.scores)), key=lambda index: -self.scores[index]))

    @classmethod
    def failed(cls, error: str) -> Judgement:
        """The judgement of a judge that did not answer."""
        return cls((), valid=False, error=error)


class Judge:
    """Base class; a subclass implements `score`, and `grade` or `gather` where it can do better than one by one."""

    name: ClassVar[str] = "judge"
    paper: ClassVar[str] = ""

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        """How well each of ``responses`` to ``prompt`` follows ``principle``.

        Args:
            principle: what counts, in words; trusted.
            prompt: what was asked.
            responses: what was answered; untrusted text of any length.
            reference: an answer known to be good, or None.
        """
        raise NotImplementedError(f"{type(self).__name__} must implement score(principle, prompt, responses).")

    def grade(self, criteria: Sequence[str], prompt: str, response: str, reference: str | None = None) -> Judgement:
        """How well one response meets each of ``criteria``; by default one question each."""
        answers = self.gather([_asking(self, criterion, prompt, response, reference) for criterion in criteria])
        for answer in answers:
            if not answer.valid:
                return answer
        feedback = tuple(answer.feedback[0] if answer.feedback else "" for answer in answers)
        return Judgement(tuple(answer.scores[0] for answer in answers), feedback)

    def gather(self, calls: Sequence[Callable[[], Judgement]]) -> list[Judgement]:
        """Make several calls; a judge that waits for a network makes them side by side."""
        return [call() for call in calls]

    def reseeded(self, seed: int) -> Judge:
        """The same judge with other noise, for votes; itself where there is no noise."""
        return self

    def __repr__(self) -> str:
        return self.name


def _asking(judge: Judge, criterion: str, prompt: str, response: str, reference: str | None) -> Callable[[], Judgement]:
    return lambda: judge.score(criterion, prompt, [response], reference)


JUDGES: Registry[Callable[..., Judge]] = Registry("judge")


def make(name: str, /, **options: Any) -> Judge:
    """The judge registered under ``name``, built with ``options``.

    Raises:
        InputError: unknown name, or options that its constructor does not take.
    """
    return JUDGES.make(name, **options)


def as_judge(judge: Judge | str | Mapping[str, Any]) -> Judge:
    """A judge from itself, from a registered name, or from data: ``{"judge": "endpoint", "model": "..."}``.

    Raises:
        InputError: it is none of these.
    """
    if isinstance(judge, Judge):
        return judge
    if isinstance(judge, str):
        return make(judge)
    if isinstance(judge, Mapping) and isinstance(judge.get("judge"), str):
        return make(judge["judge"], **{key: value for key, value in judge.items() if key != "judge"})
    raise InputError(f"a judge is a Judge, a registered name or {{'judge': name, ...options}}, not {judge!r}.")
