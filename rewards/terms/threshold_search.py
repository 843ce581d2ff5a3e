"""Finding the thresholds of a `LagrangianMix`: Nelder-Mead over them, each point worth what training under it reaches.

Confronting Reward Model Overoptimization with Constrained RLHF, arXiv 2310.04373, section 5.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ...checks import check_count, check_number
from ...errors import InputError, MissingExtra


@dataclass(frozen=True, slots=True)
class ThresholdSearch:
    """What a search found.

    Attributes:
        thresholds: the best point.
        value: its worth.
        tried: every point asked about, in order, with its worth.
    """

    thresholds: Mapping[str, float]
    value: float
    tried: tuple[tuple[Mapping[str, float], float], ...]


def reached(means: Mapping[str, float], thresholds: Mapping[str, float], within: float = 0.05) -> bool:
    """Whether every constraint's mean lies within the fraction ``within`` of its threshold (the paper's ±5 %)."""
    return all(abs(means[name] - target) <= within * abs(target) for name, target in thresholds.items())


def search_thresholds(
    evaluate: Callable[[Mapping[str, float]], float],
    start: Mapping[str, float],
    spread: float = 0.1,
    evaluations: int = 50,
) -> ThresholdSearch:
    """The thresholds with the largest ``evaluate``, by the Nelder-Mead simplex.

    Args:
        evaluate: the true worth of a policy trained under these thresholds (a held-out measure, not one of the rewards
            that are being traded off).
        start: first point; its names are those of the constraints.
        spread: the first simplex's extent along each threshold, in the threshold's own unit.
        evaluations: most calls of ``evaluate``.

    Raises:
        InputError: no threshold, or an argument out of range.
        MissingExtra: scipy is absent.
    """
    try:
        from scipy.optimize import minimize
    except ImportError as error:
        raise MissingExtra("search_thresholds", "train") from error
    if not start:
        raise InputError("a search needs at least one threshold to start from, such as {'format': 0.9}.")
    names = list(start)
    first = [check_number(f"the threshold of {name}", start[name]) for name in names]
    check_number("spread", spread, low=1e-12)
    check_count("evaluations", evaluations, low=1)
    tried: list[tuple[Mapping[str, float], float]] = []

    def cost(point: list[float]) -> float:
        thresholds = dict(zip(names, map(float, point), strict=True))
        value = check_number("what evaluate returned", float(evaluate(thresholds)))
        tried.append((thresholds, value))
        return -value

    simplex = [first] + [[x + spread * (i == j) for j, x in enumerate(first)] for i in range(len(first))]
    minimize(cost, first, method="Nelder-Mead", options={"maxfev": evaluations, "initial_simplex": simplex})
    best, value = max(tried, key=lambda pair: pair[1])
    return ThresholdSearch(best, value, tuple(tried))
