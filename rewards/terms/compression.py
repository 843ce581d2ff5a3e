"""Mem-alpha's compression term: a memory should be shorter than what it remembers."""

from __future__ import annotations

from ...checks import check_number
from ..episode import Episode
from ..reward import Reward, register
from .scored import score_in


def compression(memory: float, source: float) -> float:
    """1 - memory / source: 1 for an empty memory, 0 for one that copies everything, at least -1; 0 without a source."""
    return max(1.0 - memory / source, -1.0) if source > 0 else 0.0


@register("compression")
class Compression(Reward):
    """A term of ``weight`` times the compression, in [-weight, weight].

    Extras: "memory_length" and "source_length", in the same unit, such as characters. An empty memory has all of it:
    the pay for answering from the memory must be much larger.

    Args:
        weight: at least 0.

    Raises:
        InputError: ``weight`` is negative.
    """

    paper = "Mem-α, arXiv 2509.25911 (compression reward)"
    needs = frozenset({"memory_length", "source_length"})

    def __init__(self, weight: float = 0.05):
        self.weight = check_number("weight", weight, low=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, self.weight

    def value(self, episode: Episode) -> float | None:
        memory = score_in(episode.extra("memory_length"), "memory_length", low=0.0)
        source = score_in(episode.extra("source_length"), "source_length", low=0.0)
        return None if memory is None or source is None else self.weight * compression(memory, source)
