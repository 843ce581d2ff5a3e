"""What the prefixes of a response are worth: split the reasoning, force an answer after each part, score it.

MRT and VSRM pay for what their parts add to that worth; DenseGRPO and TurningPoint do so over turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...checks import check_count
from ...errors import InputError
from ..episode import Episode
from .step_scores import finite

MARKERS = ("However", "Therefore", "So", "But", "Wait", "Hmm", "Alternatively", "Thus", "Hence", "Then", "Next")

Success = Callable[[Episode, str], "float | None"]
"""Probability in [0, 1] of a right answer when it is forced after the prefix; None where it could not be determined."""


@dataclass(frozen=True)
class Segment:
    """A part of a response, by the positions of its characters, and what it is paid."""

    start: int
    stop: int
    value: float


class PrefixProbe:
    """Splits a response at marker words and asks for the worth of each prefix, the empty one included.

    Args:
        success: see `Success`; it appends the cue for an answer and averages over completions as it likes. None reads
            the extra "prefix_values": the worth of prefixes 0..K, the empty one first.
        markers: words that begin a part, as written.
        min_segment: least length of a part in characters; shorter ones join the next.
        max_segments: at most so many parts, hence probes; the rest of a longer text belongs to the last.

    Raises:
        InputError: no marker, or a blank one; a length or number below 1.
    """

    def __init__(
        self,
        success: Success | None = None,
        markers: Sequence[str] = MARKERS,
        min_segment: int = 100,
        max_segments: int = 32,
    ):
        if isinstance(markers, str) or not markers or not all(marker.strip() for marker in markers):
            raise InputError(f"markers must be one or more words, not {markers!r}.")
        self.success = success
        self.min_segment = check_count("min_segment", min_segment, low=1, unit="characters")
        self.max_segments = check_count("max_segments", max_segments, low=1)
        self._pattern = re.compile(r"(?<!\w)(?:%s)(?!\w)" % "|".join(map(re.escape, markers)))  # noqa: UP031
        self.needs = frozenset() if success else frozenset({"prefix_values"})

    def segments(self, text: str) -> list[tuple[int, int]]:
        """(start, stop) of the parts; together they are ``text``. An empty text has none."""
        starts = [0]
        for match in self._pattern.finditer(text):
            if len(starts) >= self.max_segments:
                break
            if match.start() - starts[-1] >= self.min_segment and len(text) - match.start() >= self.min_segment:
                starts.append(match.start())
        return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []

    def values(self, episode: Episode) -> np.ndarray | None:
        """Worth of the prefixes 0..K of the response; None where any could not be determined.

        Raises:
            InputError: an extra "prefix_values" that is empty, or any worth outside [0, 1].
        """
        if self.success is None:
            values = finite(episode.extra("prefix_values"), "prefix values")
        else:
            text = episode.response
            worths = []
            for stop in (0, *(stop for _, stop in self.segments(text))):
                worth = self.success(episode, text[:stop])
                if worth is None:
                    return None
                worths.append(worth)
            values = finite(worths, "prefix values")
        if values is None:
            return None
        if not len(values) or values.min() < 0 or values.max() > 1:
            raise InputError(f"prefix values must be one or more probabilities in [0, 1], not {values.tolist()[:8]}.")
        return values

    def paid(self, episode: Episode, gains: np.ndarray) -> list[Segment]:
        """The parts of the response with what each is paid.

        Raises:
            InputError: the extra "prefix_values" has values for another number of parts.
        """
        parts = self.segments(episode.response)
        if len(parts) != len(gains):
            raise InputError(f"{len(parts)} parts of the response need {len(parts) + 1} prefix values.")
        return [Segment(start, stop, float(gain)) for (start, stop), gain in zip(parts, gains, strict=True)]
