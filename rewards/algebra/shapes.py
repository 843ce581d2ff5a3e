"""Bounding and averaging of rewards: `Clip`, `Saturate` and `GeometricMean`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...checks import option
from ...errors import InputError
from ..episode import Episode
from ..judges.ensemble import geometric_mean
from ..reward import Reward, register
from ..verdict import Verdict
from .composite import Composite, Single
from .sums import check_weights


@register("clip")
class Clip(Single):
    """Another reward, clipped to [``low``, ``high``].

    Raises:
        InputError: low is not below high.
    """

    child: Reward = option(says="the reward to clip.")
    low: float = option(default=0.0, says="lowest value.")
    high: float = option(default=1.0, says="highest value.")

    def setup(self) -> None:
        super().setup()
        if not self.low < self.high:
            raise InputError(f"low must be below high, not {self.low!r} and {self.high!r}.")

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return min(max(low, self.low), self.high), max(min(high, self.high), self.low)

    def describe(self) -> str:
        return f"{self.name} to [{self.low:g}, {self.high:g}]"

    def adjust(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        return min(max(value, self.low), self.high)


def approach_ceiling(value: float, level: float, headroom: float) -> float:
    """Return ``value`` up to ``level``; above, return level + headroom * (1 - exp(-(value - level) / headroom)). The
    result stays below level + headroom. The paper (arXiv 2508.12790) asks for a concave function above a level and
    names none; this one is ours."""
    return value if value <= level else level - headroom * math.expm1(-(value - level) / headroom)


@register("saturate")
class Saturate(Single):
    """Another reward with diminishing returns: unchanged up to ``level``, then rising towards ``level + room``.

    The function is smooth and strictly increasing, so the order of two episodes never changes.
    """

    paper = "Rubric Anchors, arXiv 2508.12790 (saturation-aware aggregation)"
    child: Reward = option(says="the reward to saturate.")
    level: float = option(default=0.5, says="value up to which the reward does not change.")
    room: float = option(default=0.5, above=0, says="distance from ``level`` to the upper limit.")

    def setup(self) -> None:
        super().setup()
        self.ranks_success = self.child.ranks_success

    @property
    def bounds(self) -> tuple[float, float]:
        low, high = self.child.bounds
        return approach_ceiling(low, self.level, self.room), approach_ceiling(high, self.level, self.room)

    def describe(self) -> str:
        return f"{self.name} above {self.level:g} towards {self.level + self.room:g}"

    def adjust(self, episode: Episode, value: float, others: Mapping[str, Verdict]) -> float:
        return approach_ceiling(value, self.level, self.room)


@register("geometric-mean")
class GeometricMean(Composite):
    """Weighted geometric mean of rewards of at least 0: it is high only if all are, and 0 if one is 0.

    r = prod_k r_k^(w_k / sum w).

    Args:
        weights: part name -> positive weight; 1 for parts not named.
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
        weights = list(self.weights.values())
        return geometric_mean(low, weights), geometric_mean(high, weights)

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        # A verdict may lie below the bounds that its reward states.
        rewards = [max(verdicts[name].reward, 0.0) for name in self.weights]
        return {self.name: geometric_mean(rewards, list(self.weights.values()))}
