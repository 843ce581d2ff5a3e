"""A neural bandit over the arms' features (INSTINCT, arXiv 2310.02905, built on NeuralUCB, arXiv 1911.04462).

A small network predicts the bandit's reward (a `Payoff`) of each arm from the arm's features, so that an outcome of one
arm changes the predictions for similar arms. The uncertainty of a prediction is a norm of the network's gradient.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..saved_state import restore_array
from .payoff import PayoffArms
from .thompson import Thompson

MOST_PARAMETERS = 512  # of a model with a full covariance
MINIBATCH = 64
BETA_1, BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8  # Adam's own (arXiv 1412.6980)


class Network:
    """Predictor m(x) = w . x, or with hidden units v . relu(W x) + c; x must contain a constant 1 as the bias input.

    Args:
        inputs: number of entries of x.
        hidden: number of hidden units; 0 makes m linear.
        rng: generator of the initial weights.

    Attributes:
        theta: float64[p], all parameters.
    """

    def __init__(self, inputs: int, hidden: int, rng: np.random.Generator):
        self.inputs, self.hidden = inputs, hidden
        if hidden:
            first = rng.standard_normal(hidden * inputs) * np.sqrt(2 / inputs)
            self.theta = np.concatenate([first, rng.standard_normal(hidden) / np.sqrt(hidden), [0.0]])
        else:
            self.theta = np.zeros(inputs)

    def values(self, x: np.ndarray) -> np.ndarray:
        """Return float64[n], m at each row of ``x`` (float64[n, inputs])."""
        if not self.hidden:
            return x @ self.theta
        first, second = self._split(self.theta)
        return np.maximum(x @ first.T, 0.0) @ second + self.theta[-1]

    def gradients(self, x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """Return float64[n, p], the gradient of m by the parameters at each row of ``x``; with ``weights`` (float64[n])
        the weighted sum of the gradients, float64[p]."""
        if not self.hidden:
            return x if weights is None else weights @ x
        first, second = self._split(self.theta)
        active = x @ first.T
        units = np.maximum(active, 0.0)
        slopes = (active > 0) * second
        if weights is not None:
            return np.concatenate([((slopes.T * weights) @ x).ravel(), weights @ units, [weights.sum()]])
        products = (slopes[:, :, None] * x[:, None, :]).reshape(len(x), -1)
        return np.concatenate([products, units, np.ones((len(x), 1))], axis=1)

    def weighted_norms(self, x: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Return float64[n], sum_p weights_p g_p^2 of each row's gradient g, without storing all gradients at once."""
        if not self.hidden:
            return x**2 @ weights
        first, second = self._split(self.theta)
        inner, outer = self._split(weights)
        active = x @ first.T
        slopes = (active > 0) * second
        return (slopes**2 * (x**2 @ inner.T)).sum(1) + np.maximum(active, 0.0) ** 2 @ outer + weights[-1]

    def fit(
        self, x: np.ndarray, y: np.ndarray, steps: int, rate: float, decay: float, rng: np.random.Generator
    ) -> None:
        """Minimise the mean squared error by Adam on minibatches, with L2 decay."""
        mean, square = np.zeros_like(self.theta), np.zeros_like(self.theta)
        for step in range(1, steps + 1):
            rows = rng.integers(len(x), size=MINIBATCH) if len(x) > MINIBATCH else slice(None)
            error = self.values(x[rows]) - y[rows]
            gradient = self.gradients(x[rows], 2 * error / len(error)) + decay * self.theta
            mean = BETA_1 * mean + (1 - BETA_1) * gradient
            square = BETA_2 * square + (1 - BETA_2) * gradient**2
            scale = np.sqrt(square / (1 - BETA_2**step)) + ADAM_EPSILON
            self.theta = self.theta - rate * mean / (1 - BETA_1**step) / scale

    def _split(self, vector: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        size = self.hidden * self.inputs
        return vector[:size].reshape(self.hidden, self.inputs), vector[size:-1]


@register("neural-bandit")
class NeuralBandit(PayoffArms, Thompson):
    """Neural bandit: the arm with the highest predicted reward plus its uncertainty.

    With g the gradient of the network m at an arm and U = lambda I + sum of g g^T over the observations, sigma^2 =
    lambda nu g^T U^-1 g. "ucb" takes the highest m + sigma. Within a batch, the variance of an arm already taken c
    times is sigma^2 / (1 + c sigma^2 / (lambda nu)), as after c more observations, so that a batch does not consist of
    one arm. "ts" draws from N(m, sigma^2). The first `initial` proposals are uniform.

    The authors retrain from the initial weights after every observation, with 1000 steps at rate 1e-3 (here:
    ``refit=1, steps=1000, rate=1e-3, warm=False``). By default the network is fine-tuned from its current weights every
    `refit` observations, with fewer and larger steps, on the last `memory` observations, which costs about a hundredth
    and follows a student who changes.
    """

    paper = "2310.02905"
    when = "Arms that resemble each other and have features, so many that each can be tried only a few times."
    kept = ("_start", "_u", "_left", "t")
    rule: Literal["ucb", "ts"] = option(
        default="ucb", says='"ucb" takes the largest m + sigma, "ts" the largest draw from N(m, sigma^2).'
    )
    hidden: int = option(default=32, says="number of hidden units of the network; 0 is a linear model (LinUCB).")
    covariance: Literal["diagonal", "full"] = option(
        default="diagonal",
        says='"diagonal" keeps the diagonal of U, as the authors do; "full" keeps the whole matrix, for up to 512 '
        "parameters.",
    )
    regularisation: float = option(
        default=0.1, above=0, says="lambda; weight decay is lambda / t after t observations."
    )
    nu: float = option(default=1.0, above=0, says="scale of the exploration term.")
    initial: int = option(default=40, says="number of uniform proposals at the start.")
    gamma: float = option(
        default=1.0,
        above=0,
        high=1,
        says="factor on the evidence in U at each observation; below 1, uncertainty returns.",
    )
    refit: int = option(default=32, low=1, says="number of observations between two fits.")
    steps: int = option(default=30, low=1, says="number of optimiser steps of a fit.")
    rate: float = option(default=1e-2, above=0, says="step size of a fit.")
    warm: bool = option(default=True, says="fit from the current weights instead of the initial ones.")
    memory: int = option(default=1024, low=1, says="number of latest observations used in a fit.")

    def setup(self) -> None:
        super().setup()
        self._x = np.concatenate([2 * self.arms.features - 1, np.ones((self.arms.n, 1))], axis=1)
        self.network = Network(self._x.shape[1], self.hidden, self._rng)
        p = len(self.network.theta)
        if self.covariance == "full" and p > MOST_PARAMETERS:
            raise InputError(
                f"covariance='full' of {p} parameters is too much, {MOST_PARAMETERS} at most; "
                "take 'diagonal' or a smaller hidden."
            )
        self._start = self.network.theta
        self._u = np.full(p, self.regularisation) if self.covariance == "diagonal" else self.regularisation * np.eye(p)
        self._left = self.initial  # uniform proposals still to come
        self.t = 0
        self._arms_seen, self._rewards = np.zeros(self.memory, dtype=np.int64), np.zeros(self.memory)  # rings
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """Return (m, sigma^2) of all arms, float64[n] each."""
        if self._known is None:
            scale = self.regularisation * self.nu
            if self.covariance == "diagonal":
                variance = scale * self.network.weighted_norms(self._x, 1 / self._u)
            else:
                gradients = self.network.gradients(self._x)
                variance = scale * np.einsum("np,pn->n", gradients, np.linalg.solve(self._u, gradients.T))
            self._known = self.network.values(self._x), variance
        return self._known

    def _values(self) -> np.ndarray:
        return self.predictions()[0]

    def _scores(self, rows: int) -> np.ndarray:
        mean, variance = self.predictions()
        return mean + np.sqrt(variance) * self._rng.standard_normal((rows, self.arms.n))

    def _choose(self, k: int) -> np.ndarray:
        uniform = min(k, self._left)
        self._left -= uniform
        drawn = self._rng.integers(self.arms.n, size=uniform)
        if uniform == k:
            return drawn
        chosen = super()._choose(k - uniform) if self.rule == "ts" else self._highest(k - uniform)
        return np.concatenate([drawn, chosen])

    def _highest(self, k: int) -> np.ndarray:
        mean, variance = self.predictions()
        bounds = mean + np.sqrt(variance)
        taken = np.zeros(self.arms.n)
        chosen = np.empty(k, dtype=np.int64)
        for place in range(k):
            arm = chosen[place] = int(bounds.argmax())
            taken[arm] += 1
            left = variance[arm] / (1 + taken[arm] * variance[arm] / (self.regularisation * self.nu))
            bounds[arm] = mean[arm] + np.sqrt(left)
        return chosen

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            arm = int(item.record)
            reward = self._payoff.of(arm, item.returns)
            if reward is None:
                continue
            self._known = None
            g = self.network.gradients(self._x[arm : arm + 1])[0]
            prior = self.regularisation if self.covariance == "diagonal" else self.regularisation * np.eye(len(g))
            news = g**2 if self.covariance == "diagonal" else np.outer(g, g)
            self._u = prior + self.gamma * (self._u - prior) + news
            self._arms_seen[self.t % self.memory], self._rewards[self.t % self.memory] = arm, reward
            self.t += 1
            if self.t % self.refit == 0:
                if not self.warm:
                    self.network.theta = self._start
                known = min(self.t, self.memory)
                x, y = self._x[self._arms_seen[:known]], self._rewards[:known]
                self.network.fit(x, y, self.steps, self.rate, self.regularisation / self.t, self._rng)

    def _save(self) -> dict[str, Any]:
        known = min(self.t, self.memory)
        seen, paid = self._arms_seen[:known].tolist(), self._rewards[:known].tolist()
        return {**super()._save(), "theta": self.network.theta.tolist(), "seen": seen, "paid": paid}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self.network.theta = restore_array(own["theta"], self._start)
        known = min(self.t, self.memory)
        seen = restore_array(own["seen"], self._arms_seen[:known])
        if known and not 0 <= seen.min() <= seen.max() < self.arms.n:
            raise ValueError("an arm out of range")
        self._arms_seen[:known], self._rewards[:known] = seen, restore_array(own["paid"], self._rewards[:known])
        self._known = None
