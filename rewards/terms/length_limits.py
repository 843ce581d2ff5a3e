"""Length rewards that compare an episode with a limit, a target or a budget of tokens.

Rewards that compare an episode with its siblings are in `length_relative.py`. Lengths are tokens of all actions.
"""

from __future__ import annotations

import dataclasses
from typing import Literal

from ...checks import check_number, option
from ...errors import InputError
from ...schedules import Schedule, ScheduleLike, StepDecay, half_cosine, schedule
from ..episode import Episode
from ..reward import Reward, register
from ..update_counter import UpdateCounter
from ..verdict import Verdict
from .format import has_one_pair
from .scores import read_score


def overlong(length: float, limit: float, cache: float) -> float:
    """Return -clip((length - (limit - cache)) / cache, 0, 1) (DAPO, arXiv 2503.14476, eq. 13)."""
    return -min(max((length - (limit - cache)) / cache, 0.0), 1.0)


@register("overlong")
class Overlong(Reward):
    """0 up to ``max_tokens - cache`` tokens, then linear down to -1 at ``max_tokens``, and -1 beyond.

    By default the cache is a fifth of the limit, the paper's ratio (4,096 of 20,480), and at least one token.

    Raises:
        InputError: when called on an episode without any limit, or whose limit is smaller than the cache.
    """

    paper = "DAPO, arXiv 2503.14476, eq. 13"
    bounds = (-1.0, 0.0)
    cache: int | None = option(default=None, low=1, unit="tokens", says="width of the interval of growing penalty.")
    max_tokens: int | None = option(default=None, low=1, unit="tokens", says="the limit; None takes the episode's own.")

    def value(self, episode: Episode) -> float:
        limit = self.max_tokens if self.max_tokens is not None else episode.max_tokens
        if limit is None:
            raise InputError("the overlong reward needs a length limit: pass max_tokens, or give the episode one.")
        cache = self.cache if self.cache is not None else max(1, limit // 5)
        if cache > limit:
            raise InputError(f"cache={cache} tokens is more than the limit of {limit}; choose a smaller cache.")
        return overlong(episode.tokens, limit, cache)


def cosine_length(length: float, limit: float, at_zero: float, at_limit: float) -> float:
    """Return ``at_zero`` at no tokens, ``at_limit`` at ``limit`` tokens and beyond, and half a cosine in between."""
    return half_cosine(min(length / limit, 1.0), at_zero, at_limit)


def _check_pair(name: str, pair: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise InputError(f"{name} must be two numbers, at no tokens and at the limit, not {pair!r}.")
    return check_number(f"{name}[0]", pair[0]), check_number(f"{name}[1]", pair[1])


@register("cosine-length")
class CosineLength(Reward):
    """Reward of a whole episode by its success and its length, along half a cosine.

    By default longer failures get more, to encourage longer thinking. The paper also gives ``exceeded`` to successes; a
    failure can then outrank a success, and `ranks_success` is off.

    Raises:
        InputError: some failure would get more than some success; when called, there is no limit.
    """

    paper = "Demystifying Long Chain-of-Thought Reasoning in LLMs, arXiv 2502.03373 (cosine reward)"
    complete = True
    ranks_success = True
    correct: tuple[float, float] = option(
        default=(2.0, 1.0), check=_check_pair, says="rewards of a success of no tokens and of one at the limit."
    )
    wrong: tuple[float, float] = option(default=(-10.0, 0.0), check=_check_pair, says="the same for a failure.")
    exceeded: float = option(default=-10.0, says="reward of a failure that reaches the limit.")
    max_tokens: int | None = option(default=None, low=1, unit="tokens", says="the limit; None takes the episode's own.")
    exceed_successes: bool = option(default=False, says="also give ``exceeded`` to a success at the limit.")

    def setup(self) -> None:
        if min(self.correct) < max(*self.wrong, self.exceeded):
            raise InputError(
                f"every value of correct={self.correct!r} must be at least every one of wrong={self.wrong!r} and "
                f"exceeded={self.exceeded!r}, so that no failed episode outranks a success."
            )
        if self.exceed_successes:
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        values = (*self.correct, *self.wrong, self.exceeded)
        return min(values), max(values)

    def value(self, episode: Episode) -> float:
        limit = self.max_tokens if self.max_tokens is not None else episode.max_tokens
        if limit is None or limit < 1:
            raise InputError("the cosine length reward needs a length limit: pass max_tokens, or give the episode one.")
        if episode.tokens >= limit and (self.exceed_successes or not episode.success):
            return self.exceeded
        return cosine_length(episode.tokens, limit, *(self.correct if episode.success else self.wrong))


def exact_length(success: bool, length: float, target: float, alpha: float) -> float:
    """Return 1[success] - alpha * |target - length| (LCPO-exact, arXiv 2503.04697, eq. 1)."""
    return float(success) - alpha * abs(target - length)


def at_most_length(success: bool, length: float, target: float, alpha: float, delta: float) -> float:
    """Return 1[success] * clip(alpha * (target - length) + delta, 0, 1) (LCPO-max, arXiv 2503.04697, eq. 2)."""
    return float(success) * min(max(alpha * (target - length) + delta, 0.0), 1.0)


@register("target-length")
class TargetLength(Reward):
    """Reward of a whole episode by its success and the distance of its length from a target.

    In mode "max" the reward of a success falls with its length, from 1 to 0, and a failure gets 0. In mode "exact"
    every token away from the target, either way, costs ``alpha``; a long success can then fall below a failure that
    hits the target, so `ranks_success` is off.
    """

    paper = "L1 (LCPO), arXiv 2503.04697, eqs. 1 and 2"
    needs = frozenset({"target_tokens"})
    complete = True
    ranks_success = True
    mode: Literal["max", "exact"] = option(default="max", says="use of the target: a limit, or to be met exactly.")
    alpha: float = option(default=0.0003, low=0, says="reward lost per token.")
    delta: float = option(default=0.5, low=0, high=1, says='reward of a success of the target length in mode "max".')
    target: int | None = option(
        default=None, unit="tokens", says='target length; None reads ``episode.extra("target_tokens")``.'
    )

    def setup(self) -> None:
        if self.target is not None:
            self.needs = frozenset()
        if self.mode == "exact":
            self.ranks_success = False

    @property
    def bounds(self) -> tuple[float, float]:
        return (0.0, 1.0) if self.mode == "max" else (-float("inf"), 1.0)

    def value(self, episode: Episode) -> float | None:
        target = read_score(
            self.target if self.target is not None else episode.extra("target_tokens"), "target_tokens", low=0.0
        )
        if target is None:
            return None
        if self.mode == "exact":
            return exact_length(episode.success, episode.tokens, target, self.alpha)
        return at_most_length(episode.success, episode.tokens, target, self.alpha, self.delta)


# Budget of the example in Train Long, Think Short: 256 tokens, times 0.7 every 100 updates.
BUDGET = StepDecay(start=256, factor=0.7, every=100, minimum=1)


def triangular(length: float, budget: float, peak: float = 1.0) -> float:
    """Return 0 at length 0, ``peak`` at ``budget``, 0 from twice the budget on; linear in between (arXiv 2508.08940).

    Very short answers lose as much as long ones: the method has a target, not only a limit.
    """
    return peak * max(0.0, 1.0 - abs(length - budget) / budget)


def check_budget(name: str, budget: ScheduleLike) -> Schedule:
    """Return ``budget`` as a schedule of tokens. Raises InputError if it can reach 0."""
    tokens = schedule(budget)
    if tokens.bounds[0] <= 0:
        raise InputError(f"the token budget must stay above 0, but this schedule reaches {tokens.bounds[0]:g}.")
    return tokens


@register("triangular-length")
class TriangularLength(UpdateCounter):
    """Term of ``peak`` for an episode of exactly the budget, falling to 0 at no tokens and at twice the budget."""

    paper = "Train Long, Think Short, arXiv 2508.08940, length reward"
    budget: ScheduleLike = option(default=BUDGET, check=check_budget, says="schedule of tokens, always above 0.")
    peak: float = option(default=1.0, above=0, says="the highest value.")

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.peak

    def value(self, episode: Episode) -> float:
        return triangular(episode.tokens, self.now(self.budget), self.peak)


@register("train-long-think-short")
class TrainLongThinkShort(UpdateCounter):
    """Reward of a whole episode in three terms: correctness, closeness to the token budget, and tags (one pair of
    ``<think>`` and one of ``<answer>``).

    Raises:
        InputError: ``correctness < length + tags``. The paper also tries such weights, with which a failed episode of
            the right length outranks a success; build those as a weighted sum of terms.
    """

    paper = "Train Long, Think Short, arXiv 2508.08940, total reward"
    complete = True
    ranks_success = True
    budget: ScheduleLike = option(default=BUDGET, check=check_budget, says="schedule of tokens, always above 0.")
    correctness: float = option(default=1.0, above=0, says="weight of success.")
    length: float = option(default=0.5, low=0, says="weight of `triangular`, whose peak is 1.")
    tags: float = option(default=0.25, low=0, says="weight of the tags, half for one pair of each name.")

    def setup(self) -> None:
        if self.correctness < self.length + self.tags:
            raise InputError(
                f"correctness={self.correctness!r} must be at least length + tags = {self.length + self.tags:g}, so "
                "that no failed episode outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.correctness + self.length + self.tags

    def __call__(self, episode: Episode) -> Verdict:
        terms = {
            "correctness": self.correctness * episode.success,
            "length": self.length * triangular(episode.tokens, self.now(self.budget)),
            "tags": self.tags * sum(0.5 * has_one_pair(episode.response, tag) for tag in ("think", "answer")),
        }
        verdict = self.verdict(episode, sum(terms.values()))
        return dataclasses.replace(verdict, terms=terms) if verdict.valid else verdict


def over_budget(length: float, budget: float) -> float:
    """Return max(0, length / budget - 1): 0 within the budget, 1 at twice the budget."""
    return max(0.0, length / budget - 1.0)


@register("token-budget")
class TokenBudgetPenalty(UpdateCounter):
    """Term of ``-weight * min(1, length / budget - 1)`` for an episode over its token budget, else 0."""

    budget: ScheduleLike = option(default=256, check=check_budget, says="schedule of tokens, always above 0.")
    weight: float = option(default=0.5, low=0, says="the largest cost.")

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 0.0

    def value(self, episode: Episode) -> float:
        return -self.weight * min(1.0, over_budget(episode.tokens, self.now(self.budget)))


def compression(memory: float, source: float) -> float:
    """Return max(1 - memory / source, -1): 1 for an empty memory, 0 if it is as long as the source, 0
    without a source."""
    return max(1.0 - memory / source, -1.0) if source > 0 else 0.0


@register("compression")
class Compression(Reward):
    """Term in [-weight, weight] for a memory that is shorter than the text it summarises.

    ``episode.extra("memory_length")`` and ``episode.extra("source_length")`` must have one unit, such as characters. An
    empty memory gets the whole ``weight``, so the reward for answering from the memory must be much larger.
    """

    paper = "Mem-α, arXiv 2509.25911 (compression reward)"
    needs = frozenset({"memory_length", "source_length"})
    weight: float = option(default=0.05, low=0, says="weight of the term.")

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, self.weight

    def value(self, episode: Episode) -> float | None:
        memory = read_score(episode.extra("memory_length"), "memory_length", low=0.0)
        source = read_score(episode.extra("source_length"), "source_length", low=0.0)
        return None if memory is None or source is None else self.weight * compression(memory, source)
