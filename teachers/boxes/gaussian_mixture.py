"""Gaussian mixtures with full covariances, fitted by expectation-maximisation to a few hundred points.

A teacher refits nine mixtures (2 to 10 components) every few hundred episodes, so all of them run through one EM loop:
their components are stacked into one array, and because a Gaussian's log-density is linear in the monomials of degree
<= 2, each E-step and each M-step is a single matrix product. Conventions (k-means start, tolerance, regularisation,
what counts as an iteration) are scikit-learn's, so that the same start gives the same mixture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from ...errors import InputError
from ..protocol import whole_number

CRITERIA = ("aic", "bic", "aicc")
TOLERANCE = 1e-3  # change of the mean log-likelihood per point below which EM stops
REGULARISATION = 1e-6  # added to the diagonal of every covariance
MAX_ITERATIONS = 100
LLOYD_TOLERANCE = 1e-4  # squared movement of the centres, relative to the variance of the points


@dataclass(frozen=True, eq=False)
class GaussianMixture:
    """k Gaussians in D dimensions.

    Attributes:
        weights: float64[k], summing to 1.
        means: float64[k, D].
        covariances: float64[k, D, D], positive definite.
    """

    weights: np.ndarray
    means: np.ndarray
    covariances: np.ndarray

    @cached_property
    def _cholesky(self) -> np.ndarray:
        return np.linalg.cholesky(self.covariances)

    @cached_property
    def _whitening(self) -> np.ndarray:
        return np.linalg.inv(self._cholesky)

    @cached_property
    def _log_scale(self) -> np.ndarray:
        """float64[k, 1]: log weight plus the log of the Gaussian's normaliser; -inf for a weight of 0."""
        log_det = np.log(np.diagonal(self._cholesky, axis1=1, axis2=2)).sum(1)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return (log_weights - log_det - 0.5 * self.means.shape[1] * math.log(2 * math.pi))[:, None]

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Log-density at each of ``points`` [n, D], as float64[n]."""
        white = np.matmul(self._whitening, points.T[None] - self.means[:, :, None])
        joint = self._log_scale - 0.5 * np.square(white).sum(1)
        top = joint.max(0)
        return top + np.log(np.exp(joint - top).sum(0))

    @property
    def parameters(self) -> int:
        """Free parameters, P = k(D + D(D+1)/2) + k - 1."""
        k, d = self.means.shape
        return k * (d + d * (d + 1) // 2) + k - 1

    def criterion(self, points: np.ndarray, name: Literal["aic", "bic", "aicc"] = "aic") -> float:
        """An information criterion on ``points`` [n, D], the lower the better.

        Args:
            points: what the mixture was fitted to.
            name: "aic", 2P - 2 log L (Akaike); "bic", P log n - 2 log L (Schwarz); "aicc", AIC + 2P(P+1)/(n-P-1) for
                few points, infinite where n <= P + 1 (Hurvich and Tsai 1989). P counts all D fitted dimensions.
        """
        n, parameters = len(points), self.parameters
        misfit = -2.0 * float(self.log_density(points).sum())
        if name == "bic":
            return parameters * math.log(n) + misfit
        if name == "aicc":
            spare = n - parameters - 1
            return 2.0 * parameters * (1 + (parameters + 1) / spare) + misfit if spare > 0 else math.inf
        return 2.0 * parameters + misfit

    def sample(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """float64[n, D] independent draws."""
        component = np.searchsorted(np.cumsum(self.weights)[:-1], rng.random(n), side="right")
        noise = rng.standard_normal((n, self.means.shape[1], 1))
        return self.means[component] + np.matmul(self._cholesky[component], noise)[:, :, 0]


def fit(points: np.ndarray, components: Sequence[int], rng: np.random.Generator) -> list[GaussianMixture]:
    """One mixture per entry of ``components``, by k-means++, Lloyd's iterations and EM.

    Args:
        points: float64[n, D], of order one (the covariance is computed from second moments); n >= max(components).
        components: number of components of each mixture.
        rng: chooses the starting centres.

    Raises:
        InputError: no components, or more components than points.
    """
    for k in components:
        whole_number("components", k, low=1)
    if not components or max(components) > len(points):
        raise InputError(
            f"components={list(components)} must be at least one number, each at most {len(points)} points."
        )
    sizes = np.asarray(components)
    centre = points.mean(0)
    centred = points - centre
    starts = _assign(centred, _lloyd(centred, _plus_plus(centred, sizes, rng), sizes), sizes)
    weights, means, covariances = _maximise(starts, _monomials(centred), points.shape[1])
    mixtures = expectation_maximisation(centred, weights, means, covariances, sizes)
    return [GaussianMixture(m.weights, m.means + centre, m.covariances) for m in mixtures]


def expectation_maximisation(
    points: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, sizes: np.ndarray
) -> list[GaussianMixture]:
    """EM for several mixtures at once, from given parameters.

    Args:
        points: float64[n, D].
        weights, means, covariances: [C], [C, D], [C, D, D]: the components of all mixtures, one mixture after another.
        sizes: int[M], components of each mixture; they sum to C.

    Returns:
        M mixtures, each after the iteration whose mean log-likelihood rose by less than `TOLERANCE` (or the last).
    """
    monomials = _monomials(points)
    active = np.arange(len(sizes))
    previous = np.full(len(sizes), -np.inf)
    done: dict[int, GaussianMixture] = {}
    for iteration in range(MAX_ITERATIONS):
        live = sizes[active]
        starts, model = _segments(live)
        joint = _coefficients(weights, means, covariances) @ monomials
        top = np.maximum.reduceat(joint, starts)
        joint -= top[model]
        density = np.exp(joint, out=joint)
        total = np.add.reduceat(density, starts)
        likelihood = (top + np.log(total)).mean(1)
        density /= total[model]
        weights, means, covariances = _maximise(density, monomials, points.shape[1])
        stop = np.abs(likelihood - previous) < TOLERANCE
        stop |= iteration == MAX_ITERATIONS - 1
        if stop.any():
            for i in np.flatnonzero(stop):
                own = slice(starts[i], starts[i] + live[i])
                done[int(active[i])] = GaussianMixture(weights[own], means[own], covariances[own])
            if len(done) == len(sizes):
                break
            kept = ~stop[model]
            weights, means, covariances = weights[kept], means[kept], covariances[kept]
            active, likelihood = active[~stop], likelihood[~stop]
        previous = likelihood
    return [done[i] for i in range(len(sizes))]


def _segments(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where each mixture's components begin (int[M]), and which mixture each component belongs to (int[C])."""
    return np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)


