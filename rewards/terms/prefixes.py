"""Rewards for the value that each part of an episode adds to its prefix: MRT, VSRM, DenseGRPO, TurningPoint.

MRT and VSRM split the reasoning of one response, force an answer after each part and score it (`PrefixProbe`);
DenseGRPO and TurningPoint work on turns.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np

from ...checks import Declared, declared, option
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, StepReward, register
from ..steps import prefix_gains, propagated_gains, turning_point_gains
from ..verdict import RewardSpan, Verdict
from .scores import align_with_turns, read_vector

MARKERS = ("However", "Therefore", "So", "But", "Wait", "Hmm", "Alternatively", "Thus", "Hence", "Then", "Next")

SuccessProbability = Callable[[Episode, str], "float | None"]
"""Callable from (episode, prefix) to the probability in [0, 1] of a right answer when an answer is forced after the
prefix; None if it could not be determined. It appends the cue for an answer, and may average several completions."""


def _check_markers(name: str, markers: Sequence[str]) -> Sequence[str]:
    if isinstance(markers, str) or not markers or not all(marker.strip() for marker in markers):
        raise InputError(f"{name} must be one or more words, not {markers!r}.")
    return markers


@declared
class PrefixProbe(Declared):
    """Splits a response at marker words and returns the value of each prefix, the empty one included.

    ``episode.extra("prefix_values")`` holds the values of prefixes 0..K, the empty one first.
    """

    success: SuccessProbability | None = option(
        default=None, says='see `SuccessProbability`; None reads ``episode.extra("prefix_values")``.'
    )
    markers: Sequence[str] = option(default=MARKERS, check=_check_markers, says="words that begin a part; case counts.")
    min_segment: int = option(default=100, low=1, unit="characters", says="shortest part; shorter ones join the next.")
    max_segments: int = option(default=32, low=1, says="most parts; the last part holds the rest of the text.")

    def setup(self) -> None:
        self._pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, self.markers))})(?!\w)")
        self.needs = frozenset() if self.success else frozenset({"prefix_values"})

    def split_parts(self, text: str) -> list[tuple[int, int]]:
        """Split ``text`` into contiguous parts, as character positions (start, stop). An empty text has no parts."""
        starts = [0]
        for match in self._pattern.finditer(text):
            if len(starts) >= self.max_segments:
                break
            if match.start() - starts[-1] >= self.min_segment and len(text) - match.start() >= self.min_segment:
                starts.append(match.start())
        return list(zip(starts, [*starts[1:], len(text)], strict=True)) if text else []

    def values(self, episode: Episode) -> np.ndarray | None:
        """Return the values [K + 1] of the prefixes 0..K of the response; None if a value could not be determined.

        Raises:
            InputError: ``episode.extra("prefix_values")`` is empty, or a value lies outside [0, 1].
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
        """Return the parts of the response with their rewards; empty if the numbers of gains and parts differ."""
        parts, turn = self.split_parts(episode.response), len(episode.steps) - 1
        if len(parts) != len(gains):
            return ()
        return tuple(RewardSpan(turn, *part, float(gain)) for part, gain in zip(parts, gains, strict=True))


class PrefixReward(Reward):
    """Base class of rewards of the parts of a response. A subclass implements `gains`, which maps the values of the
    prefixes [K + 1] to the rewards of the parts [K] (the spans of the verdict), and may override `total`, the reward of
    the whole response."""

    needs = frozenset({"prefix_values"})
    probe: PrefixProbe

    def setup(self) -> None:
        self.probe = self.probe or PrefixProbe()
        self.needs = self.probe.needs

    def gains(self, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def total(self, episode: Episode, values: np.ndarray) -> float:
        """Return the reward of the response; the sum of the gains unless overridden."""
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
    sums to the value of the whole response minus the value of the empty prefix. With a weight of at most 1/2 no failure
    outranks a success. The matching metric is `palaestra.rewards.steps.cumulative_regret`.
    """

    paper = "MRT, arXiv 2503.07572"
    complete = True
    ranks_success = True
    weight: float = option(default=0.5, low=0, says="weight of the progress.")
    probe: PrefixProbe = option(default=None, says="splits the response and values its prefixes.")

    def setup(self) -> None:
        super().setup()
        self.ranks_success = self.weight <= 0.5

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 1.0 + self.weight

    def gains(self, values: np.ndarray) -> np.ndarray:
        return self.weight * prefix_gains(values)

    def total(self, episode: Episode, values: np.ndarray) -> float:
        # Last minus first value instead of a sum of gains, whose rounding could break the bound of 1/2.
        return float(episode.success) + self.weight * float(values[-1] - values[0])


@register("vsrm")
class StepwiseVerifiable(PrefixReward):
    """Term that rewards each part of the reasoning for its change of the accuracy of a forced answer.

    A part without a change gets the next change, discounted by its distance. The paper's constants are not published;
    these are ours.
    """

    paper = "VSRM, arXiv 2508.10293"
    weight: float = option(default=1.0, says="weight of the term.")
    threshold: float = option(default=0.0, low=0, says="changes up to this size count as none.")
    ahead: int = option(default=3, says="largest distance, in parts, of the next change; 0 rewards plain changes only.")
    discount: float = option(default=0.9, low=0, high=1, says="factor per part of distance.")
    probe: PrefixProbe = option(default=None, says="splits the response and values its prefixes.")

    def gains(self, values: np.ndarray) -> np.ndarray:
        return self.weight * propagated_gains(values, self.threshold, self.ahead, self.discount)


@register("prefix-gain")
class PrefixGain(StepReward):
    """Term that rewards each turn for its change of the value of the prefix, measured for example by a greedy
    completion. Form "gain" rewards the change (DenseGRPO). In the form "turning-point", a turn at which the values turn
    towards the final value gets the whole change from there on (TP-GRPO, TurningPoint)."""

    paper = "DenseGRPO, arXiv 2601.20218; TurningPoint, arXiv 2602.06422"
    needs = frozenset({"prefix_values"})
    form: Literal["gain", "turning-point"] = option(default="gain", says="the change that a turn gets.")
    first: bool = option(default=False, says="count a first turn in the final direction as a turning point.")
    prefix_values: Callable[[Episode], Sequence[float] | None] | None = option(
        default=None, says='values before the first turn and after each; None reads ``episode.extra("prefix_values")``.'
    )

    def setup(self) -> None:
        self.needs = frozenset() if self.prefix_values else frozenset({"prefix_values"})

    def values(self, episode: Episode) -> list[float] | None:
        raw = self.prefix_values(episode) if self.prefix_values else episode.extra("prefix_values")
        values = None if raw is None else read_vector(raw, "prefix values")
        if values is None:
            return None
        gains = prefix_gains(values) if self.form == "gain" else turning_point_gains(values, self.first)
        return align_with_turns(gains, episode, "prefix values after the first")
