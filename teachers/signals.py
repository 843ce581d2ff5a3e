"""Statistics of one group of returns: success rate, mean absolute advantage, and whether all returns are equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..checks import check_numbers
from ..errors import InputError
from .protocol import Evidence
from .saved_state import SavedState

EPSILON = 1e-6  # added to the standard deviation, as learners do; it also keeps rounding in equal returns at 0


def mean_absolute_advantage(returns: np.ndarray) -> float:
    """Return the mean of |(r - mean) / (std + 1e-6)| over one group, with the population standard deviation (GRPO,
    arXiv 2402.03300)."""
    return float(np.abs(returns - returns.mean()).mean() / (returns.std() + EPSILON))


def mean_absolute_deviation(returns: np.ndarray) -> float:
    """Return the mean of |r - mean| over one group."""
    return float(np.abs(returns - returns.mean()).mean())


def success_counts(evidence: Evidence) -> tuple[float, int]:
    """Return (successes, episodes) of a group. Without success flags, successes are the sum of returns in [0, 1]."""
    successes = evidence.outcome.successes
    total = float(evidence.returns.sum()) if successes is None else float(sum(successes))
    return total, len(evidence.returns)


def success_rate(evidence: Evidence) -> float:
    """Return successes per episode (see `success_counts`)."""
    successes, episodes = success_counts(evidence)
    return successes / episodes


def is_flat(returns: np.ndarray) -> bool:
    """Return True if all returns of a group are equal, so that its advantages are 0."""
    return bool(np.ptp(returns) <= EPSILON)


class Groups:
    """Buffer that collects single returns by key until ``size`` of them make a group.

    A group of one has no advantage. Where outcomes carry single returns (`TeacherWrapper`, `Teacher.update`), a teacher
    that needs groups collects them here; groups of two or more are returned unchanged.
    """

    def __init__(self, size: int):
        self.size = size
        self._waiting: dict[int, list[float]] = {}

    def add(self, key: int, returns: np.ndarray) -> np.ndarray | None:
        """Add float64[n] returns under ``key``. Return the group that they complete, or None."""
        if len(returns) > 1:
            return returns
        waiting = self._waiting.setdefault(key, [])
        waiting.append(float(returns[0]))
        return np.array(self._waiting.pop(key)) if len(waiting) >= self.size else None

    def save(self) -> list[list[Any]]:
        return [[key, list(returns)] for key, returns in self._waiting.items()]

    def restore(self, saved: Any) -> None:
        self._waiting = {int(key): [float(r) for r in returns] for key, returns in saved}


def check_prior(name: str, value: Any) -> list[float]:
    """Return (alpha_0, beta_0) of a Beta prior as a list. Raises InputError unless both are positive."""
    prior = list(check_numbers(name, value))
    if len(prior) == 2 and min(prior) > 0:
        return prior
    raise InputError(f"{name}={value!r} must be two positive numbers, alpha and beta.")


def check_band(name: str, value: Any) -> list[float]:
    """Return (low, high) as a list. Raises InputError unless both are numbers and the lower one comes first."""
    band = list(check_numbers(name, value))
    if len(band) == 2 and band[0] <= band[1]:
        return band
    raise InputError(f"{name}={value!r} must be two numbers, the lower one first.")


class PassRates(SavedState):
    """A Beta posterior of the success rate of each of n tasks.

    An observation of s successes in m episodes sets alpha to decay alpha + (1 - decay) alpha_0 + s, and beta likewise
    with m - s, so that with decay < 1 the effective number of episodes tends to m / (1 - decay) (MoPPS, arXiv
    2507.04632).

    Args:
        n: number of tasks.
        prior: (alpha_0, beta_0), both positive.
        decay: in (0, 1]; 1 forgets nothing.

    Attributes:
        alpha, beta: float64[n].
        episodes, visits: int64[n], number of episodes and of groups of each task.
    """

    kept = ("alpha", "beta", "episodes", "visits")

    def __init__(self, n: int, prior: Sequence[float] = (1.0, 1.0), decay: float = 1.0):
        self.prior, self.decay = (float(prior[0]), float(prior[1])), float(decay)
        self.alpha, self.beta = np.full(n, self.prior[0]), np.full(n, self.prior[1])
        self.episodes, self.visits = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)

    def add(self, task: int, successes: float, episodes: int) -> None:
        keep, (a, b) = self.decay, self.prior
        self.alpha[task] = keep * self.alpha[task] + (1 - keep) * a + successes
        self.beta[task] = keep * self.beta[task] + (1 - keep) * b + episodes - successes
        self.episodes[task] += episodes
        self.visits[task] += 1

    def learn(self, evidence: list[Evidence]) -> None:
        """Add every group of a batch; each record must be the index of a task."""
        for item in evidence:
            self.add(int(item.record), *success_counts(item))

    @property
    def mean(self) -> np.ndarray:
        """float64[n] posterior means."""
        return self.alpha / (self.alpha + self.beta)

    def sample(self, rng: np.random.Generator) -> np.ndarray:
        """Return float64[n], one draw from each posterior."""
        return rng.beta(self.alpha, self.beta)

    def reset(self) -> None:
        """Set every posterior back to the prior; ``episodes`` and ``visits`` are unchanged."""
        self.alpha[:], self.beta[:] = self.prior
