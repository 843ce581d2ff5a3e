"""Gaussian mixtures with full covariances, fitted by expectation-maximisation to a few hundred points.

A teacher refits nine mixtures (2 to 10 components) every few hundred episodes, so all of them run through one EM loop:
their components are stacked into one array. With h = (1, x), a component's moments M = E[h h'] determine its mean and
covariance S, and h' M^-1 h = 1 + (x - mean)' S^-1 (x - mean), det M = det S. An M-step is therefore one matrix product
that gives M, and an E-step one product with the entries of M^-1. Conventions (k-means start, tolerance, regularisation,
what counts as an iteration) are scikit-learn's, so that the same start gives the same mixture.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Literal

import numpy as np

from ...checks import check_count
from ...errors import InputError

CRITERIA = ("aic", "bic", "aicc")
TOLERANCE = 1e-3  # change of the mean log-likelihood per point below which EM stops
REGULARISATION = 1e-6  # added to the diagonal of every covariance
LEAST_MASS = 10 * float(np.finfo(np.float64).eps)  # keeps an empty component finite, as in scikit-learn
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
    def _whitening(self) -> tuple[np.ndarray, np.ndarray]:
        """Whitening matrices of all components, float64[k D, D], and their whitened means, float64[k D, 1]."""
        inverse = np.linalg.inv(self._cholesky)
        centres = np.matmul(inverse, self.means[:, :, None])
        return inverse.reshape(-1, self.means.shape[1]), centres.reshape(-1, 1)

    @cached_property
    def _log_scale(self) -> np.ndarray:
        """Log weight plus log normaliser of each Gaussian, float64[k, 1]; -inf for a weight of 0."""
        log_det = np.log(np.diagonal(self._cholesky, axis1=1, axis2=2)).sum(1)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        return (log_weights - log_det - 0.5 * self.means.shape[1] * math.log(2 * math.pi))[:, None]

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """Return float64[n], the log-density at each of ``points`` [n, D]."""
        whitening, centres = self._whitening
        white = whitening @ points.T - centres
        joint = self._log_scale - 0.5 * np.square(white).reshape(*self.means.shape, -1).sum(1)
        top = joint.max(0)
        return top + np.log(np.exp(joint - top).sum(0))

    @property
    def parameters(self) -> int:
        """Number of free parameters, P = k(D + D(D+1)/2) + k - 1."""
        k, d = self.means.shape
        return k * (d + d * (d + 1) // 2) + k - 1

    def criterion(self, points: np.ndarray, name: Literal["aic", "bic", "aicc"] = "aic") -> float:
        """Compute an information criterion on ``points`` [n, D]; lower is better.

        Args:
            points: the points to which the mixture was fitted.
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
        """Return float64[n, D], independent draws."""
        component = self.weights[:-1].cumsum().searchsorted(rng.random(n), side="right")
        noise = rng.standard_normal((n, 1, self.means.shape[1]))
        return self.means[component] + (self._cholesky[component] * noise).sum(2)


def fit(points: np.ndarray, components: Sequence[int], rng: np.random.Generator) -> list[GaussianMixture]:
    """Fit one mixture per entry of ``components``, by k-means++, Lloyd's iterations and EM.

    Args:
        points: float64[n, D], with coordinates of order one (covariances are computed from second moments); n >=
            max(components).
        components: number of components of each mixture.
        rng: chooses the starting centres.

    Raises:
        InputError: no components, or more components than points.
    """
    for k in components:
        check_count("components", k, low=1)
    if not components or max(components) > len(points):
        raise InputError(
            f"components={list(components)} must be at least one number, each at most {len(points)} points."
        )
    sizes = np.asarray(components)
    centre = points.mean(0)
    centred = points - centre
    nearest = _assign(centred, _lloyd(centred, _plus_plus(centred, sizes, rng), sizes), _Stack(sizes))
    mixtures = _converge(centred, *_maximise(nearest, _monomials(centred), points.shape[1]), sizes)
    return [GaussianMixture(m.weights, m.means + centre, m.covariances) for m in mixtures]


