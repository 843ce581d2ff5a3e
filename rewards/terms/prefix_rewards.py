"""Rewards for what parts of an episode add to its prefix's worth: MRT, VSRM, DenseGRPO and TurningPoint."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ...checks import check_choice, check_count, check_number
from ..episode import Episode
from ..reward import Reward, StepReward, register
from ..steps import prefix_gains, propagated_gains, turning_point_gains
from .prefix_probe import PrefixProbe, Segment
from .step_scores import finite, per_turn


class _Probed(Reward):
    needs = frozenset({"prefix_values"})

    def __init__(self, probe: PrefixProbe | None):
        self.probe = probe or PrefixProbe()
        self.needs = self.probe.needs

    def gains(self, values: np.ndarray) -> np.ndarray:
        raise NotImplementedError

    def segments(self, episode: Episode) -> list[Segment] | None:
        """The parts of the response with what each is paid, for credit within it; None where the probe failed."""
        values = self.probe.values(episode)
        return None if values is None else self.probe.paid(episode, self.gains(values))


@register("mrt")
class ProgressReward(_Probed):
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
class StepwiseVerifiable(_Probed):
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
        values = None if given is None else finite(given, "prefix values")
        if values is None:
            return None
        gains = prefix_gains(values) if self.form == "gain" else turning_point_gains(values, self.first)
        return per_turn(gains, episode, "prefix values after the first")
