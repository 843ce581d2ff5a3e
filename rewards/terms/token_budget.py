"""A plain token budget: nothing within it, then a cost in proportion to what is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...checks import check_number
from ...schedules import Schedule
from ..episode import Episode
from ..reward import register
from ..timed import Timed
from .length import checked_budget


def over_budget(length: float, budget: float) -> float:
    """How much of ``budget`` is exceeded: 0 within it, 1 at twice the budget."""
    return max(0.0, length / budget - 1.0)


@register("token-budget")
class TokenBudget(Timed):
    """A term of -weight times the share by which the episode exceeds its budget, and never below -weight.

    Args:
        budget: tokens; a number, a schedule, or its data. It stays above 0.
        weight: the largest cost, at least 0.

    Raises:
        InputError: a budget that can reach 0.
    """

    def __init__(self, budget: Schedule | Mapping[str, Any] | float = 256, weight: float = 0.5):
        self.budget = checked_budget(budget)
        self.weight = check_number("weight", weight, low=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return -self.weight, 0.0

    def value(self, episode: Episode) -> float:
        return -self.weight * min(1.0, over_budget(episode.tokens, self.now(self.budget)))
