"""CMA-ES, an evolution strategy that adapts the covariance of its mutants to the best ones (Hansen, arXiv 1604.00772).

`CovarianceAdaptation` proposes mutants and receives their ranking. It adapts the full covariance or, for long genomes,
only the diagonal (sep-CMA-ES; Ros and Hansen, PPSN 2008). Equation numbers refer to Hansen's tutorial. Only numpy is
needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...errors import InputError

LARGEST = 1_500
"""Largest length of a genome with a full covariance, whose eigenvectors take a second at this size."""


def check_size(size: int) -> None:
    """Raise InputError if a genome of ``size`` numbers is too long for a full covariance."""
    if size > LARGEST:
        raise InputError(
            f"cma_es keeps the covariance of up to {LARGEST} weights of a policy, and there are {size}; "
            "take --es sep_cma_es, or fewer --hidden units."
        )


class CovarianceAdaptation:
    """Normal distribution of mutants, N(mean, step**2 C), that adapts mean and covariance to their better half.

    Args:
        mean: initial mean, float[n].
        step: sigma, the initial standard deviation.
        population: lambda, number of mutants per generation, at least 2.
        diagonal: True adapts only the diagonal of C, at rates that are (n + 2) / 3 times as large.

    Attributes:
        mean: current mean, float64[n].
        step: current sigma.
        covariance: C, float64[n, n], or its diagonal float64[n].

    Raises:
        InputError: ``population`` is below 2, or the genome is too long for a full covariance.
    """

    def __init__(self, mean: np.ndarray, step: float, population: int, diagonal: bool = False):
        size = len(mean)
        if population < 2:
            raise InputError(f"an evolution strategy needs at least 2 mutants in a generation, not {population}.")
        if not diagonal:
            check_size(size)
        self.mean, self.step, self.population, self.diagonal = (
            mean.astype(np.float64),
            float(step),
            population,
            diagonal,
        )
        self.covariance = np.ones(size) if diagonal else np.eye(size)
        self._path, self._step_path = np.zeros(size), np.zeros(size)
        self._generation, self._decomposed = 0, 0
        self._basis, self._scales = np.zeros((0, 0)), np.ones(size)
        self._set_rates(size)

    def _set_rates(self, size: int) -> None:
        """Set the weights and learning rates of the tutorial's table 1, without negative weights."""
        parents = self.population // 2
        raw = np.log((self.population + 1) / 2) - np.log(np.arange(1, parents + 1))
        self._weights = raw / raw.sum()
        mass = self._mass = 1.0 / float((self._weights**2).sum())
        self._step_rate = (mass + 2) / (size + mass + 5)
        self._damping = 1 + 2 * max(0.0, ((mass - 1) / (size + 1)) ** 0.5 - 1) + self._step_rate
        self._path_rate = (4 + mass / size) / (size + 4 + 2 * mass / size)
        self._one_rate = 2 / ((size + 1.3) ** 2 + mass)
        self._mass_rate = min(1 - self._one_rate, 2 * (0.25 + mass + 1 / mass - 2) / ((size + 2) ** 2 + mass))
        if self.diagonal:
            self._one_rate = min(1.0, self._one_rate * (size + 2) / 3)
            self._mass_rate = min(1 - self._one_rate, self._mass_rate * (size + 2) / 3)
        self._expected = size**0.5 * (1 - 1 / (4 * size) + 1 / (21 * size**2))

    def ask(self, rng: np.random.Generator) -> np.ndarray:
        """Draw a generation of mutants, float64[population, n]."""
        self._decompose()
        noise = self._scales * rng.standard_normal((self.population, len(self.mean)))
        return self.mean + self.step * (noise if self.diagonal else noise @ self._basis.T)

    def tell(self, ranked: np.ndarray) -> None:
        """Update the distribution by the mutants of a generation.

        Args:
            ranked: mutants, float[m, n], best first. If m is below ``population``, the missing ones count as the worst;
                without mutants nothing changes.
        """
        if not len(ranked):
            return
        weights = self._weights[: len(ranked)]
        weights = weights / weights.sum()
        changes = (ranked[: len(weights)].astype(np.float64) - self.mean) / self.step
        shift = weights @ changes
        self.mean = self.mean + self.step * shift
        self._generation += 1
        # Equation 43: the path of the steps, in the coordinates in which C is the identity.
        rate = self._step_rate
        self._step_path = (1 - rate) * self._step_path + (rate * (2 - rate) * self._mass) ** 0.5 * self._whiten(shift)
        length = float(np.linalg.norm(self._step_path))
        settled = (1 - (1 - rate) ** (2 * self._generation)) ** 0.5
        moves = length / settled < (1.4 + 2 / (len(self.mean) + 1)) * self._expected
        # Equations 45 and 47: the evolution path of C, and the update of C by the path and by the mutants.
        rate = self._path_rate
        self._path = (1 - rate) * self._path + moves * (rate * (2 - rate) * self._mass) ** 0.5 * shift
        one, mass = self._one_rate, self._mass_rate
        kept = 1 - one - mass + (not moves) * one * rate * (2 - rate)
        if self.diagonal:
            self.covariance = kept * self.covariance + one * self._path**2 + mass * (weights @ changes**2)
        else:
            learned = (changes * weights[:, None]).T @ changes
            self.covariance = kept * self.covariance + one * np.outer(self._path, self._path) + mass * learned
        # Equation 44; the exponent is bounded against runaway step sizes, as in the tutorial.
        self.step *= float(np.exp(min(1.0, self._step_rate / self._damping * (length / self._expected - 1))))

    def _whiten(self, change: np.ndarray) -> np.ndarray:
        """Return C**-1/2 times a vector."""
        if self.diagonal:
            return change / self._scales
        return self._basis @ ((self._basis.T @ change) / self._scales)

    def _decompose(self) -> None:
        """Update the eigenvectors of C, except in generations in which C has hardly changed since the last update."""
        if self.diagonal:
            self._scales = np.sqrt(self.covariance)
            return
        gap = 1 / ((self._one_rate + self._mass_rate) * len(self.mean) * 10)
        if len(self._basis) and self._generation - self._decomposed < gap:
            return
        values, self._basis = np.linalg.eigh((self.covariance + self.covariance.T) / 2)
        self._scales, self._decomposed = np.sqrt(np.maximum(values, 1e-20)), self._generation

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the whole state as arrays, by name."""
        counts = np.array([self.step, self._generation, self._decomposed, self.population, self.diagonal], np.float64)
        named = {"mean": self.mean, "covariance": self.covariance, "path": self._path, "step_path": self._step_path}
        return {**named, "basis": self._basis, "scales": self._scales, "counts": counts}

    @classmethod
    def from_arrays(cls, saved: Mapping[str, Any]) -> CovarianceAdaptation:
        """Restore the state that `arrays` returned."""
        step, generation, decomposed, population, diagonal = saved["counts"].tolist()
        found = cls(saved["mean"], step, int(population), bool(diagonal))
        found.covariance, found._path, found._step_path = saved["covariance"], saved["path"], saved["step_path"]
        found._basis, found._scales = saved["basis"], saved["scales"]
        found._generation, found._decomposed = int(generation), int(decomposed)
        return found