def expectation_maximisation(
    points: np.ndarray, weights: np.ndarray, means: np.ndarray, covariances: np.ndarray, sizes: np.ndarray
) -> list[GaussianMixture]:
    """Run EM for several mixtures at once, from given parameters.

    Args:
        points: float64[n, D].
        weights, means, covariances: float64 [C], [C, D], [C, D, D], the components of all mixtures, one mixture after
            another.
        sizes: int[M], number of components of each mixture; their sum is C.

    Returns:
        M mixtures. EM of a mixture stops after an iteration that changed the mean log-likelihood by less than
        `TOLERANCE`, or after `MAX_ITERATIONS`.
    """
    pairs = _pairs(points.shape[1])
    homogeneous = np.concatenate([np.ones((len(means), 1)), means], axis=1)
    moments = homogeneous[:, pairs.rows] * homogeneous[:, pairs.columns]
    inner = pairs.rows > 0
    moments[:, inner] += covariances[:, pairs.rows[inner] - 1, pairs.columns[inner] - 1]
    return _converge(points, weights, moments, sizes)


class _Stack:
    """Components of several mixtures, one mixture after another.

    Attributes:
        own: slice of the components of each mixture.
        model: int[C], the mixture of each component.
        members: float64[M, C], 1 where a component belongs to a mixture.
        padded: int[M, most], the components of each mixture, filled up with its first one to the largest number.
    """

    def __init__(self, sizes: np.ndarray):
        ends = sizes.cumsum()
        starts = ends - sizes
        self.own = list(map(slice, starts.tolist(), ends.tolist()))
        self.model = np.repeat(np.arange(len(sizes)), sizes)
        self.members = (self.model == np.arange(len(sizes))[:, None]).astype(np.float64)
        step = np.arange(sizes.max())
        self.padded = starts[:, None] + np.where(step < sizes[:, None], step, 0)


def _converge(points: np.ndarray, weights: np.ndarray, moments: np.ndarray, sizes: np.ndarray) -> list[GaussianMixture]:
    """Run `expectation_maximisation` from weights [C] and moments [C, P]."""
    monomials, (n, d) = _monomials(points), points.shape
    active, stack = np.arange(len(sizes)), _Stack(sizes)
    previous = np.full(len(sizes), -np.inf)
    done: dict[int, GaussianMixture] = {}
    for iteration in range(MAX_ITERATIONS):
        joint = _coefficients(weights, moments, d) @ monomials
        top = joint.take(stack.padded, axis=0).max(1)
        joint -= top.take(stack.model, axis=0)
        density = np.exp(joint, out=joint)
        total = stack.members @ density
        density /= total.take(stack.model, axis=0)
        weights, moments = _maximise(density, monomials, d)
        likelihood = (top + np.log(total)).sum(1) / n
        stop = np.abs(likelihood - previous) < TOLERANCE
        if iteration == MAX_ITERATIONS - 1:
            stop[:] = True
        if stop.any():
            for i in np.flatnonzero(stop):
                own = stack.own[i]
                done[int(active[i])] = _mixture(weights[own], moments[own], d)
            if len(done) == len(sizes):
                break
            kept = ~stop[stack.model]
            weights, moments = weights[kept], moments[kept]
            active, likelihood = active[~stop], likelihood[~stop]
            stack = _Stack(sizes[active])
        previous = likelihood
    return [done[i] for i in range(len(sizes))]


@dataclass(frozen=True, eq=False)
class _Pairs:
    """Index tables for the products of two coordinates of h = (1, x), with P = (d + 1) (d + 2) / 2.

    Attributes:
        rows, columns: int[P], the two coordinates of each product; 0 is the constant 1 of h.
        of: int[d + 1, d + 1], the product of any two coordinates.
        factor: float64[P], coefficient of an entry of M^-1 in the log-density: -1/2 on the diagonal, -1 off the
            diagonal, where one product represents two entries.
        ridge: float64[P], added to the moments so that no covariance is singular.
    """

    rows: np.ndarray
    columns: np.ndarray
    of: np.ndarray
    factor: np.ndarray
    ridge: np.ndarray


@cache
def _pairs(d: int) -> _Pairs:
    rows, columns = np.triu_indices(d + 1)
    of = np.empty((d + 1, d + 1), dtype=np.intp)
    of[rows, columns] = of[columns, rows] = np.arange(len(rows))
    equal = rows == columns
    return _Pairs(rows, columns, of, np.where(equal, -0.5, -1.0), np.where(equal & (rows > 0), REGULARISATION, 0.0))


