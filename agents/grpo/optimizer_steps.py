"""Optimiser steps on an unsharded policy, the reference that follows it, and their checkpoints.

`part_steps` does the same for one process's shards of a policy, and `sharded.ShardedSteps` for all processes at once.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..language.adapters import BaseOnly
from .config import TrainConfig
from .optimizers import make_optimizer, widen_gradients
from .ranks.shard_files import SHARDS, load_whole

OPTIMIZER, REFERENCE = "optimizer.pt", "reference.pt"
"""Files of a checkpoint."""


class OptimizerSteps:
    """An optimiser over a model, with a reference that may follow it.

    Args:
        reference: the reference model, or None.
    """

    def __init__(self, config: TrainConfig, model: Any, reference: Any):
        self.config, self.model, self.reference = config, model, reference
        self._before: Any = None
        self.reset()

    def reset(self) -> None:
        """Make a new optimiser. Gradients of half-precision weights become single precision."""
        weights = [weight for weight in self.model.parameters() if weight.requires_grad]
        widen_gradients(weights)
        config = self.config
        self.optimizer = make_optimizer(
            weights, lr=config.lr, betas=(0.9, config.beta2), weight_decay=config.weight_decay
        )

    def set_rate(self, rate: float) -> None:
        """Set the learning rate of the next steps."""
        for group in self.optimizer.param_groups:
            group["lr"] = rate

    def clip(self) -> Tensor:
        """Scale the gradients down to the largest norm; the norm that they had."""
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)

    def take(self) -> None:
        """Take a step."""
        self.optimizer.step()

    def clear(self) -> None:
        """Forget the gradients, and what `remember` kept."""
        self.optimizer.zero_grad()
        self._before = None

    def remember(self) -> None:
        """Keep the present weights and the state of the optimiser, so that `undo` can restore them."""
        weights = [weight.detach().clone() for weight in self._stepped]
        self._before = weights, copy.deepcopy(self.optimizer.state_dict())

    @torch.no_grad()
    def undo(self) -> None:
        """Restore what `remember` kept."""
        weights, state = self._before
        for weight, old in zip(self._stepped, weights, strict=True):
            weight.copy_(old)
        self.optimizer.load_state_dict(state)

    @property
    def _stepped(self) -> list[Tensor]:
        """The weights of the optimiser."""
        return [weight for group in self.optimizer.param_groups for weight in group["params"]]

    def finish(self) -> None:
        """Update all copies of the policy's weights to the latest step."""

    @torch.no_grad()
    def move_reference(self, share: float) -> None:
        """Move the reference by a share of the way to the policy; 1 replaces it."""
        for weight, theirs in zip(self.reference.parameters(), self.model.parameters(), strict=True):
            mine, other = self._values(weight), self._values(theirs).to(weight.dtype)
            mine.lerp_(other, share) if share < 1 else mine.copy_(other)

    @staticmethod
    def _values(weight: Any) -> Tensor:
        """This process's part of a weight."""
        return weight

    @property
    def own_reference(self) -> Any:
        """The reference if it owns weights, which must be saved; else None."""
        return None if isinstance(self.reference, BaseOnly) else self.reference

    def save(self, folder: Path) -> None:
        """Save the optimiser, and the reference if it owns weights."""
        torch.save(self.optimizer.state_dict(), folder / OPTIMIZER)
        if self.own_reference is not None:
            torch.save(self.own_reference.state_dict(), folder / REFERENCE)

    def load(self, folder: Path) -> None:
        """Load what `save` saved, or what several processes saved in shards."""
        reference = self.own_reference
        if (folder / SHARDS).is_dir():
            load_whole(folder / SHARDS, self.model, self.optimizer, reference)
            return
        self.optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True))
        if reference is not None:
            reference.load_state_dict(torch.load(folder / REFERENCE, weights_only=True))
