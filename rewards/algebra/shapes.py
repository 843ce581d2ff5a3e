"""Rewards bent into a shape: `Clip`, `Saturate` and `GeometricMean`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .composite import Composite, Single
from .sums import check_weights


@register("clip")
class Clip(Single):
    """Another reward, cut off at ``low`` and ``high``.

    Raises:
        InputError: unless low < high.
    """

    def __init__(self, child: Reward, low: float = 0.0, high: float = 1.0):
        super().__init__(child)
        self.low, self.high = check_number("low", low), check_number("high", high)
        if not self.low < self.high:
            raise InputError(f"low must be below high, not {low!r} and {high!r}.")

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def describe(self) -> str:
        return f"{self.name} to [{self.low:g}, {self.high:g}]"

    def adjusted(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        return min(max(value, self.low), self.high)


@register("saturate")
class Saturate(Single):
    """Another reward with diminishing returns: unchanged up to ``level``, then rising towards ``level + room``.

    g(x) = level + room * (1 - exp(-(x - level) / room)) above the level: smooth there, and strictly increasing, so that
    the order of two episodes never changes. The source asks for a concave function beyond a level and names none.

    Args:
        child: the reward.
        level: value up to which nothing changes.
        room: what can still be added above it, more than 0.
    """

    paper = "Rubric Anchors, arXiv 2508.12790 (saturation-aware aggregation)"

    def __init__(self, child: Reward, level: float = 0.5, room: float = 0.5):
        super().__init__(child)
        self.level, self.room = check_number("level", level), check_number("room", room)
        if self.room <= 0:
            raise InputError(f"room must be more than 0, not {room!r}.")
        self.ranks_success = child.ranks_success

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return self._bent(low), self._bent(high)

    def describe(self) -> str:
        return f"{self.name} above {self.level:g} towards {self.level + self.room:g}"

    def adjusted(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        return self._bent(value)

    def _bent(self, value: float) -> float:
        if value <= self.level:
            return value
        return self.level - self.room * math.expm1(-(value - self.level) / self.room)


@register("geometric-mean")
class GeometricMean(Composite):
    """The weighted geometric mean of rewards of at least 0: all must be good, and any 0 makes 0.

    r = prod_k r_k^(w_k / sum w).

    Args:
        weights: part name -> positive weight; 1 for those not named.
        **parts: rewards whose lower bound is 0 or more.

    Raises:
        InputError: a part that can be negative (put it into a Clip), or a weight that is not positive.
    """

    paper = "EditScore, arXiv 2509.23909 (geometric mean of two aspects)"

    def __init__(self, weights: Mapping[str, float] | None = None, **parts: Reward):
        super().__init__(parts)
        for name, part in parts.items():
            if part.bounds[0] < 0:
                raise InputError(f"{name} ({part.name}) can be negative; put it into a Clip with low=0 first.")
        self.weights = check_weights(weights, self.children)

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = zip(*(part.bounds for part in self.children.values()), strict=True)
        return self._mean(dict(zip(self.children, low, strict=True))), self._mean(
            dict(zip(self.children, high, strict=True))
        )

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        return {self.name: self._mean({name: verdict.reward for name, verdict in verdicts.items()})}

    def _mean(self, values: Mapping[str, float]) -> float:
        if min(values.values()) <= 0:
            return 0.0
        total = sum(self.weights.values())
        return math.exp(sum(self.weights[name] * math.log(value) for name, value in values.items()) / total)
