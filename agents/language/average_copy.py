"""Averages of weights: a moving average of a policy in a model of its own, and blends of two models."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import torch

from ...checks import check_number
from ...errors import InputError


class AverageCopy:
    """Copy of a policy: average <- decay x average + (1 - decay) x policy.

    Args:
        decay: in [0, 1]; 1 keeps the initial policy, 0 copies the current one.
    """

    def __init__(self, decay: float = 0.999):
        self.decay = check_number("decay", decay, 0.0, 1.0)

    def attach(self, model: Any) -> None:
        """Start with a copy of the policy's current weights."""
        self._trained = [name for name, weight in model.named_parameters() if weight.requires_grad]
        self.model = copy.deepcopy(model).eval().requires_grad_(False)
        weights = dict(self.model.named_parameters())
        self._weights = [weights[name] for name in self._trained]
        # Half precision would round small steps away. In single precision `float()` returns the weights, not a copy.
        self._exact = [weight.detach().float() for weight in self._weights]

    @torch.no_grad()
    def follow(self, model: Any) -> None:
        """Move the average towards the policy; called once after each update."""
        theirs = dict(model.named_parameters())
        for name, weight, exact in zip(self._trained, self._weights, self._exact, strict=True):
            exact.lerp_(theirs[name].to(exact), 1.0 - self.decay)
            weight.copy_(exact)

    def state(self) -> dict[str, Any]:
        """Return the average, for `torch.save`."""
        return {"weights": [exact.cpu() for exact in self._exact]}

    @torch.no_grad()
    def load(self, state: Mapping[str, Any]) -> None:
        """Restore the state that `state` returned; `attach` must have been called."""
        for weight, exact, saved in zip(self._weights, self._exact, state["weights"], strict=True):
            exact.copy_(saved)
            weight.copy_(exact)


@torch.no_grad()
def blend_weights(model: Any, base: Any, weight: float) -> None:
    """Replace the weights of a model by (1 - weight) x those of ``base`` + weight x its own.

    Raises:
        InputError: the models have other weights, or ``weight`` is not in [0, 1].
    """
    check_number("weight", weight, 0.0, 1.0)
    theirs = dict(base.named_parameters())
    ours = dict(model.named_parameters())
    if {name: each.shape for name, each in ours.items()} != {name: each.shape for name, each in theirs.items()}:
        raise InputError("models of different architecture or size, or with adapters, have no weights between them.")
    for name, own in ours.items():
        own.copy_(theirs[name].to(own).lerp(own, weight))
