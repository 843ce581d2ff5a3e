"""Kimi k1.5's length term: among answers to one question, shorter is better, and a wrong one gains nothing by it."""

from __future__ import annotations

from collections.abc import Sequence

from ..episode import Episode
from ..reward import GroupReward, register


def relative_length(lengths: Sequence[int], successes: Sequence[bool]) -> list[float]:
    """0.5 - (length - shortest) / (longest - shortest), at most 0 for a failure; all 0 where the lengths are equal."""
    shortest, longest = min(lengths), max(lengths)
    if shortest == longest:
        return [0.0] * len(lengths)
    places = [0.5 - (length - shortest) / (longest - shortest) for length in lengths]
    return [place if success else min(0.0, place) for place, success in zip(places, successes, strict=True)]


@register("relative-length")
class RelativeLength(GroupReward):
    """A term in [-0.5, 0.5] by the place of an episode's length between its group's shortest and longest.

    Alone it can put a short failure (0) above a long success (-0.5): add it to a pay of success above 0.5.
    """

    paper = "Kimi k1.5, arXiv 2501.12599, Section 2.3.3 (length penalty)"

    @property
    def bounds(self) -> tuple[float, float]:
        return -0.5, 0.5

    def values(self, episodes: Sequence[Episode]) -> list[float]:
        return relative_length([episode.tokens for episode in episodes], [episode.success for episode in episodes])
