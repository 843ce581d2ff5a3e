"""Rewards for what each part of an episode adds to the value of its prefix: MRT, VSRM, DenseGRPO, TurningPoint.

MRT and VSRM split the reasoning of one response, force an answer after each part and score it (`PrefixProbe`);
DenseGRPO and TurningPoint work on turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, StepReward, register
from ..steps import prefix_gains, propagated_gains, turning_point_gains
from .step_scores import align_with_turns, read_vector

MARKERS = ("However", "Therefore", "So", "But", "Wait", "Hmm", "Alternatively", "Thus", "Hence", "Then", "Next")

Success = Callable[[Episode, str], "float | None"]
"""Probability in [0, 1] of a right answer when it is forced after the prefix; None where it could not be determined."""


@dataclass(frozen=True)
class ValuedPart:
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
            values = read_vector(episode.extra("prefix_values"), "prefix values")
        else:
            text = episode.response
            worths = []
            for stop in (0, *(stop for _, stop in self.segments(text))):
                worth = self.success(episode, text[:stop])
                if worth is None:
                    return None
                worths.append(worth)
            values = read_vector(worths, "prefix values")
        if values is None:
            return None
        if not len(values) or values.min() < 0 or values.max() > 1:
            raise InputError(f"prefix values must be one or more probabilities in [0, 1], not {values.tolist()[:8]}.")
        return values

    def paid(self, episode: Episode, gains: np.ndarray) -> list[ValuedPart]:
        """The parts of the response with what each is paid.

        Raises:
            InputError: the extra "prefix_values" has values for another number of parts.
        """
        parts = self.segments(episode.response)
        if len(parts) != len(gains):
            raise InputError(f"{len(parts)} parts of the response need {len(parts) + 1} prefix values.")
        return [ValuedPart(start, stop, float(gain)) for (start, stop), gain in zip(parts, gains, strict=True)]


class PrefixReward(Reward):
    needs = frozenset({"prefix_values"})

    def __init__(self, probe: PrefixProbe | None):
        self.probe = probe or PrefixProbe()
        self.needs = self.probe.needs

    def gains(self, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def segments(self, episode: Episode) -> list[ValuedPart] | None:
        """The parts of the response with what each is paid, for credit within it; None where the probe failed."""
        values = self.probe.values(episode)
        return None if values is None else self.probe.paid(episode, self.gains(values))


@register("mrt")
class ProgressReward(PrefixReward):
    """1 for a success, plus ``weight`` times the progress of the reasoning: what each part adds to the chance of
    success of an answer forced after it. The sum telescopes to the worth of the whole less that of the empty prefix.

    With a weight of at most 1/2 no failure outranks a success. The metric that goes with it is
    `palaestra.rewards.steps.cumulative_regret`.

    Args:
        weight: of the progress; 0 or more.
        probe: what splits and values the response; by default one that reads the extra "prefix_values".
    """

    paper = "MRT, arXiv 2503.07572"
    complete = True
    ranks_success = True

    def __init__(self, weight: float = 0.5, probe: PrefixProbe | None = None):
        super().__init__(probe)
        self.weight = check_number("weight", weight, low=0.0)
        self.ranks_success = self.weight <= 0.5

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 1.0 + self.weight

    def gains(self, values: np.ndarray) -> np.ndarray:
        return self.weight * prefix_gains(values)

    def value(self, episode: Episode) -> float | None:
        values = self.probe.values(episode)
        # The telescoped sum, free of rounding, so that the bound of one half is exact.
        return None if values is None else float(episode.success) + self.weight * float(values[-1] - values[0])


@register("vsrm")
class StepwiseVerifiable(PrefixReward):
    """A term that pays each part of the reasoning for the change in the accuracy of a forced answer.

    Parts that change nothing are paid a discounted share of the next change, so that idle ones earn less than those
    that get to the point.

    Args:
        weight: of the term.
        threshold: changes up to this size count as none.
        ahead: how many parts later a change may come and still be shared; 0 pays plain changes.
        discount: of the share, for each part of distance, in [0, 1].
        probe: what splits and values the response; by default one that reads the extra "prefix_values".

    The constants of the paper are not published; these are ours.
    """

    paper = "VSRM, arXiv 2508.10293"

    def __init__(
        self,
        weight: float = 1.0,
        threshold: float = 0.0,
        ahead: int = 3,
        discount: float = 0.9,
        probe: PrefixProbe | None = None,
    ):
        super().__init__(probe)
        self.weight = check_number("weight", weight)
        self.threshold = check_number("threshold", threshold, low=0.0)
        self.ahead = check_count("ahead", ahead)
        self.discount = check_number("discount", discount, low=0.0, high=1.0)

    def gains(self, values: np.ndarray) -> np.ndarray:
        return self.weight * propagated_gains(values, self.threshold, self.ahead, self.discount)

    def value(self, episode: Episode) -> float | None:
        values = self.probe.values(episode)
        return None if values is None else float(self.gains(values).sum())


@register("prefix-gain")
class PrefixGain(StepReward):
    """A term that pays each turn for what it adds to the worth of the prefix, as a greedy completion measures it.

    Args:
        form: "gain" pays the difference (DenseGRPO, arXiv 2601.20218); "turning-point" pays a turn at which the course
            turns towards the final worth all that is gained from there on (TP-GRPO, TurningPoint, arXiv 2602.06422).
        first: with "turning-point", treat a first turn in the final direction as one.
        prefix_values: from an episode to the worth of its prefixes 0..K, before the first turn and after each; None
            where it could not be determined. By default the extra "prefix_values".
    """

    paper = "DenseGRPO, arXiv 2601.20218; TurningPoint, arXiv 2602.06422"
    needs = frozenset({"prefix_values"})

    def __init__(
        self,
        form: str = "gain",
        first: bool = False,
        prefix_values: Callable[[Episode], Sequence[float] | None] | None = None,
    ):
        self.form = check_choice("form", form, ("gain", "turning-point"))
        self.first = first
        self.prefix_values = prefix_values
        self.needs = frozenset() if prefix_values else frozenset({"prefix_values"})

    def values(self, episode: Episode) -> list[float] | None:
        given = self.prefix_values(episode) if self.prefix_values else episode.extra("prefix_values")
        values = None if given is None else read_vector(given, "prefix values")
        if values is None:
            return None
        gains = prefix_gains(values) if self.form == "gain" else turning_point_gains(values, self.first)
        return align_with_turns(gains, episode, "prefix values after the first")
