"""Judges made of other judges: the mean of several passes, and the mean of several aspects.

EditScore (arXiv 2509.23909) multiplies two aspects under a square root, so that failing one of them fails both, and
averages several passes of a noisy judge.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

from ...checks import check_number, declared, option
from ...errors import InputError
from .judge import JUDGES, Judge, Judgement, as_judge


def geometric_mean(scores: Sequence[float], weights: Sequence[float] | None = None) -> float:
    """Return ``(prod s_i^w_i)^(1 / sum w)``; a single score of 0 with a positive weight makes it 0.

    Raises:
        InputError: a negative score or weight, no scores, or numbers of scores and weights that differ.
    """
    weights = [1.0] * len(scores) if weights is None else list(weights)
    if not scores or len(weights) != len(scores) or min(weights) < 0 or sum(weights) <= 0 or min(scores) < 0:
        raise InputError(f"a geometric mean needs scores and weights of at least 0, not {scores!r} and {weights!r}.")
    if any(score == 0 and weight > 0 for score, weight in zip(scores, weights)):
        return 0.0
    total = sum(weight * math.log(score) for score, weight in zip(scores, weights) if weight > 0)
    return math.exp(total / sum(weights))


@JUDGES.register("votes")
@declared
class Votes(Judge):
    """Mean score of several passes of one judge, each with its own seed.

    Failed passes are left out; the judgement is invalid if fewer than half of the passes succeeded.
    """

    name = "votes"
    paper = "EditScore, arXiv 2509.23909"
    of: Judge | str | Mapping[str, Any] = option(default="rules", says="the judge; its temperature should exceed 0.")
    votes: int = option(default=4, low=1, says="number of passes.")
    seed: int = option(default=0, says="seed of the first pass; later passes count up from it.")

    def setup(self) -> None:
        self.judge = as_judge(self.of)

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        calls = [partial(judge.score, principle, prompt, responses, reference) for judge in self._judges()]
        return _mean_judgement(self.judge.gather(calls))

    def grade(self, criteria: Sequence[str], prompt: str, response: str, reference: str | None = None) -> Judgement:
        calls = [partial(judge.grade, criteria, prompt, response, reference) for judge in self._judges()]
        return _mean_judgement(self.judge.gather(calls))

    def reseeded(self, seed: int) -> Votes:
        """Return a copy whose passes use other seeds than these passes and than those of other values of ``seed``."""
        return Votes(self.judge, self.votes, self.seed + self.votes * (1 + seed))

    def gather(self, calls: Sequence[Any]) -> list[Judgement]:
        return self.judge.gather(calls)

    def _judges(self) -> list[Judge]:
        return [self.judge.reseeded(self.seed + vote) for vote in range(self.votes)]

    def __repr__(self) -> str:
        return f"votes({self.judge!r}, {self.votes})"


@JUDGES.register("aspects")
@declared
class Aspects(Judge):
    """Mean of one judge's scores by several principles, which replace the principle given to `score`.

    Raises:
        InputError: no aspect, or a weight out of range.
    """

    name = "aspects"
    paper = "EditScore, arXiv 2509.23909"
    aspects: Mapping[str, float] | Sequence[str] = option(
        says="principles with their weights of at least 0, or a sequence of principles of equal weight."
    )
    of: Judge | str | Mapping[str, Any] = option(default="rules", says="the judge.")
    mean: Literal["geometric", "arithmetic"] = option(
        default="geometric", says="kind of mean; a 0 in one aspect makes the geometric mean 0."
    )

    def setup(self) -> None:
        weights = self.aspects if isinstance(self.aspects, Mapping) else dict.fromkeys(self.aspects, 1.0)
        self.weights = {name: check_number(f"the weight of {name!r}", weight, 0.0) for name, weight in weights.items()}
        if sum(self.weights.values()) <= 0:
            raise InputError(f"aspects must name at least one principle with a positive weight, not {self.aspects!r}.")
        self.judge = as_judge(self.of)

    def score(self, principle: str, prompt: str, responses: Sequence[str], reference: str | None = None) -> Judgement:
        calls = [partial(self.judge.score, aspect, prompt, responses, reference) for aspect in self.weights]
        answers = self.judge.gather(calls)
        if failure := next((answer for answer in answers if not answer.valid), None):
            return failure
        weights = list(self.weights.values())
        scores = []
        for column in zip(*(answer.scores for answer in answers)):
            arithmetic = sum(score * weight for score, weight in zip(column, weights)) / sum(weights)
            # Rounding may carry a mean of ones past 1.
            scores.append(min(1.0, geometric_mean(column, weights) if self.mean == "geometric" else arithmetic))
        return Judgement(tuple(scores))

    def gather(self, calls: Sequence[Any]) -> list[Judgement]:
        return self.judge.gather(calls)

    def reseeded(self, seed: int) -> Aspects:
        return Aspects(self.weights, self.judge.reseeded(seed), self.mean)

    def __repr__(self) -> str:
        return f"aspects({self.judge!r}, {', '.join(self.weights)})"


def _mean_judgement(answers: Sequence[Judgement]) -> Judgement:
    valid = [answer for answer in answers if answer.valid]
    if 2 * len(valid) < len(answers):
        return next(answer for answer in answers if not answer.valid)
    columns = zip(*(answer.scores for answer in valid))
    return Judgement(tuple(min(1.0, sum(column) / len(valid)) for column in columns), valid[0].feedback)