def _monomials(points: np.ndarray) -> np.ndarray:
    """Return float64[P, n]: 1, each coordinate, and each product x_i x_j with i <= j."""
    pairs = _pairs(points.shape[1])
    homogeneous = np.concatenate([np.ones((1, len(points))), points.T])
    return homogeneous[pairs.rows] * homogeneous[pairs.columns]


def _coefficients(weights: np.ndarray, moments: np.ndarray, d: int) -> np.ndarray:
    """Return float64[C, P]: log(weight times density) of each component, as coefficients of `_monomials`."""
    pairs = _pairs(d)
    inverse = np.linalg.inv(moments[:, pairs.of])
    coefficients = inverse[:, pairs.rows, pairs.columns] * pairs.factor
    log_det = np.linalg.slogdet(inverse)[1]
    coefficients[:, 0] += np.log(weights) + 0.5 * (log_det + (1 - d * math.log(2 * math.pi)))
    return coefficients


def _maximise(responsibilities: np.ndarray, monomials: np.ndarray, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Return weights [C] and moments [C, P] from responsibilities [C, n] (M-step)."""
    sums = responsibilities @ monomials.T
    mass = sums[:, 0] + LEAST_MASS
    moments = sums / mass[:, None]
    moments += _pairs(d).ridge
    moments[:, 0] = 1.0
    return mass / monomials.shape[1], moments


def _mixture(weights: np.ndarray, moments: np.ndarray, d: int) -> GaussianMixture:
    means = moments[:, 1 : d + 1].copy()
    return GaussianMixture(weights, means, moments[:, _pairs(d).of[1:, 1:]] - means[:, :, None] * means[:, None])


def _plus_plus(points: np.ndarray, sizes: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw starting centres of all mixtures, float64[C, D]: each next one with probability proportional to the squared
    distance from the nearest centre chosen so far (k-means++, Arthur and Vassilvitskii 2007)."""
    n, d = points.shape
    count, most = len(sizes), int(sizes.max())
    chosen = np.empty((count, most), dtype=int)
    chosen[:, 0] = rng.integers(n, size=count)
    distance = np.full((count, n), np.inf)
    squares, ones = np.square(points).sum(1, keepdims=True), np.ones((n, 1))
    # (x, |x|^2, 1) of one point times (-2y, 1, |y|^2) of another is their squared distance.
    right, left = np.hstack([points, squares, ones]).T, np.hstack([-2.0 * points, ones, squares])
    for step in range(1, most):
        np.minimum(distance, left[chosen[:, step - 1]] @ right, out=distance)
        np.maximum(distance, 0.0, out=distance)  # rounding
        cumulative = np.cumsum(distance, axis=1)
        threshold = rng.random(count) * cumulative[:, -1]
        # If every point is already a centre, the threshold is 0 and the first point is taken again.
        chosen[:, step] = np.minimum((cumulative <= threshold[:, None]).sum(1), n - 1)
    return points[np.concatenate([row[:k] for row, k in zip(chosen, sizes)])].reshape(-1, d)


def _lloyd(points: np.ndarray, centres: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    limit, stack = LLOYD_TOLERANCE * float(points.var(0).mean()), _Stack(sizes)
    counted = np.hstack([points, np.ones((len(points), 1))])
    for _ in range(MAX_ITERATIONS):
        sums = _assign(points, centres, stack) @ counted
        mass = sums[:, -1:]
        moved = np.where(mass > 0, sums[:, :-1] / np.maximum(mass, 1.0), centres)
        shift = np.square(moved - centres).sum()
        centres = moved
        if shift <= limit:
            break
    return centres


def _assign(points: np.ndarray, centres: np.ndarray, stack: _Stack) -> np.ndarray:
    """Return float64[C, n]: 1 for the nearest centre of each mixture, 0 elsewhere."""
    distance = centres @ (-2.0 * points.T)
    distance += np.square(centres).sum(1, keepdims=True)
    nearest = distance == distance.take(stack.padded, axis=0).min(1).take(stack.model, axis=0)
    if np.count_nonzero(nearest) > len(stack.own) * len(points):
        # Ties between centres go to the first one, so that each point counts once.
        for own in stack.own:
            nearest[own] &= np.cumsum(nearest[own], axis=0) == 1
    return nearest.astype(np.float64)
