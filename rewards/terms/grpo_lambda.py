"""GRPO-λ: length counts only for the tasks that the policy has best in hand."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...checks import check_number
from ..episode import Episode
from ..reward import BatchReward, register


def length_aware_groups(success_ratios: Sequence[float], fraction: float) -> set[int]:
    """The ``ceil(fraction * groups)`` groups (at least one) with the highest success ratios; ties by order."""
    count = max(1, math.ceil(fraction * len(success_ratios) - 1e-9))
    return set(sorted(range(len(success_ratios)), key=lambda index: -success_ratios[index])[:count])


def length_scaled(lengths: Sequence[float], alpha: float) -> list[float]:
    """1 - alpha * sigmoid((length - mean) / std) for the lengths of the successes of one group (std with ddof 0).

    Where all lengths are equal, all get 1 - alpha / 2.
    """
    values = np.asarray(lengths, dtype=float)
    spread = values.std()
    places = (values - values.mean()) / spread if spread > 0 else np.zeros_like(values)
    return (1.0 - alpha / (1.0 + np.exp(-places))).tolist()


@register("grpo-lambda")
class GRPOLambda(BatchReward):
    """1 for a success and 0 for a failure; in the groups with the highest success ratio of the batch, a success gets
    1 - alpha * sigmoid(standardised length) instead, so that being short pays where being right is no longer the
    difficulty.

    A group judged alone counts as the whole batch.

    Args:
        fraction: share of the groups of a batch that are length-aware, in [0, 1]; at least one is.
        alpha: how much of a success's reward length can take, in [0, 1]. The paper's value is not confirmed.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Stable Reinforcement Learning for Efficient Reasoning (GRPO-λ), arXiv 2505.18086"
    complete = True
    ranks_success = True

    def __init__(self, fraction: float = 0.2, alpha: float = 0.2):
        self.fraction = check_number("fraction", fraction, low=0.0, high=1.0)
        self.alpha = check_number("alpha", alpha, low=0.0, high=1.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return 0.0, 1.0

    def values(self, groups: Sequence[Sequence[Episode]]) -> list[list[float]]:  # type: ignore[override]
        ratios = [sum(episode.success for episode in group) / len(group) for group in groups]
        chosen = length_aware_groups(ratios, self.fraction)
        values = []
        for index, group in enumerate(groups):
            scaled = iter(
                length_scaled([episode.tokens for episode in group if episode.success], self.alpha)
                if index in chosen and ratios[index] > 0
                else [1.0] * len(group)
            )
            values.append([next(scaled) if episode.success else 0.0 for episode in group])
        return values
