"""Gradient-based weighting: an objective whose gradient helps all objectives along gains weight."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ...checks import check_number
from ...errors import InputError
from ..algebra.composite import Composite
from ..episode import Episode
from ..reward import Reward, register
from ..verdict import Verdict
from .below_average_length import BelowAverageLength
from .format import Format
from .verifiable import Verifiable


def influence_step(log_weights: np.ndarray, gram: np.ndarray, lr: float, mu: float) -> np.ndarray:
    """log w_i + lr / mu * sum_j <g_i, g_j>, shifted so that the weights add up to 1: a step of mirror descent.

    Args:
        log_weights: [K].
        gram: inner products <g_i, g_j> of the objectives' gradients, [K, K].
        lr: step size.
        mu: strength of the pull towards the old weights.
    """
    raised = log_weights + lr / mu * gram.sum(axis=1)
    raised = raised - raised.max()
    return raised - np.log(np.exp(raised).sum())


@register("gradient-influence")
class GradientInfluence(Composite):
    """A weighted sum of objectives whose weights follow their gradients; uniform until `update` is called.

    The weights can end up anywhere on the simplex, so nothing is promised of success.

    Args:
        objectives: rewards by name; None takes correctness, conciseness (`BelowAverageLength`) and format.
        lr: step size of the log-weights, above 0.
        mu: divides it, above 0.

    Raises:
        InputError: an argument out of its range.
    """

    paper = "Dynamic Reward Weighting, arXiv 2509.11452 (gradient-based)"
    complete = True

    def __init__(self, objectives: Mapping[str, Reward] | None = None, lr: float = 0.1, mu: float = 1.0):
        super().__init__(
            objectives
            if objectives is not None
            else {"correct": Verifiable(scale=1.0), "concise": BelowAverageLength(), "format": Format()}
        )
        self.lr = check_number("lr", lr, low=1e-12)
        self.mu = check_number("mu", mu, low=1e-12)
        self.log_weights = np.full(len(self.children), -np.log(len(self.children)))

    @property
    def weights(self) -> dict[str, float]:
        """The weights now; they add up to 1."""
        return dict(zip(self.children, np.exp(self.log_weights).tolist(), strict=True))

    def update(self, gram: ArrayLike) -> None:
        """Follow the gradients of one update.

        Args:
            gram: inner products of the objectives' gradients, [K, K], in the order of the objectives.

        Raises:
            InputError: another shape, or a number that is not finite.
        """
        products = np.asarray(gram, dtype=float)
        size = len(self.children)
        if products.shape != (size, size) or not np.isfinite(products).all():
            raise InputError(f"gram must hold {size} x {size} finite inner products, not {products!r}.")
        self.log_weights = influence_step(self.log_weights, products, self.lr, self.mu)

    def combine(self, episode: Episode, verdicts: Mapping[str, Verdict]) -> Mapping[str, float]:
        return {name: weight * verdicts[name].reward for name, weight in self.weights.items()}

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "log_weights": self.log_weights.tolist()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        super().load_state_dict({name: value for name, value in state.items() if name != "log_weights"})
        saved: Sequence[float] = state.get("log_weights", self.log_weights.tolist())
        if len(saved) != len(self.children):
            raise InputError(f"the saved weights are not those of the {len(self.children)} objectives of this reward.")
        self.log_weights = np.asarray(saved, dtype=float)
