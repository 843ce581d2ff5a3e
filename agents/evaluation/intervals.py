"""Estimates with 95 % confidence intervals, clustered by task, because episodes of one task are not independent.

Two episodes of the same task carry less information than two of different tasks, so the intervals use the *effective*
sample size or cluster-robust variances.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from ...errors import InputError

Z95 = 1.959963984540054  # the standard normal's 97.5 % quantile


@dataclass(frozen=True)
class Estimate:
    """Mean of ``count`` values with a 95 % confidence interval [low, high]; all three NaN without values."""

    mean: float
    low: float
    high: float
    count: int

    def __str__(self) -> str:
        return self.text()

    def text(self, percent: bool = False) -> str:
        """Format as "0.80 [0.49, 0.94]" or, in percent, "80 % [49, 94]"; an unknown interval (NaN) is left out."""
        if math.isnan(self.mean):
            return "–"
        if percent:
            middle, bounds = f"{100 * self.mean:.0f} %", (f"{100 * self.low:.0f}", f"{100 * self.high:.0f}")
        else:
            middle, bounds = f"{self.mean:.2f}", (f"{self.low:.2f}", f"{self.high:.2f}")
        return middle if math.isnan(self.low) else f"{middle} [{bounds[0]}, {bounds[1]}]"


def effective_count(values: Sequence[float], clusters: Sequence[Hashable] | None) -> float:
    """Return the effective sample size of n clustered values, between (Σ n_c)² / Σ n_c² and n.

    The effective sample size is n divided by the design effect: the cluster-robust variance of the mean (Miller 2024,
    arXiv 2411.00640, section 2.2) over the variance for independent values. If all values are equal, the design effect
    is unknown; the values within a cluster then count as repetitions of each other, which gives the lower bound (Kish
    1965).

    Args:
        values: any numbers.
        clusters: the task of each value; None: all different.
    """
    count = len(values)
    if clusters is None or count < 2 or len(set(clusters)) == count:
        return float(count)
    together, sizes = _cluster_squares(values, clusters)
    mean = math.fsum(values) / count
    alone = math.fsum((value - mean) ** 2 for value in values)
    least = count * count / sum(size * size for size in sizes)
    if together == 0:
        return least if alone == 0 else float(count)
    return min(float(count), max(least, count * alone / together))


def _cluster_squares(values: Sequence[float], clusters: Sequence[Hashable]) -> tuple[float, list[int]]:
    """Return the sum over clusters of the squared sum of deviations from the mean, and the clusters' sizes."""
    members: dict[Hashable, list[float]] = defaultdict(list)
    for value, cluster in zip(values, clusters, strict=True):
        members[cluster].append(value)
    mean = math.fsum(values) / len(values)
    squares = math.fsum((math.fsum(group) - len(group) * mean) ** 2 for group in members.values())
    return squares, [len(group) for group in members.values()]


def wilson_interval(successes: int, count: int, z: float = Z95, effective: float | None = None) -> Estimate:
    """Estimate a proportion with Wilson's score interval (Wilson 1927; Brown, Cai, DasGupta 2001, eq. 4).

    Unlike mean ± z·s/√n, the interval stays inside [0, 1] and has a positive width even for 0 or ``count`` successes.

    Args:
        effective: effective sample size (`effective_count`), which replaces ``count`` in the interval (Franco et al.
            2019, Journal of Survey Statistics and Methodology 7, section 2). None: ``count``.

    Raises:
        InputError: ``successes`` is not in 0 … ``count``.
    """
    if not 0 <= successes <= count:
        raise InputError(f"successes must be in 0 … count, not {successes} of {count}.")
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    share, size = successes / count, count if effective is None else effective
    denominator = 1 + z * z / size
    centre = (share + z * z / (2 * size)) / denominator
    half = z * math.sqrt(share * (1 - share) / size + z * z / (4 * size * size)) / denominator
    # At the ends the formula gives 0 and 1 exactly, except for rounding.
    low = 0.0 if successes == 0 else centre - half
    high = 1.0 if successes == count else centre + half
    return Estimate(share, low, high, count)


def mean_interval(
    values: Sequence[float],
    low: float = -math.inf,
    high: float = math.inf,
    z: float = Z95,
    clusters: Sequence[Hashable] | None = None,
) -> Estimate:
    """Estimate a mean with the normal interval mean ± z·s/√n, clipped to [low, high], the quantity's possible range.

    The bounds are NaN for a single value, and for values of a single cluster.

    Args:
        clusters: the task of each value. The cluster-robust variance, with the factor G/(G-1) for G clusters (Cameron
            and Miller 2015, Journal of Human Resources 50, eq. 12), is used if it is larger. None: all different.
    """
    count = len(values)
    if count == 0:
        return Estimate(math.nan, math.nan, math.nan, 0)
    mean = math.fsum(values) / count
    if count == 1 or (clusters is not None and len(set(clusters)) == 1):
        return Estimate(mean, math.nan, math.nan, count)
    variance = math.fsum((value - mean) ** 2 for value in values) / (count - 1) / count
    if clusters is not None:
        squares, sizes = _cluster_squares(values, clusters)
        variance = max(variance, squares / count**2 * len(sizes) / (len(sizes) - 1))
    half = z * math.sqrt(variance)
    return Estimate(mean, max(low, mean - half), min(high, mean + half), count)


