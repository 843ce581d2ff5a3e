"""Strength of a perturbation, chosen for each task by a small policy that is trained on the learner's progress.

The published method masks medical images in proportion to a draw from a beta distribution. Here the draw is the
coordinate of one axis, such as a number of distractors.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...checks import option
from ...errors import unknown_name
from ..protocol import Evidence
from ..registration import register
from ..saved_state import Kept
from ..signals import success_rate
from .box_teacher import BoxTeacher

_WIDEST = 3.0
"""Largest absolute value of the logarithms of alpha and beta."""


_EDGE = 1e-6
"""Smallest distance of a draw from 0 and 1, where the density may be infinite."""


def beta_log_density(m: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the log-density of the beta distribution at ``m`` in (0, 1), elementwise."""
    constant = _log_gamma(alpha) + _log_gamma(beta) - _log_gamma(np.asarray(alpha + beta))
    return (alpha - 1) * np.log(m) + (beta - 1) * np.log1p(-m) - constant


_log_gamma = np.vectorize(math.lgamma, otypes=[float])


def digamma(x: np.ndarray) -> np.ndarray:
    """Return the derivative of log gamma at ``x`` > 0, elementwise, to ten digits: the asymptotic series at x + 6, and
    the recurrence down to x (Abramowitz and Stegun 1964, 6.3.18 and 6.3.6)."""
    above = np.asarray(x, dtype=np.float64) + 6
    inverse = above**-2
    series = (
        np.log(above) - 0.5 / above - inverse * (1 / 12 - inverse * (1 / 120 - inverse * (1 / 252 - inverse / 240)))
    )
    return series - sum(1 / (above - 6 + n) for n in range(6))


def beta_score(m: np.ndarray, alpha: np.ndarray, beta: np.ndarray) -> np.ndarray:
    """Return the derivatives of `beta_log_density` by log alpha and log beta, [n, 2] for arrays of n."""
    both = digamma(alpha + beta)
    first = alpha * (np.log(m) - digamma(alpha) + both)
    return np.stack([first, beta * (np.log1p(-m) - digamma(beta) + both)], axis=-1)


@register("noise-mask")
class NoiseMask(BoxTeacher):
    """Uniform tasks, whose strength of perturbation is drawn from Beta(alpha, beta) of their other parameters.

    The logarithms of alpha and beta are linear in the coordinates of the other axes. They follow the policy gradient
    R grad log Beta(m), R being the rise of the learner's success on tasks without perturbation above its running mean,
    less the running mean of R. A share of the proposals is without perturbation and measures that success. The paper's
    R is not known. At evaluation fix the axis at its easiest value.

    Attributes:
        weights: float64[2, 1 + d], of log alpha and log beta for the d other axes.
    """

    paper = "arXiv 2406.14568"
    when = (
        "One axis only disturbs (distractors, noise), and how much of it helps to learn the undisturbed task is open."
    )
    kept = ("weights", Kept("_pending", list[list[float]]), "_level", "_gain")
    axis: str = option(default="", says="name of the axis of the perturbation; by default the last one.")
    clean: float = option(default=0.25, above=0, high=1, says="share of proposals without perturbation.")
    rate: float = option(default=1.0, above=0, says="learning rate of the policy (ours).")
    smoothing: float = option(default=0.2, above=0, high=1, says="weight of the newest value in both running means.")

    def setup(self) -> None:
        super().setup()
        if self.axis and self.axis not in self.cube.names:
            raise unknown_name("axis of the perturbation", self.axis, self.cube.names)
        self._place = self.cube.names.index(self.axis) if self.axis else self.cube.dimension - 1
        self.weights = np.zeros((2, self.cube.dimension))
        self._pending: list[list[float]] = []  # perturbed points whose effect on the learner is not measured yet
        self._level = -1.0  # running mean of the success without perturbation; -1 before the first
        self._gain = 0.0  # running mean of R

    def _features(self, points: np.ndarray) -> np.ndarray:
        """Return float64[k, 1 + d]: 1 and the other coordinates in [-1, 1]."""
        others = np.delete(points, self._place, axis=1)
        return np.concatenate([np.ones((len(points), 1)), 2 * others - 1], axis=1)

    def strengths(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return alpha and beta at ``points`` [k, dimension], float64[k] each; the axis itself does not count."""
        alpha, beta = np.exp(np.clip(self.weights @ self._features(points).T, -_WIDEST, _WIDEST))
        return alpha, beta

    def _points(self, k: int) -> tuple[np.ndarray, np.ndarray | float, Sequence[str] | str]:
        points = self._rng.random((k, self.cube.dimension))
        alpha, beta = self.strengths(points)
        drawn = self._rng.beta(alpha, beta).clip(_EDGE, 1 - _EDGE)
        clean = self._rng.random(k) < self.clean
        points[:, self._place] = np.where(clean, 0.0, drawn)
        density = (1 - self.clean) * np.exp(beta_log_density(drawn, alpha, beta))
        return points, np.where(clean, np.nan, density), np.where(clean, "explore", "exploit").tolist()

    def _learn(self, evidence: list[Evidence]) -> None:
        clean = [success_rate(item) for item in evidence if item.record[self._place] == 0.0]
        if clean:
            level = float(np.mean(clean))
            if self._level >= 0 and self._pending:
                self._follow(level - self._level)
            self._level = level if self._level < 0 else self._level + self.smoothing * (level - self._level)
            self._pending = []
        self._pending += [item.record for item in evidence if item.record[self._place] != 0.0]

    def _follow(self, gain: float) -> None:
        """Take a step of the policy gradient for the pending points, after which success rose by ``gain``."""
        points = np.array(self._pending)
        drawn = points[:, self._place].clip(_EDGE, 1 - _EDGE)  # tasks of `update` may lie at the end of the axis
        score = beta_score(drawn, *self.strengths(points))
        self.weights += self.rate * (gain - self._gain) * score.T @ self._features(points) / len(points)
        self._gain += self.smoothing * (gain - self._gain)

    def _metrics(self) -> dict[str, float]:
        alpha, beta = self.strengths(np.full((1, self.cube.dimension), 0.5))
        return {"strength": float(alpha[0] / (alpha[0] + beta[0])), "clean_success": max(self._level, 0.0)}
