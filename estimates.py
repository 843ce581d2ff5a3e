"""Estimates: Student's interval of a mean, the interquartile mean, and the rank correlation.

The interquartile mean follows Agarwal et al. 2021 (arXiv 2108.13264, section 4.3) and their library rliable.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class MeanEstimate:
    """A mean of n runs, or their interquartile mean, and its 95 % interval; the bounds are NaN for a single run."""

    mean: float
    low: float
    high: float
    n: int


def estimate_mean(values: Sequence[float]) -> MeanEstimate:
    """Estimate the mean of ``values`` (one or more) with Student's interval.

    If a value is infinite, the result is the median, without an interval.
    """
    n = len(values)
    mean = float(np.mean(values)) if all(map(math.isfinite, values)) else float(np.median(values))
    if n < 2 or not all(map(math.isfinite, values)):
        return MeanEstimate(mean, math.nan, math.nan, n)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, 0.975)) * float(np.std(values, ddof=1)) / math.sqrt(n)
    return MeanEstimate(mean, mean - half, mean + half, n)


def interquartile_mean(values: Any) -> np.ndarray:
    """Compute the mean of the middle half along the last axis: a quarter, rounded down, is cut from either end."""
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    cut = ordered.shape[-1] // 4
    return ordered[..., cut : ordered.shape[-1] - cut].mean(axis=-1)


def rank_correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return Spearman's correlation of two arrays [n], with ties at their mean rank; NaN if either is constant."""
    ranks = []
    for values in (x, y):
        _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
        ranks.append((np.cumsum(counts) - (counts - 1) / 2)[place])
    if any(np.ptp(rank) == 0 for rank in ranks):
        return math.nan
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])
