"""A student of K categories, ordered by difficulty, between which skill may transfer."""

from __future__ import annotations

from collections.abc import Sequence

import gymnasium as gym
import numpy as np

from ...checks import Declared, check_number, keyword_declared, option
from ...errors import InputError

SLOPE = 1.5  # slope of the logit of success in the skill


@keyword_declared
class CategoryStudent(Declared):
    """A student with K skills, one per arm, that grow with the variance of the practised outcomes, as under GRPO.

    An episode of arm k succeeds with probability p_k = sigmoid(1.5 (theta_k - b_k)). A group of n episodes with the
    share q of successes gives the gain 4 q (1 - q). After each batch theta <- theta + rate T g, where g_k is the sum of
    the gains of arm k's groups and T[j, k] is the effect of practising k on j.

    Attributes:
        space: the tasks, Discrete(K).
        effects: float64[K, K], T.
        theta: float64[K], the skills; zero at first.
        scored: bool[K], arms that count in `score`: neither infeasible nor coins.
    """

    arms: int = option(default=10, low=1, kw_only=False, says="K, number of arms.")
    easiest: float = option(default=-1.0, says="lowest b_k; the b_k are spaced equally.")
    hardest: float = option(default=5.0, says="highest b_k.")
    transfer: float | Sequence[Sequence[float]] | np.ndarray = option(
        default=1.5,
        says="T as a matrix float[K, K]; or a number, the distance over which transfer falls by a factor e: T[j, k]"
        " = exp(-|j - k| / transfer); 0 is no transfer.",
    )
    infeasible: Sequence[int] = option(default=(), says="arms that never succeed.")
    coins: Sequence[int] = option(default=(), says="arms that succeed with probability 1/2, and teach nothing.")
    rate: float = option(default=0.004, above=0, says="learning rate.")
    seed: int = option(default=0, says="seed of the outcomes.")

    def setup(self) -> None:
        for name, chosen in (("infeasible", self.infeasible), ("coins", self.coins)):
            if not all(isinstance(arm, int) and 0 <= arm < self.arms for arm in chosen):
                raise InputError(f"{name}={chosen!r} must be whole numbers from 0 to {self.arms - 1}.")
        self.space = gym.spaces.Discrete(self.arms)
        self.effects = _matrix(self.transfer, self.arms)
        self.theta = np.zeros(self.arms)
        self._difficulty = np.linspace(self.easiest, self.hardest, self.arms)
        self._infeasible, self._coins = np.zeros((2, self.arms), dtype=bool)
        self._infeasible[list(self.infeasible)], self._coins[list(self.coins)] = True, True
        self.scored = ~(self._infeasible | self._coins)
        self._rng = np.random.default_rng(self.seed)

    def rates(self) -> np.ndarray:
        """Return float64[K], the present success probability of each arm."""
        p = 1 / (1 + np.exp(-SLOPE * (self.theta - self._difficulty)))
        return np.where(self._infeasible, 0.0, np.where(self._coins, 0.5, p))

    def score(self) -> float:
        """Return the mean success probability over the arms in `scored`."""
        return float(self.rates()[self.scored].mean())

    def play(self, arms: np.ndarray, n: int) -> np.ndarray:
        """Play n episodes of each of ``arms`` (int[k]) without learning; return float64[k, n], 0 or 1."""
        return (self._rng.random((len(arms), n)) < self.rates()[arms, None]).astype(np.float64)

    def practise(self, arms: np.ndarray, n: int) -> np.ndarray:
        """Play n episodes of each of ``arms`` (int[k]) and learn from all of them; return float64[k, n], 0 or 1."""
        arms = np.asarray(arms, dtype=np.int64)
        returns = self.play(arms, n)
        share = returns.mean(1)
        gain = np.bincount(arms, 4 * share * (1 - share), minlength=self.arms)
        gain[~self.scored] = 0.0
        self.theta = self.theta + self.rate * (self.effects @ gain)
        return returns


def _matrix(transfer: float | Sequence[Sequence[float]] | np.ndarray, arms: int) -> np.ndarray:
    if isinstance(transfer, int | float):
        if check_number("transfer", transfer) < 0:
            raise InputError(f"transfer={transfer:g} must not be negative.")
        distance = np.abs(np.subtract.outer(np.arange(arms), np.arange(arms)))
        return np.exp(-distance / transfer) if transfer > 0 else np.eye(arms)
    matrix = np.array(transfer, dtype=np.float64)
    if matrix.shape != (arms, arms) or not np.isfinite(matrix).all():
        raise InputError(f"transfer has shape {matrix.shape}; give finite numbers of shape ({arms}, {arms}).")
    return matrix
