"""Distributions over a finite list and draws from them: independent, sequential without replacement, or lowest first.

All functions take and return NumPy arrays; weights are float64[n] by position in the list, and the caller passes the
random generator.
"""

from __future__ import annotations

import math

import numpy as np


def pick(probabilities: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return int[k], indices drawn independently in proportion to ``probabilities``, in O(n + k log n)."""
    return np.searchsorted(np.cumsum(probabilities)[:-1], rng.random(k) * probabilities.sum(), side="right")


def softmax(values: np.ndarray, temperature: float) -> np.ndarray:
    """Return float64[n], probabilities proportional to exp(values / temperature), computed without overflow."""
    weights = np.exp((values - values.max()) / temperature)
    return weights / weights.sum()


def epsilon_greedy(values: np.ndarray, epsilon: float) -> np.ndarray:
    """Return float64[n]: probability 1 - epsilon split evenly among the highest values, and epsilon among all."""
    best = values == values.max()
    return (1 - epsilon) * best / best.sum() + epsilon / len(values)


def proportional(values: np.ndarray) -> np.ndarray:
    """Return float64[n], probabilities proportional to ``values >= 0``; uniform if all values are 0."""
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def effective_number(probabilities: np.ndarray) -> float:
    """Return exp(entropy) of a distribution: n if it is uniform over n, 1 if it is certain."""
    positive = probabilities[probabilities > 0]
    return math.exp(-float((positive * np.log(positive)).sum()))


def argsmallest(cost: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """Return int[min(k, n)], the indices of the smallest costs, smallest first, ties in random order."""
    k = min(k, len(cost))
    shuffled = rng.permutation(len(cost))
    near = shuffled[np.argpartition(cost[shuffled], k - 1)[:k]] if k < len(cost) else shuffled
    return near[np.argsort(cost[near], kind="stable")]


def draw_without_replacement(
    log_weights: np.ndarray, k: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw k indices without replacement, each in proportion to the weights of the indices that remain.

    Args:
        log_weights: float64[n]; -inf for a weight of 0, which is drawn last, in random order.
        k: number of draws; min(k, n) are returned.

    Returns:
        int[m] distinct indices in the order drawn, and float64[m], the probability of each draw given the earlier ones
        (NaN for a weight of 0).
    """
    peak = log_weights.max()
    weights = np.exp(log_weights - peak) if np.isfinite(peak) else np.zeros(len(log_weights))
    drawn = argsmallest(-(log_weights + rng.gumbel(size=len(log_weights))), k, rng)
    taken = weights[drawn]
    left = np.ones(len(weights), dtype=bool)
    left[drawn] = False
    remaining = weights[left].sum() + np.cumsum(taken[::-1])[::-1]
    with np.errstate(divide="ignore", invalid="ignore"):
        return drawn, np.where(taken > 0, taken / remaining, np.nan)
