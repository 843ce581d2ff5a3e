"""Hypervolume-guided weighting: a batch that pushes the Pareto front of several objectives outwards counts more."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..algebra.composite import Composite
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .below_average_length import BelowAverageLength
from .format import Format
from .verifiable import Verifiable

Point = tuple[float, ...]


def pareto_front(points: Sequence[Point]) -> list[Point]:
    """The different points that no other one equals or exceeds in every objective, in their order."""
    unique = list(dict.fromkeys(points))
    return [
        point
        for point in unique
        if not any(other != point and all(o >= p for o, p in zip(other, point, strict=True)) for other in unique)
    ]


def hypervolume(points: Sequence[Point], reference: Point) -> float:
    """The volume that ``points`` dominate above ``reference`` (all objectives to be maximised), exactly.

    Slices along the last objective, each the hypervolume of one objective less; meant for fronts of up to a few
    hundred points in up to four objectives.
    """
    above = [point for point in points if all(p > r for p, r in zip(point, reference, strict=True))]
    if not above:
        return 0.0
    if len(reference) == 1:
        return max(point[0] for point in above) - reference[0]
    front = sorted(pareto_front(above), key=lambda point: -point[-1])
    volume = 0.0
    for count, point in enumerate(front, start=1):
        floor = front[count][-1] if count < len(front) else reference[-1]
        if point[-1] > floor:
            slab = [other[:-1] for other in front[:count]]
            volume += (point[-1] - floor) * hypervolume(slab, reference[:-1])
    return volume


def hypervolume_gain(point: Point, front: Sequence[Point], reference: Point) -> float:
    """By how much ``point`` raises the hypervolume of ``front``: 0 if it is dominated."""
    return max(hypervolume([*front, point], reference) - hypervolume(front, reference), 0.0)


def hypervolume_multiplier(gain: float) -> float:
    """0.5 + 1.5 tanh(gain), in [0.5, 2)."""
    return 0.5 + 1.5 * math.tanh(gain)


@register("hypervolume")
class HypervolumeWeighting(Composite):
    """A weighted sum of objectives, times a multiplier for all episodes judged together.

    The mean of each objective over the valid episodes of a batch (or of a group that is judged alone) is a point. By
    how much it enlarges the hypervolume of the front of all points before sets the multiplier, and it joins the front.

    Args:
        objectives: rewards by name; None takes correctness, conciseness (`BelowAverageLength`) and format.
        weights: by the same names, at least 0; None is 0.5 for correctness and 0.25 for the others, or equal weights
            for objectives of one's own.
        reference: by the same names, the worst value of each objective; 0 where it is not named.

    `ranks_success` holds for the objectives taken by default with a weight of correctness that is at least the sum of
    the others.

    Raises:
        InputError: weights or references for other names.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (hypervolume-guided)"
    complete = True
    ranks_success = True

    def __init__(
        self,
        objectives: Mapping[str, Reward] | None = None,
        weights: Mapping[str, float] | None = None,
        reference: Mapping[str, float] | None = None,
    ):
        own = objectives is not None
        super().__init__(
            objectives
            if objectives is not None
            else {"correct": Verifiable(scale=1.0), "concise": BelowAverageLength(), "format": Format()}
        )
        names = list(self.children)
        default = dict.fromkeys(names, 1.0 / len(names)) if own else {"correct": 0.5, "concise": 0.25, "format": 0.25}
        for given in (weights or {}, reference or {}):
            if unknown := sorted(set(given) - set(names)):
                raise InputError(f"hypervolume has no objective {unknown}; its objectives are {names}.")
        self.weights = {
            name: check_number(f"the weight of {name}", (weights or default).get(name, 0.0), low=0.0) for name in names
        }
        self.reference: Point = tuple(
            check_number(f"the reference of {name}", (reference or {}).get(name, 0.0)) for name in names
        )
        self.front: list[Point] = []
        self.ranks_success = not own and self.weights["correct"] >= sum(self.weights.values()) - self.weights["correct"]

    def combine_batch(
        self, groups: Sequence[Sequence[Episode]], verdicts: Sequence[Sequence[Mapping[str, Verdict]]]
    ) -> list[list[Mapping[str, float]]]:
        judged = [parts for group in verdicts for parts in group]
        factor = self._multiplier(judged) if judged else 1.0
        return [
            [{name: factor * weight * parts[name].reward for name, weight in self.weights.items()} for parts in group]
            for group in verdicts
        ]

    def _multiplier(self, judged: Sequence[Mapping[str, Verdict]]) -> float:
        point = tuple(math.fsum(parts[name].reward for parts in judged) / len(judged) for name in self.children)
        gain = hypervolume_gain(point, self.front, self.reference)
        if gain > 0:
            self.front = pareto_front([*self.front, point])
        return hypervolume_multiplier(gain)

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "front": [list(point) for point in self.front]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "front"})
        front = [tuple(map(float, point)) for point in state.get("front", [])]
        if any(len(point) != len(self.children) for point in front):
            raise InputError(f"the saved front does not have the {len(self.children)} objectives of this reward.")
        self.front = front
