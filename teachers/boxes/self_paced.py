"""Mathematics of self-paced learning: a Gaussian over tasks that moves from solvable tasks to a target.

Gaussians have diagonal covariances. Values come from a kernel regression whose expectation under a Gaussian has a
closed form. The trust region KL(new || old) <= epsilon is a convex set of means and log standard deviations around the
old ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

ITERATIONS = 80  # most steps of gradient ascent
ARMIJO = 1e-4  # least gain of a step, as a share of the gain that the gradient predicts
SMALLEST_MOVE = 1e-6  # in old standard deviations; ascent ends at a shorter move
LONGEST_STEP = 1e4
LIGHTEST, HEAVIEST, HALVINGS = -4.0, 2.0, 10  # bisection of a weight: range of exponents of ten, number of halvings


@dataclass(frozen=True, eq=False)
class Gaussian:
    """A normal distribution with independent coordinates; mean and log_std are float64[d]."""

    mean: np.ndarray
    log_std: np.ndarray

    @property
    def std(self) -> np.ndarray:
        return np.exp(self.log_std)


# A function of a Gaussian: its value, and its gradients by mean and by log_std.
Functional = Callable[[Gaussian], tuple[float, np.ndarray, np.ndarray]]


def kl_divergence(p: Gaussian, q: Gaussian) -> tuple[float, np.ndarray, np.ndarray]:
    """Return KL(p || q) in nats, and its gradients by the mean and the log_std of p."""
    away = (p.mean - q.mean) / q.std
    ratio = np.exp(2 * (p.log_std - q.log_std))
    value = float((q.log_std - p.log_std + 0.5 * (ratio + away**2 - 1)).sum())
    return value, away / q.std, ratio - 1


class ReturnRegression:
    """Kernel ridge regression of values on tasks, with the mean value as its prior.

    Args:
        tasks: float64[n, d], n >= 1.
        values: float64[n].
        length: length scale of the Gaussian kernel, in units of the axes.
        ridge: ratio of noise variance to signal variance.
    """

    def __init__(self, tasks: np.ndarray, values: np.ndarray, length: float = 0.2, ridge: float = 0.1):
        self.tasks, self.length, self.prior = tasks, length, float(values.mean())
        square = np.square(tasks).sum(1)
        distance = square[:, None] + square - 2 * tasks @ tasks.T
        kernel = np.exp(distance / (-2 * length**2))
        kernel[np.diag_indices(len(tasks))] += ridge
        self.weights = np.linalg.solve(kernel, values - self.prior)

    def __call__(self, points: np.ndarray) -> np.ndarray:
        """Return float64[m], predictions at ``points`` [m, d]."""
        distance = np.square(points[:, None] - self.tasks).sum(2)
        return self.prior + np.exp(distance / (-2 * self.length**2)) @ self.weights

    def expectation(self, p: Gaussian) -> tuple[float, np.ndarray, np.ndarray]:
        """Return E[value] of tasks from ``p``, and its gradients; as the kernel is Gaussian, variances add up."""
        variance = np.exp(2 * p.log_std)
        width = self.length**2 + variance
        away = (p.mean - self.tasks) / width
        scale = math.exp(0.5 * float(np.log(self.length**2 / width).sum()))
        terms = self.weights * scale * np.exp(-0.5 * (away**2 @ width))
        by_mean = -(terms @ away)
        by_log_std = variance * (terms @ away**2 - terms.sum() / width)
        return self.prior + float(terms.sum()), by_mean, by_log_std


def best_within(objective: Functional, old: Gaussian, epsilon: float, start: Gaussian, least_std: float) -> Gaussian:
    """Return the Gaussian p of largest ``objective`` with KL(p || old) <= epsilon, by projected gradient ascent.

    At the boundary of the trust region, steps follow the boundary, so that the method stops at points that satisfy the
    Karush-Kuhn-Tucker conditions.

    Args:
        objective: function to maximise.
        old: centre of the trust region.
        epsilon: size of the trust region, in nats.
        start: starting point, inside the trust region.
        least_std: lower bound of standard deviations, unless ``old`` is below it; means stay in [0, 1].
    """
    d, scale = len(old.mean), old.std
    floor = np.minimum(math.log(least_std) - old.log_std, 0.0)
    lowest = np.concatenate([np.minimum(-old.mean / scale, 0.0), floor])
    highest = np.concatenate([np.maximum((1 - old.mean) / scale, 0.0), np.full(d, np.inf)])

    def gaussian(z: np.ndarray) -> Gaussian:
        return Gaussian(old.mean + scale * z[:d], old.log_std + z[d:])

    def value(z: np.ndarray) -> tuple[float, np.ndarray]:
        f, by_mean, by_log_std = objective(gaussian(z))
        return f, np.concatenate([by_mean * scale, by_log_std])

    z = np.concatenate([(start.mean - old.mean) / scale, start.log_std - old.log_std])
    z = _shrink(np.clip(z, lowest, highest), epsilon)
    f, gradient = value(z)
    step = 1.0
    for _ in range(ITERATIONS):
        direction = _along_the_border(z, gradient, lowest, highest, epsilon)
        for _ in range(30):
            moved = _shrink(np.clip(z + step * direction, lowest, highest), epsilon)
            length = float(np.abs(moved - z).max())
            f_moved, g_moved = value(moved)
            if length < SMALLEST_MOVE or f_moved >= f + ARMIJO * float(direction @ (moved - z)):
                break
            step *= 0.5
        if length < SMALLEST_MOVE or f_moved < f:
            break
        # The next step is as long as the curvature along this one suggests (Barzilai and Borwein 1988).
        along, bend = moved - z, gradient - g_moved
        curvature = float(along @ bend) / float(along @ along)
        step = min(1 / curvature, LONGEST_STEP) if curvature > 1 / LONGEST_STEP else 2 * step
        z, f, gradient = moved, f_moved, g_moved
    return gaussian(z)


def move_by_weight(
    value: Functional, target: Gaussian, old: Gaussian, epsilon: float, alpha: float, least_std: float
) -> Gaussian:
    """Return the Gaussian p of largest E[value] - alpha KL(p || target) in the trust region (2004.11812, eq. 4)."""
    return best_within(_weigh_objective(value, target, alpha), old, epsilon, old, least_std)


def move_by_threshold(
    value: Functional, target: Gaussian, old: Gaussian, epsilon: float, delta: float, least_std: float
) -> Gaussian:
    """Minimise KL(p || target) in the trust region subject to E[value] >= delta; if ``old`` violates it, maximise
    E[value].

    The constrained problem has the Lagrangian of `move_by_weight`, and is solved by the largest weight that keeps
    E[value] >= delta, which is found by bisection.
    """
    if value(old)[0] < delta:
        return best_within(value, old, epsilon, old, least_std)
    best = best_within(_weigh_objective(value, target, math.inf), old, epsilon, old, least_std)
    if value(best)[0] >= delta:
        return best
    low, high, best = LIGHTEST, HEAVIEST, old
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        p = best_within(_weigh_objective(value, target, 10**middle), old, epsilon, best, least_std)
        if value(p)[0] >= delta:
            low, best = middle, p
        else:
            high = middle
    return best


def _weigh_objective(value: Functional, target: Gaussian, alpha: float) -> Functional:
    """Return p -> (E[value] - alpha KL(p || target)) / (1 + alpha), which stays of order one for any weight."""
    pull = 1.0 if math.isinf(alpha) else alpha / (1 + alpha)

    def objective(p: Gaussian) -> tuple[float, np.ndarray, np.ndarray]:
        (expected, *up), (away, *out) = value(p), kl_divergence(p, target)
        by_mean, by_log_std = ((1 - pull) * u - pull * o for u, o in zip(up, out))
        return (1 - pull) * expected - pull * away, by_mean, by_log_std

    return objective


def _kl_from_old(z: np.ndarray) -> tuple[float, np.ndarray]:
    """Return KL(p || old) and its gradient by z: the shift of the mean in old standard deviations, and of log_std."""
    d = len(z) // 2
    growth = np.expm1(2 * z[d:])
    return float((0.5 * z[:d] ** 2).sum() + (0.5 * growth - z[d:]).sum()), np.concatenate([z[:d], growth])


def _shrink(z: np.ndarray, epsilon: float) -> np.ndarray:
    """Return ``z``, or, if it is outside the trust region, the last point inside on the way from 0 to ``z``."""
    longest = float(np.abs(z).max(initial=0.0))
    z = z * min(1.0, 20.0 / max(longest, 1e-300))  # far outside, and exp would overflow
    share = 1.0
    for _ in range(50):  # Newton's method from outside on a convex function, which comes down to the border
        kl, gradient = _kl_from_old(share * z)
        if kl <= epsilon * (1 + 1e-9):
            break
        share -= (kl - epsilon) / float(gradient @ z)
    return share * z


def _along_the_border(
    z: np.ndarray, gradient: np.ndarray, lowest: np.ndarray, highest: np.ndarray, epsilon: float
) -> np.ndarray:
    """Return the part of a gradient that does not point out of the bounds or the trust region."""
    blocked = ((z <= lowest) & (gradient < 0)) | ((z >= highest) & (gradient > 0))
    direction = np.where(blocked, 0.0, gradient)
    kl, normal = _kl_from_old(z)
    if kl >= epsilon * (1 - 1e-6):
        normal = np.where(blocked, 0.0, normal)
        outward = float(direction @ normal)
        if outward > 0:
            direction = direction - outward / float(normal @ normal) * normal
    return direction
