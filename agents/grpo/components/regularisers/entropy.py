"""Entropy bonus, with a fixed coefficient or one that rises while the entropy is below a target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from .....checks import check_number
from .....errors import InputError
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import REGULARISERS
from ..loss_arrays import regulariser


@regulariser("entropy_bonus")
@needs("entropy_grad", "every_row")
def entropy_bonus(entropy_t: Tensor, coefficient: float = 1e-3) -> Tensor:
    """-coefficient x H(pi) over the whole vocabulary at each token (Williams & Peng 1991)."""
    return -coefficient * entropy_t


@REGULARISERS.register("entropy_target")
@needs("batch", "entropy_grad", "every_row")
class EntropyTarget:
    """-coefficient x H(pi) while the mean entropy of the trained tokens is at most ``target`` nats, else 0
    (Skywork-OR1, arXiv 2505.22312).

    After each optimiser batch the coefficient grows by ``step`` if that mean was below the target, and else shrinks by
    it.

    Args:
        target: mean entropy to hold, nats.
        step: change of the coefficient per optimiser batch.
        start, low, high: initial coefficient, and its bounds.
    """

    def __init__(
        self, target: float = 0.2, step: float = 0.005, start: float = 0.0, low: float = 0.0, high: float = 1.0
    ):
        if not check_number("low", low, 0) <= check_number("start", start) <= check_number("high", high):
            raise InputError(f"start must lie in [low, high] = [{low!r}, {high!r}], got {start!r}.")
        self.target = check_number("target", target, 0)
        self.step = check_number("step", step, 0)
        self.low, self.high = low, high
        self.coefficient = start

    def __call__(self, scored: Scored) -> LossTerm:
        trained = scored.trained
        count = int(trained.sum())
        if not count:
            return LossTerm(0.0 * scored.entropy)
        mean = scored.entropy.detach()[trained].mean().item()
        used = self.coefficient if mean <= self.target else 0.0
        change = self.step if mean < self.target else -self.step
        self.coefficient = min(max(self.coefficient + change, self.low), self.high)
        return LossTerm(-used * scored.entropy, {"entropy_coefficient": (used, 1)})

    def state_dict(self) -> dict[str, Any]:
        return {"coefficient": self.coefficient}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.coefficient = float(state["coefficient"])
