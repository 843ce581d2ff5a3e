"""Observe-R1: a bonus for the shortest right response of a group, unless it is suspiciously short."""

from __future__ import annotations

from collections.abc import Sequence

from ...checks import check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import GroupReward, register
from .format import FormatCheck, checked_tags, tags_in_order

OBSERVE_TAGS = ("observe", "think", "answer")


def shortest_correct(successes: Sequence[bool], lengths: Sequence[int], above: int = 100) -> int | None:
    """Index of the shortest success, the first one on ties; None if there is none longer than ``above``."""
    right = [index for index, success in enumerate(successes) if success]
    best = min(right, key=lambda index: lengths[index], default=None)
    return best if best is not None and lengths[best] > above else None


def difficulty_factor(success_ratio: float, coefficient: float = 1.0) -> float:
    """4 · coefficient · p (1 - p), which scales the advantages of a group with success ratio p in [0, 1]."""
    return 4.0 * coefficient * success_ratio * (1.0 - success_ratio)


@register("shortest-correct")
class ShortestCorrect(GroupReward):
    """Success, format, and a bonus to the shortest success of the group alone.

    Args:
        correct: value of a success.
        format: value of the right form, at most ``correct``.
        bonus: what the shortest success gets on top, at least 0.
        above: the bonus is paid only if that one is longer than this many tokens.
        tags: the form: these tags in order and nothing else.
        check: the form by a callable instead.

    Raises:
        InputError: ``format > correct``, which would let a failure outrank a success.
    """

    paper = "Observe-R1, arXiv 2505.12432"
    complete = True
    ranks_success = True

    def __init__(
        self,
        correct: float = 1.0,
        format: float = 0.5,
        bonus: float = 0.2,
        above: int = 100,
        tags: Sequence[str] = OBSERVE_TAGS,
        check: FormatCheck | None = None,
    ):
        self.correct = check_number("correct", correct, low=0.0)
        self.format = check_number("format", format, low=0.0)
        self.bonus = check_number("bonus", bonus, low=0.0)
        self.above = check_count("above", above, unit="tokens")
        self.tags = checked_tags(tags)
        self.check = check
        if self.format > self.correct:
            raise InputError(
                f"format={format!r} must be at most correct={correct!r}, so that no failed episode outranks a success."
            )

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, self.correct + self.format + self.bonus

    def _well_formed(self, episode: Episode) -> bool:
        return self.check(episode) if self.check is not None else tags_in_order(episode.response, self.tags)

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        best = shortest_correct(
            [episode.success for episode in episodes], [episode.tokens for episode in episodes], self.above
        )
        return [
            self.correct * episode.success + self.format * self._well_formed(episode) + self.bonus * (index == best)
            for index, episode in enumerate(episodes)
        ]