def _monomials(points: np.ndarray) -> np.ndarray:
    """float64[P, n]: 1, each coordinate, each product x_i x_j with i <= j."""
    rows, columns = np.triu_indices(points.shape[1])
    x = points.T
    return np.concatenate([np.ones((1, len(points))), x, x[rows] * x[columns]])


def _coefficients(weights: np.ndarray, means: np.ndarray, covariances: np.ndarray) -> np.ndarray:
    """float64[C, P]: the log of weight times density, as coefficients of `_monomials`."""
    d = means.shape[1]
    rows, columns = np.triu_indices(d)
    precisions = np.linalg.inv(covariances)
    linear = np.matmul(precisions, means[:, :, None])[:, :, 0]
    log_det = np.linalg.slogdet(precisions)[1]
    constant = np.log(weights) + 0.5 * (log_det - d * math.log(2 * math.pi) - (linear * means).sum(1))
    quadratic = precisions[:, rows, columns] * np.where(rows == columns, -0.5, -1.0)
    return np.concatenate([constant[:, None], linear, quadratic], axis=1)


def _maximise(responsibilities: np.ndarray, monomials: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Weights [C], means [C, D] and covariances [C, D, D] from responsibilities [C, n] (M-step)."""
    sums = responsibilities @ monomials.T
    mass = sums[:, 0] + 10 * np.finfo(np.float64).eps  # keeps an empty component finite, as in scikit-learn
    means = sums[:, 1 : d + 1] / mass[:, None]
    rows, columns = np.triu_indices(d)
    second = sums[:, d + 1 :] / mass[:, None] - means[:, rows] * means[:, columns]
    covariances = np.empty((len(mass), d, d))
    covariances[:, rows, columns] = second
    covariances[:, columns, rows] = second
    covariances[:, range(d), range(d)] += REGULARISATION
    return mass / monomials.shape[1], means, covariances


def _plus_plus(points: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Starting centres of all mixtures, float64[C, D]: each next one drawn with probability proportional to the squared
    distance from those chosen so far (k-means++, Arthur and Vassilvitskii 2007)."""
    n, d = points.shape
    count, most = len(sizes), int(sizes.max())
    chosen = np.empty((count, most), dtype=int)
    chosen[:, 0] = rng.integers(n, size=count)
    distance = np.full((count, n), np.inf)
    for step in range(1, most):
        newest = points[chosen[:, step - 1]]
        np.minimum(distance, np.square(points[None] - newest[:, None]).sum(2), out=distance)
        cumulative = np.cumsum(distance, axis=1)
        threshold = rng.random(count) * cumulative[:, -1]
        # Where every point is already a centre the threshold is 0 and the first point is taken again.
        chosen[:, step] = np.minimum((cumulative <= threshold[:, None]).sum(1), n - 1)
    return points[np.concatenate([row[:k] for row, k in zip(chosen, sizes)])].reshape(-1, d)


def _lloyd(points: np.ndarray, centres: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    limit = LLOYD_TOLERANCE * float(points.var(0).mean())
    for _ in range(MAX_ITERATIONS):
        share = _assign(points, centres, sizes)
        mass = share.sum(1, keepdims=True)
        moved = np.where(mass > 0, share @ points / np.maximum(mass, 1.0), centres)
        shift = np.square(moved - centres).sum()
        centres = moved
        if shift <= limit:
            break
    return centres


def _assign(points: np.ndarray, centres: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    """float64[C, n]: 1 for the nearest centre of each mixture, 0 elsewhere."""
    starts, model = _segments(sizes)
    distance = np.square(centres).sum(1)[:, None] - 2.0 * (centres @ points.T)
    nearest = distance == np.minimum.reduceat(distance, starts)[model]
    # Of equal centres the first takes the point, so that shares stay whole.
    for start, size in zip(starts, sizes):
        if (nearest[start : start + size].sum(0) > 1).any():
            block = nearest[start : start + size]
            block &= np.cumsum(block, axis=0) == 1
    return nearest.astype(np.float64)
