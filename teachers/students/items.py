"""A student of many prompts: a logistic model with latent abilities, trained by exact policy gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...checks import Declared, keyword_declared, option
from ...errors import InputError
from ..pools import FiniteTasks

EPSILON = 1e-6  # added to the standard deviation of a group


@keyword_declared
class ItemStudent(Declared):
    """Item-response student: item i is solved with p_i = sigmoid(a_i . theta + u_i - b_i).

    theta are abilities shared between items, a_i the loadings of item i on them, b_i its difficulty, u_i the skill in
    item i alone. theta and u are trained by gradient ascent on the policy-gradient surrogate, the sum over G groups of
    n episodes of A log pi(outcome) / (n G). Its gradient by item i's logit is exactly mean_j A_ij (y_ij - p_i).

    Attributes:
        space: `FiniteTasks` of the numbers 0 .. items - 1; the features are two noisy views of the difficulty and the
            loadings, the prior difficulty is the first view.
        groups, effective: number of groups trained on, and of groups whose gradient was not zero.
    """

    items: int = option(default=2000, low=1, kw_only=False, says="number of items.")
    abilities: int = option(
        default=4, low=1, kw_only=False, says="number of dimensions of theta. An item needs mostly one of them."
    )
    mean: float = option(default=2.0, says="mean of the normal difficulties b_i.")
    spread: float = option(default=2.0, low=0, says="standard deviation of the difficulties.")
    dead: float = option(default=0.0, low=0, high=1, says="share of the items that are never solved.")
    coins: float = option(
        default=0.0, low=0, high=1, says="share of the items that are solved with probability 1/2, and teach nothing."
    )
    advantage: Literal["group", "plain"] = option(
        default="group",
        says='advantage of an outcome y: "group", (y - mean) / (std + 1e-6) over the group (GRPO); "plain", y - mean.',
    )
    rate: float = option(default=0.25, low=0, says="learning rate of the abilities.")
    item_rate: float = option(default=0.1, low=0, says="learning rate of the item skills u_i.")
    blur: float = option(
        default=0.5,
        low=0,
        says="standard deviation of the noise in the prior views of an item's difficulty, in units of ``spread``.",
    )
    seed: int = option(default=0, says="seed of the items and of the outcomes.")

    def setup(self) -> None:
        items, abilities = self.items, self.abilities
        if self.dead + self.coins >= 1:
            raise InputError(f"dead={self.dead:g} and coins={self.coins:g} must leave items that can be learned.")
        self._rng = np.random.default_rng(self.seed)
        self.difficulty = self._rng.normal(self.mean, self.spread, items)
        self.loadings = 0.2 * self._rng.random((items, abilities))
        self.loadings[np.arange(items), self._rng.integers(abilities, size=items)] += 0.8
        kinds = self._rng.permutation(items)
        self._dead, self._coins = np.zeros((2, items), dtype=bool)
        self._dead[kinds[: round(self.dead * items)]] = True
        self._coins[kinds[items - round(self.coins * items) :]] = True
        self.scored = ~(self._dead | self._coins)
        self.theta, self.own = np.zeros(abilities), np.zeros(items)
        self.groups = self.effective = 0
        views = self.difficulty + self._rng.normal(0, self.blur * self.spread, (2, items))
        views = (views - views.min()) / max(np.ptp(views), EPSILON)
        self.space = FiniteTasks(
            list(range(items)), features=np.column_stack([views.T, self.loadings]), difficulty=views[0].tolist()
        )

    def rates(self, items: np.ndarray | slice = slice(None)) -> np.ndarray:
        """Compute float64[k], the current success probability of each item."""
        logits = self.loadings[items] @ self.theta + self.own[items] - self.difficulty[items]
        p = 1 / (1 + np.exp(-logits))
        return np.where(self._dead[items], 0.0, np.where(self._coins[items], 0.5, p))

    def score(self) -> float:
        """Return the mean success probability over the items that can be learned."""
        return float(self.rates()[self.scored].mean())

    def play(self, items: Sequence[int] | np.ndarray, n: int | Sequence[int] | np.ndarray) -> list[np.ndarray]:
        """Draw the outcomes, 0 or 1, of n (or n[i]) episodes of each item, float64[n] per item, without learning."""
        items = np.asarray(items, dtype=np.int64)
        counts = np.broadcast_to(np.asarray(n, dtype=np.int64), len(items))
        drawn = self._rng.random(counts.sum()) < np.repeat(self.rates(items), counts)
        return np.split(drawn.astype(np.float64), np.cumsum(counts)[:-1]) if len(items) else []

    def gradient(self, items: np.ndarray, outcomes: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Return the surrogate's gradient by (theta, own), given a non-empty group of outcomes per entry of ``items``.

        As advantages sum to 0 in a group, the mean of A (y - p) equals the mean of A y.
        """
        slopes = np.array([float(self.advantages(y) @ y) / len(y) for y in outcomes])
        slopes[~self.scored[items]] = 0.0
        own = np.bincount(items, slopes, minlength=len(self.own))
        return slopes @ self.loadings[items] / len(items), own / len(items)

    def advantages(self, outcomes: np.ndarray) -> np.ndarray:
        """Compute the advantages float64[n] of one group of outcomes 0 and 1."""
        mean = float(outcomes.sum()) / len(outcomes)
        # The standard deviation of outcomes that are 0 or 1 needs no second pass.
        scale = math.sqrt(mean * (1 - mean)) + EPSILON if self.advantage == "group" else 1.0
        return (outcomes - mean) / scale

    def learn(self, items: Sequence[int] | np.ndarray, outcomes: Sequence[np.ndarray]) -> None:
        """Take one step of gradient ascent. The gradient of an item's own skill is not divided by the number of groups,
        because only the item's groups contribute to it."""
        if not len(items):
            return
        items = np.asarray(items, dtype=np.int64)
        theta, own = self.gradient(items, outcomes)
        self.theta = self.theta + self.rate * theta
        self.own = self.own + self.item_rate * len(items) * own
        self.groups += len(items)
        self.effective += sum(0 < y.sum() < len(y) for y, learns in zip(outcomes, self.scored[items]) if learns)
