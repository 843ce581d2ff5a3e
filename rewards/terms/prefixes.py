"""Rewards for what each part of an episode adds to the value of its prefix: MRT, VSRM, DenseGRPO, TurningPoint.

MRT and VSRM split the reasoning of one response, force an answer after each part and score it (`PrefixProbe`);
DenseGRPO and TurningPoint work on turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from ...checks import check_choice, check_count, check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, StepReward, register
from ..steps import prefix_gains, propagated_gains, turning_point_gains
from ..verdict import RewardSpan, Verdict
from .scores import align_with_turns, read_vector

MARKERS = ("However", "Therefore", "So", "But", "Wait", "Hmm", "Alternatively", "Thus", "Hence", "Then", "Next")

Success = Callable[[Episode, str], "float | None"]
"""Probability in [0, 1] of a right answer when it is forced after the prefix; None where it could not be determined."""


class PrefixProbe:
    """Splits a response at marker words and gets the value of each prefix, the empty one included.

    Args:
        success: see `Success`; it appends the cue for an answer and may average over several completions. None reads
            the extra "prefix_values": the values of prefixes 0..K, the empty one first.
        markers: words that begin a part; case matters.
        min_segment: least length of a part in characters; shorter ones join the next.
        max_segments: largest number of parts, which bounds the calls of ``success``; the rest of a longer text belongs
            to the last part.

    Raises:
        InputError: no markers or a blank marker; a length or number below 1.
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

    def split_parts(self, text: str) -> list[tuple[int, int]]:
        """Split ``text`` into contiguous parts (start, stop). An empty text has none."""
        starts = [0]
        for match in self._pattern.finditer(text):
            if len(starts) >= self.max_segments:
                break
            if match.start() - starts[-1] >= self.min_segment and len(text) - match.start() >= self.min_segment:
                starts.append(match.start())
        return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []

    def values(self, episode: Episode) -> np.ndarray | None:
        """Values of the prefixes 0..K of the response, [K + 1]; None where any could not be determined.

        Raises:
            InputError: an extra "prefix_values" that is empty, or any value outside [0, 1].
        """
        if self.success is None:
            values = read_vector(episode.extra("prefix_values"), "prefix values")
        else:
            text = episode.response
            successes = []
            for stop in (0, *(stop for _, stop in self.split_parts(text))):
                success = self.success(episode, text[:stop])
                if success is None:
                    return None
                successes.append(success)
            values = read_vector(successes, "prefix values")
        if values is None:
            return None
        if not len(values) or values.min() < 0 or values.max() > 1:
            raise InputError(f"prefix values must be one or more probabilities in [0, 1], not {values.tolist()[:8]}.")
        return values

    def spans(self, episode: Episode, gains: Sequence[float] | np.ndarray) -> tuple[RewardSpan, ...]:
        """Return the parts of the response with their rewards; empty if ``gains`` is for another number of parts."""
        parts, turn = self.split_parts(episode.response), len(episode.steps) - 1
        if len(parts) != len(gains):
            return ()
        return tuple(RewardSpan(turn, *part, float(gain)) for part, gain in zip(parts, gains, strict=True))


class PrefixReward(Reward):
    """Base: a subclass implements `gains`, from the values of the prefixes to the rewards of the parts, which are the
    spans of the verdict; and `total`, the reward of the whole response."""

    needs = frozenset({"prefix_values"})

    def __init__(self, probe: PrefixProbe | None):
        self.probe = probe or PrefixProbe()
        self.needs = self.probe.needs

    def gains(self, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def total(self, episode: Episode, values: np.ndarray) -> float:
        """The reward of the response; the sum of the gains unless overridden."""
        return float(self.gains(values).sum())

    def value(self, episode: Episode) -> float | None:
        values = self.probe.values(episode)
        return None if values is None else self.total(episode, values)

    def __call__(self, episode: Episode) -> Verdict:
        values = self.probe.values(episode) if episode.valid else None
        if values is None:
            return self.verdict(episode, None)
        verdict = self.verdict(episode, self.total(episode, values))
        return replace(verdict, spans=self.probe.spans(episode, self.gains(values)))


@register("mrt")
class ProgressReward(PrefixReward):
    """1 for a success, plus ``weight`` times the progress of the reasoning.

    The progress of a part is the rise in the chance of success of an answer forced after it. The progress of all parts
    sums to the value of the whole response less the value of the empty prefix. With a weight of at most 1/2 no failure
    outranks a success. The matching metric is `palaestra.rewards.steps.cumulative_regret`.

    Args:
        weight: of the progress; 0 or more.
        probe: splits the response and values its prefixes; by default one that reads the extra "prefix_values".
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

    def total(self, episode: Episode, values: np.ndarray) -> float:
        # Last less first value instead of a sum of gains, whose rounding could break the bound of 1/2.
        return float(episode.success) + self.weight * float(values[-1] - values[0])


@register("vsrm")
class StepwiseVerifiable(PrefixReward):
    """A term that rewards each part of the reasoning for its change of the accuracy of a forced answer.

    A part without a change gets the next change, discounted by its distance. The paper's constants are not published;
    these are ours.

    Args:
        weight: of the term.
        threshold: changes up to this size count as none.
        ahead: largest distance, in parts, of the next change; 0 rewards plain changes only.
        discount: factor for each part of distance, in [0, 1].
        probe: splits the response and values its prefixes; by default one that reads the extra "prefix_values".
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


@register("prefix-gain")
class PrefixGain(StepReward):
    """A term that rewards each turn for its change of the value of the prefix, as a greedy completion measures it.

    Args:
        form: "gain" rewards the change (DenseGRPO, arXiv 2601.20218); "turning-point" gives a turn at which the values
            turn towards the final one the whole change from there on (TP-GRPO, TurningPoint, arXiv 2602.06422).
        first: with "turning-point", treat a first turn in the final direction as a turning point.
        prefix_values: maps an episode to the values of its prefixes 0..K, before the first turn and after each; None
            where they could not be determined. By default the extra "prefix_values".
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
        raw = self.prefix_values(episode) if self.prefix_values else episode.extra("prefix_values")
        values = None if raw is None else read_vector(raw, "prefix values")
        if values is None:
            return None
        gains = prefix_gains(values) if self.form == "gain" else turning_point_gains(values, self.first)
        return align_with_turns(gains, episode, "prefix values after the first")
