"""A neural bandit over the arms' features (INSTINCT, arXiv 2310.02905, built on NeuralUCB, arXiv 1911.04462).

A small network predicts the reward (a `Payoff`) of each arm from its features, so that an outcome of one arm changes
the predictions for similar arms. The uncertainty of a prediction is a norm of the network's gradient at that arm.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ...checks import check_choice, check_count, check_number, check_share
from ...errors import InputError
from ..protocol import Common, Evidence, restore_array
from ..registration import register
from .payoff import Payoff, PayoffKind
from .thompson import Thompson

MOST_PARAMETERS = 512  # of a model with a full covariance
MINIBATCH = 64
BETA_1, BETA_2, ADAM_EPSILON = 0.9, 0.999, 1e-8  # Adam's own (arXiv 1412.6980)


class Network:
    """m(x) = w . x, or with hidden units v . relu(W x) + c; x carries a constant 1, so that biases are weights.

    Args:
        inputs: entries of x.
        hidden: units; 0 makes it linear.
        rng: of the initial weights.

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
        """float64[n], m at each row of ``x`` (float64[n, inputs])."""
        if not self.hidden:
            return x @ self.theta
        first, second = self._split(self.theta)
        return np.maximum(x @ first.T, 0.0) @ second + self.theta[-1]

    def gradients(self, x: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
        """float64[n, p], the gradient of m at each row with respect to the parameters; with ``weights`` (float64[n])
        their weighted sum, float64[p]."""
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
        """Adam on the mean squared error of minibatches, with L2 decay."""
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
class NeuralBandit(Thompson):
    """Neural bandit: the arm with the highest predicted reward plus its uncertainty.

    With g the gradient of the network m at an arm and U = lambda I + sum of g g^T over the observations,
    sigma^2 = lambda nu g^T U^-1 g. "ucb" takes the highest m + sigma; within a batch an arm already taken c times
    counts with sigma^2 / (1 + c sigma^2 / (lambda nu)), its variance after c more observations, so that a batch does
    not consist of one arm. "ts" draws from N(m, sigma^2). The first `initial` proposals are uniform.

    The authors retrain from the initial weights after every observation, with 1000 steps at rate 1e-3 (here:
    ``refit=1, steps=1000, rate=1e-3, warm=False``). By default the network is fine-tuned from its current weights every
    `refit` observations, with fewer and larger steps, on the last `memory` observations. This costs a hundredth and
    follows a student who changes.

    Args:
        space, bins, floor: see `ArmTeacher`. The network's inputs are the features of the arms.
        payoff, group: see `Payoff`; "return" for a choice of instructions, where the best one is sought.
        rule: "ucb" or "ts".
        hidden: units of the network; 0 is a linear model (LinUCB).
        covariance: "diagonal" keeps the diagonal of U, as the authors; "full" keeps all of it, up to 512 parameters.
        regularisation: lambda > 0; weight decay is lambda / t after t observations.
        nu: exploration > 0.
        initial: uniform proposals at the start.
        gamma: factor on the evidence in U at each observation, in (0, 1]; below 1, uncertainty returns.
        refit, steps, rate, warm, memory: see above.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2310.02905"

    def __init__(
        self,
        space: Any,
        *,
        payoff: PayoffKind = "advantage",
        rule: Literal["ucb", "ts"] = "ucb",
        hidden: int = 32,
        covariance: Literal["diagonal", "full"] = "diagonal",
        regularisation: float = 0.1,
        nu: float = 1.0,
        initial: int = 40,
        gamma: float = 1.0,
        refit: int = 32,
        steps: int = 30,
        rate: float = 1e-2,
        warm: bool = True,
        memory: int = 1024,
        group: int = 8,
        bins: int | Sequence[int] | None = None,
        floor: float = 0.0,
        **common: Unpack[Common],
    ):
        for name, value, low in (("hidden", hidden, 0), ("initial", initial, 0), ("refit", refit, 1)):
            check_count(name, value, low=low)
        check_count("steps", steps, low=1)
        check_count("memory", memory, low=1)
        self.rule = check_choice("rule", rule, ("ucb", "ts"))
        self.covariance = check_choice("covariance", covariance, ("diagonal", "full"))
        self.regularisation = check_number("regularisation", regularisation, above=0)
        self.nu = check_number("nu", nu, above=0)
        self.gamma, self.rate = check_share("gamma", gamma, positive=True), check_number("rate", rate, above=0)
        self.refit, self.steps, self.warm, self.memory = int(refit), int(steps), bool(warm), int(memory)
        self._payoff = Payoff(payoff, group)
        settings = {
            "payoff": payoff,
            "rule": rule,
            "hidden": int(hidden),
            "covariance": covariance,
            "regularisation": self.regularisation,
            "nu": self.nu,
            "initial": int(initial),
            "gamma": self.gamma,
            "refit": self.refit,
            "steps": self.steps,
            "rate": self.rate,
            "warm": self.warm,
            "memory": self.memory,
            "group": int(group),
        }
        super().__init__(space, bins=bins, floor=floor, settings=settings, **common)
        self._x = np.concatenate([2 * self.arms.features - 1, np.ones((self.arms.n, 1))], axis=1)
        self.network = Network(self._x.shape[1], int(hidden), self._rng)
        p = len(self.network.theta)
        if covariance == "full" and p > MOST_PARAMETERS:
            raise InputError(
                f"covariance='full' of {p} parameters is too much, {MOST_PARAMETERS} at most; "
                "take 'diagonal' or a smaller hidden."
            )
        self._start = self.network.theta
        self._u = np.full(p, self.regularisation) if covariance == "diagonal" else self.regularisation * np.eye(p)
        self._left = int(initial)  # uniform proposals still to come
        self.t = 0
        self._arms_seen, self._rewards = np.zeros(self.memory, dtype=np.int64), np.zeros(self.memory)  # rings
        self._known: tuple[np.ndarray, np.ndarray] | None = None

    def predictions(self) -> tuple[np.ndarray, np.ndarray]:
        """(m, sigma^2), float64[n] each, of all arms."""
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
        return {
            "theta": self.network.theta.tolist(),
            "start": self._start.tolist(),
            "u": self._u.tolist(),
            "left": self._left,
            "t": self.t,
            "seen": self._arms_seen[:known].tolist(),
            "paid": self._rewards[:known].tolist(),
            "payoff": self._payoff.save(),
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        theta, start = (restore_array(own[name], self._start) for name in ("theta", "start"))
        u = restore_array(own["u"], self._u)
        t = int(own["t"])
        known = min(t, self.memory)
        seen, rewards = (
            restore_array(own["seen"], self._arms_seen[:known]),
            restore_array(own["paid"], self._rewards[:known]),
        )
        if known and not 0 <= seen.min() <= seen.max() < self.arms.n:
            raise ValueError("an arm out of range")
        self.network.theta, self._start, self._u = theta, start, u
        self._arms_seen[:known], self._rewards[:known] = seen, rewards
        self._left, self.t, self._known = int(own["left"]), t, None
        self._payoff.restore(own["payoff"])
