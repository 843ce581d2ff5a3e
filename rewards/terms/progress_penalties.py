"""CaRL's reward: new progress, times factors for what was done badly on the way. One term, nothing to balance."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ...checks import check_number
from ...errors import InputError
from ..episode import Episode
from ..reward import StepReward, register
from .scored import scores_in


def progress_times_penalties(completion: Sequence[float], factors: Sequence[float]) -> list[float]:
    """For each step the completion that is new, times that step's factor.

    Args:
        completion: what is done after each step, in [0, 1]; falling back and catching up earns nothing.
        factors: product of the soft penalties of each step, in [0, 1]; 1 for a clean step.
    """
    best, values = 0.0, []
    for done, factor in zip(completion, factors, strict=True):
        values.append(max(done - best, 0.0) * factor)
        best = max(best, done)
    return values


@register("progress-penalties")
class ProgressPenalties(StepReward):
    """The whole worth of an episode, step by step: 1 in sum for a clean and complete run.

    Extras: "completion", a number in [0, 1] after each step; optionally "soft_factors", for each step a number or
    several in [0, 1] (0.5 while a soft limit is violated); and optionally "hard_violation", true where the episode was
    ended by one. `ranks_success` is not claimed: a success full of violations can be worth less than half a clean run.

    Args:
        terminal: what a hard violation adds to the last step, at most 0.

    Raises:
        InputError: ``terminal`` above 0; when called, extras that do not have one entry a step.
    """

    paper = "CaRL, arXiv 2504.17838 (route completion reward)"
    needs = frozenset({"completion"})
    complete = True

    def __init__(self, terminal: float = -1.0):
        self.terminal = check_number("terminal", terminal, high=0.0)

    @property
    def bounds(self) -> tuple[float, float]:
        return self.terminal, 1.0

    def values(self, episode: Episode) -> list[float] | None:
        steps = len(episode.steps)
        completion = scores_in(episode.extra("completion"), "completion", 0.0, 1.0)
        factors = _products(episode.extras.get("soft_factors", [1.0] * steps))
        if completion is None or factors is None:
            return None
        if len(completion) != steps or len(factors) != steps:
            raise InputError(
                f"completion and soft_factors need one entry for each of the {steps} steps, not {len(completion)} and "
                f"{len(factors)}."
            )
        values = progress_times_penalties(completion, factors)
        if values and episode.extras.get("hard_violation"):
            values[-1] += self.terminal
        return values


def _products(factors: Any) -> list[float] | None:
    if isinstance(factors, Sequence) and not isinstance(factors, str):
        factors = [_product(factor) if isinstance(factor, Sequence) else factor for factor in factors]
    return scores_in(factors, "soft_factors", 0.0, 1.0)


def _product(factors: Any) -> float | None:
    known = scores_in(factors, "soft_factors", 0.0, 1.0)
    return None if known is None else math.prod(known)
