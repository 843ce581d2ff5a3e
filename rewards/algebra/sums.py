"""Sums and multiples of rewards: `Sum`, `Weighted`, `ReplaceEnvironmentReward`, `Scheduled` and `Shaped`."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ...checks import check_number, option
from ...errors import InputError
from ...schedules import ScheduleLike, check_schedule
from ...schedules import schedule as as_schedule
from ..episode import Episode
from ..reward import Reward, register
from ..update_counter import UpdateCounter
from ..verdict import Verdict
from .composite import Composite, Parts, Single, apply_to_sum, join_parts


@register("sum")
class Sum(Composite):
    """Sum of named rewards: ``Sum(correct=Verifiable(), brevity=Weighted(Overlong(), 0.5))``.

    A part with one term gives a term with the part's name, a part with several gives terms ``part.term``.
    """

    def __init__(self, **parts: Reward):
        super().__init__(parts)

    @property
    def bounds(self) -> tuple[float, float]:
        bounds = [part.bounds for part in self.children.values()]
        return sum(low for low, _ in bounds), sum(high for _, high in bounds)

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        return join_parts([Parts.of(self.children[name], verdict).rename(name) for name, verdict in verdicts.items()])


@register("weighted")
class Weighted(Single):
    """Another reward times a number."""

    child: Reward = option(says="the reward to multiply.")
    weight: float = option(says="the factor; a negative one turns a reward into a cost.")

    def setup(self) -> None:
        super().setup()
        self.ranks_success = self.child.ranks_success and self.weight > 0

    @property
    def bounds(self) -> tuple[float, float]:
        return scale_bounds(self.child.bounds, self.weight)

    def describe(self) -> str:
        return f"{self.name} x {self.weight:g}"

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        return Parts.of(self.child, verdicts["child"]).scale(self.weight)


@register("alone")
class ReplaceEnvironmentReward(Single):
    """Another reward in place of the environment's own reward, which no longer counts."""

    child: Reward = option(says="the reward.")

    def setup(self) -> None:
        super().setup()
        self.complete, self.ranks_success = True, self.child.ranks_success

    @property
    def bounds(self) -> tuple[float, float]:
        return self.child.bounds

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        return Parts.of(self.child, verdicts["child"])


@register("scheduled")
class Scheduled(UpdateCounter, Single):
    """Another reward times a weight that follows a schedule over the updates of training. The current update is the
    ``step`` of the last call of `advance`, and 0 before the first call."""

    child: Reward = option(says="the reward.")
    schedule: ScheduleLike = option(
        check=check_schedule, says='weight by update, such as ``{"kind": "linear", "start": 1.0, "end": 0.0}``.'
    )

    @property
    def weight(self) -> float:
        """Weight at the current update."""
        return self.now(self.schedule)

    @property
    def bounds(self) -> tuple[float, float]:
        ends = [scale_bounds(self.child.bounds, weight) for weight in as_schedule(self.schedule).bounds]
        return min(low for low, _ in ends), max(high for _, high in ends)

    def describe(self) -> str:
        return f"{self.name} x {self.schedule} (now {self.weight:g})"

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        return Parts.of(self.child, verdicts["child"]).scale(self.weight)


@register("shaped")
class Shaped(Composite):
    """1 for a success plus bounded parts that together add at most ``width`` < 1: no failed episode outranks a success.

    r = 1[success] + width * (weighted mean of the parts, each scaled from its bounds to [0, 1]).

    Args:
        width: the most that all parts together can add, above 0 and below 1.
        weights: part name -> positive weight; 1 for parts not named.
        **parts: bounded terms, such as ``brevity=Overlong()``.

    Raises:
        InputError: a width outside (0, 1), a part without finite bounds, or a weight that is not positive.
    """

    complete = True
    ranks_success = True

    def __init__(self, width: float = 0.5, weights: Mapping[str, float] | None = None, **parts: Reward):
        super().__init__(parts)
        self.complete = True
        if not 0.0 < width < 1.0:
            raise InputError(f"width must lie between 0 and 1, so that a success always ranks first, not {width!r}.")
        for name, part in parts.items():
            low, high = part.bounds
            if not (math.isfinite(low) and math.isfinite(high) and low < high):
                raise InputError(f"{name} ({part.name}) has no finite bounds; put it into a Clip first.")
        self.width = float(width)
        self.weights = check_weights(weights, self.children)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0 + self.width

    def describe(self) -> str:
        return f"{self.name} (width {self.width:g})"

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Parts:
        combined = [Parts({"success": float(episode.success)})]
        total = sum(self.weights.values())
        for name, verdict in verdicts.items():
            low, high = self.children[name].bounds
            scale = self.width * self.weights[name] / total

            def share(value: float, low: float = low, high: float = high, scale: float = scale) -> float:
                return scale * min(max((value - low) / (high - low), 0.0), 1.0)

            whole = bool(verdict.steps) and set(verdict.steps) == set(verdict.terms)
            shared = {name: apply_to_sum(verdict.by_turn, share)} if whole else {}
            combined.append(Parts({name: share(verdict.reward)}, shared))
        return join_parts(combined)


def scale_bounds(bounds: tuple[float, float], weight: float) -> tuple[float, float]:
    """Multiply bounds by a number; 0 times an infinite bound is 0."""
    ends = [weight * end if weight else 0.0 for end in bounds]
    return min(ends), max(ends)


def check_weights(weights: Mapping[str, float] | None, parts: Mapping[str, Reward]) -> dict[str, float]:
    """Return a weight for each part, in the order of ``parts``; parts without an entry in ``weights`` get 1.

    Raises:
        InputError: a weight that is not positive, or for an unknown part.
    """
    weights = dict(weights or {})
    if unknown := sorted(set(weights) - set(parts)):
        raise InputError(f"weights names {unknown}, but the parts are {sorted(parts)}.")
    checked = {name: check_number(f"the weight of {name}", weights.get(name, 1.0)) for name in parts}
    for name, weight in checked.items():
        if weight <= 0:
            raise InputError(f"the weight of {name} must be positive, not {weight:g}.")
    return checked
