"""Rewards of Train Long, Think Short (arXiv 2508.08940): a triangle around a token budget that shrinks in training."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ...schedules import Schedule, StepDecay, schedule
from ..episode import Episode
from ..reward import register
from ..timed import Timed
from ..verdict import Verdict
from .format import pairs_once

# Their example: 256 tokens, times 0.7 every 100 updates.
BUDGET = StepDecay(start=256, factor=0.7, every=100, minimum=1)


def triangular(length: float, budget: float, peak: float = 1.0) -> float:
    """0 at length 0, ``peak`` at ``budget``, 0 at twice the budget and beyond; straight between.

    Very short answers lose as much as long ones: the method has a target, not only a limit.
    """
    return peak * max(0.0, 1.0 - abs(length - budget) / budget)


def checked_budget(budget: Schedule | Mapping[str, Any] | float) -> Schedule:
    """A schedule of token budgets. Raises InputError where it can reach 0."""
    made = schedule(budget)
    if made.bounds[0] <= 0:
        raise InputError(f"the token budget must stay above 0, but this schedule reaches {made.bounds[0]:g}.")
    return made


@register("triangular-length")
class TriangularLength(Timed):
    """A term of ``peak`` for an episode of exactly the budget, falling to 0 at no tokens and at twice the budget.

    Args:
        budget: tokens; a number, a schedule, or its data. It stays above 0.
        peak: the highest value, above 0.

    Raises:
        InputError: a budget that can reach 0, or a peak that is not positive.
    """

    paper = "Train Long, Think Short, arXiv 2508.08940, length reward"

    def __init__(self, budget: Schedule | Mapping[str, Any] | float = BUDGET, peak: float = 1.0):
        self.budget = checked_budget(budget)
        self.peak = check_number("peak", peak, low=1e-9)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.peak

    def value(self, episode: Episode) -> float:
        return triangular(episode.tokens, self.now(self.budget), self.peak)


@register("train-long-think-short")
class TrainLongThinkShort(Timed):
    """The whole reward: correctness, closeness to the token budget, and tags, as three terms.

    Args:
        budget: tokens; a number, a schedule, or its data. It stays above 0.
        correctness: weight of success.
        length: weight of the triangle, whose peak is 1.
        tags: weight of the tags, half for one ``<think>`` pair and half for one ``<answer>`` pair.

    Raises:
        InputError: ``correctness < length + tags``. The paper also tries such weights, with which a failed episode of
            the right length outranks a success; use a weighted sum of terms for those.
    """

    paper = "Train Long, Think Short, arXiv 2508.08940, total reward"
    complete = True
    ranks_success = True

    def __init__(
        self,
        budget: Schedule | Mapping[str, Any] | float = BUDGET,
        correctness: float = 1.0,
        length: float = 0.5,
        tags: float = 0.25,
    ):
        self.budget = checked_budget(budget)
        self.length = check_number("length", length, low=0.0)
        self.tags = check_number("tags", tags, low=0.0)
        self.correctness = check_number("correctness", correctness, low=1e-9)
        if self.correctness < self.length + self.tags:
            raise InputError(
                f"correctness={correctness!r} must be at least length + tags = {length + tags:g}, so that no failed "
                "episode outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.correctness + self.length + self.tags

    def __call__(self, episode: Episode) -> Verdict:
        terms = {
            "correctness": self.correctness * episode.success,
            "length": self.length * triangular(episode.tokens, self.now(self.budget)),
            "tags": self.tags * sum(0.5 * pairs_once(episode.response, tag) for tag in ("think", "answer")),
        }
        verdict = self.verdict(episode, sum(terms.values()))
        return dataclasses.replace(verdict, terms=terms) if verdict.valid else verdict