def share_interval(values: Sequence[float], z: float = Z95, clusters: Sequence[Hashable] | None = None) -> Estimate:
    """Estimate a mean of values in [0, 1], such as pass@k of several tasks.

    The interval is Agresti and Coull's (1998, The American Statistician 52, section 2), extended from {0, 1} to [0, 1]:
    z²/2 pseudo-values of 0 and as many of 1 are added, then centre ± z·s/√(count + z²), clipped to [0, 1]. For zeros
    and ones it equals the original exactly. It is deterministic, contains the mean, and has a positive width even if
    all values are equal (above all at 0 and 1), where a t-interval and a bootstrap over the values have width 0. For
    few values it is rather too wide.

    Args:
        clusters: the task of each value; the total weight of the values is then `effective_count`. None: all different.

    Raises:
        InputError: a value is not in [0, 1].
    """
    if outside := [value for value in values if not 0 <= value <= 1]:
        raise InputError(f"a share must be in [0, 1], not {outside[0]}.")
    if not values:
        return Estimate(math.nan, math.nan, math.nan, 0)
    size = effective_count(values, clusters)
    each, made_up = size / len(values), z * z
    total = size + made_up
    centre = (each * math.fsum(values) + made_up / 2) / total
    squares = each * math.fsum((value - centre) ** 2 for value in values)
    squares += made_up / 2 * ((1 - centre) ** 2 + centre**2)
    half = z * math.sqrt(squares) / total
    return Estimate(math.fsum(values) / len(values), max(0.0, centre - half), min(1.0, centre + half), len(values))


def solved_to(difficulties: Sequence[float], successes: Sequence[float], clusters: Sequence[Hashable]) -> Estimate:
    """Return the difficulty at which a fitted logistic curve falls to 50 % success, with an interval over tasks.

    The curve 1 / (1 + exp(b·d - a)) is fitted by maximum likelihood with one pseudo-success at difficulty -1 and one
    pseudo-failure at 2, so that the fit always exists. The result is clipped to [0, 1]: at 0 fewer than half of the
    easiest tasks are solved, at 1 more than half of the hardest. For a curve that does not fall, the result is 1 if
    most episodes are solved, else 0. The interval is from the 2.5 % to the 97.5 % quantile of 200 bootstrap samples of
    whole tasks, drawn with a fixed seed.

    Args:
        difficulties: difficulties of the episodes in [0, 1]; rounded to hundredths.
        successes: success of each episode, 0 or 1, or a success rate.
        clusters: the task of each episode.
    """
    names = {name: number for number, name in enumerate(dict.fromkeys(clusters))}
    if not names:
        return Estimate(math.nan, math.nan, math.nan, 0)
    levels, level = np.unique(np.round(np.asarray(difficulties, float), 2), return_inverse=True)
    won, task = np.asarray(successes, float), np.array([names[cluster] for cluster in clusters])
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(len(names), np.full(len(names), 1 / len(names)), size=200)
    weights = [np.ones(len(names)), *drawn]
    played = np.array([np.bincount(level, weight[task], len(levels)) for weight in weights])
    solved = np.array([np.bincount(level, weight[task] * won, len(levels)) for weight in weights])
    points = _half_points(levels, played, solved)
    low, high = np.quantile(points[1:], [0.025, 0.975])
    return Estimate(float(points[0]), float(low), float(high), len(won))


def _half_points(levels: np.ndarray, played: np.ndarray, solved: np.ndarray) -> np.ndarray:
    """Return the 50 % points [fits] of logistic curves, each fitted to one row of counts.

    Args:
        levels: difficulties, [levels].
        played, solved: number of episodes at each level, and of solved ones, [fits, levels].
    """
    x = np.append(levels, [-1.0, 2.0])
    made_up = np.ones((len(played), 2))
    played = np.concatenate([played, made_up], axis=1)
    solved = np.concatenate([solved, made_up * [1.0, 0.0]], axis=1)
    a, b = np.zeros(len(played)), np.ones(len(played))
    for _ in range(40):  # Newton's method on a concave function, with steps of at most 4
        p = 1 / (1 + np.exp(np.clip(b[:, None] * x - a[:, None], -60, 60)))
        error, curvature = solved - played * p, played * p * (1 - p)
        grad_a, grad_b = error.sum(1), -error @ x
        aa, ab, bb = curvature.sum(1) + 1e-9, -curvature @ x, curvature @ (x * x) + 1e-9
        determinant = np.maximum(aa * bb - ab * ab, 1e-12)
        step_a, step_b = (bb * grad_a - ab * grad_b) / determinant, (aa * grad_b - ab * grad_a) / determinant
        scale = np.minimum(1, 4 / np.maximum(np.maximum(np.abs(step_a), np.abs(step_b)), 1e-12))
        a, b = a + scale * step_a, b + scale * step_b
        if max(np.abs(step_a).max(), np.abs(step_b).max()) < 1e-9:
            break
    flat = np.where(a > 0, 1.0, 0.0)
    return np.where(b > 1e-6, np.clip(a / np.maximum(b, 1e-6), 0, 1), flat)
