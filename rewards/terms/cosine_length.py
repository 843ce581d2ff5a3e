"""Cosine length reward: short right answers beat long ones, long wrong answers beat short ones."""

from __future__ import annotations

from ...checks import check_count, check_number
from ...errors import InputError
from ...schedules import half_cosine
from ..episode import Episode
from ..reward import Reward, register


def cosine_length(length: float, limit: float, at_zero: float, at_limit: float) -> float:
    """From ``at_zero`` at no tokens to ``at_limit`` at ``limit`` tokens and beyond, along half a cosine."""
    return half_cosine(min(length / limit, 1.0), at_zero, at_limit)


@register("cosine-length")
class CosineLength(Reward):
    """The whole worth of an episode by its success and its length.

    Args:
        correct: value of a success of no tokens, and of one at the limit.
        wrong: the same for a failure; thinking longer is what is wanted of it.
        exceeded: value of an episode that reaches the limit, or was cut off there.
        max_tokens: the limit; None takes each episode's own.
        exceed_successes: whether ``exceeded`` also goes to a success at the limit, as in the paper. Then a failure can
            outrank it, and `ranks_success` is off.

    Raises:
        InputError: some failure would be worth more than some success; when called, there is no limit.
    """

    paper = "Demystifying Long Chain-of-Thought Reasoning in LLMs, arXiv 2502.03373 (cosine reward)"
    complete = True
    ranks_success = True

    def __init__(
        self,
        correct: tuple[float, float] = (2.0, 1.0),
        wrong: tuple[float, float] = (-10.0, 0.0),
        exceeded: float = -10.0,
        max_tokens: int | None = None,
        exceed_successes: bool = False,
    ):
        self.correct = _checked_pair("correct", correct)
        self.wrong = _checked_pair("wrong", wrong)
        self.exceeded = check_number("exceeded", exceeded)
        self.max_tokens = None if max_tokens is None else check_count("max_tokens", max_tokens, low=1, unit="tokens")
        self.exceed_successes = exceed_successes
        if min(self.correct) < max(*self.wrong, self.exceeded):
            raise InputError(
                f"every value of correct={correct!r} must be at least every one of wrong={wrong!r} and "
                f"exceeded={exceeded!r}, so that no failed episode outranks a success."
            )
        if exceed_successes:
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


def _checked_pair(name: str, pair: tuple[float, float]) -> tuple[float, float]:
    if not isinstance(pair, (list, tuple)) or len(pair) != 2:
        raise InputError(f"{name} must be two numbers, at no tokens and at the limit, not {pair!r}.")
    return check_number(f"{name}[0]", pair[0]), check_number(f"{name}[1]", pair[1])
