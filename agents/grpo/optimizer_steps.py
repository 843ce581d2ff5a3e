"""Optimiser steps on an unsharded policy, movement of the reference, and checkpoints of both.

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
"""Names of files in a checkpoint."""


class OptimizerSteps:
    """Optimiser over a policy, with a reference that can be moved towards it.

    Args:
        model: the policy.
        reference: the reference model, or None.
    """

    def __init__(self, config: TrainConfig, model: Any, reference: Any):
        self.config, self.model, self.reference = config, model, reference
        self._before: Any = None
        self.reset()

    def reset(self) -> None:
        """Make a new optimiser; gradients of half-precision weights will be single precision."""
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
        """Scale the gradients down to norm ``max_grad_norm`` if it is exceeded; return the norm before."""
        return torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.max_grad_norm)

    def take(self) -> None:
        """Take a step."""
        self.optimizer.step()

    def clear(self) -> None:
        """Clear the gradients and the copy made by `remember`."""
        self.optimizer.zero_grad()
        self._before = None

    def remember(self) -> None:
        """Copy the current weights and the state of the optimiser, so that `undo` can restore them."""
        weights = [weight.detach().clone() for weight in self._stepped]
        self._before = weights, copy.deepcopy(self.optimizer.state_dict())

    @torch.no_grad()
    def undo(self) -> None:
        """Restore the copy made by `remember`, which must have been called."""
        weights, state = self._before
        for weight, old in zip(self._stepped, weights, strict=True):
            weight.copy_(old)
        self.optimizer.load_state_dict(state)

    @property
    def _stepped(self) -> list[Tensor]:
        """Weights that the optimiser steps: the model's, or their single-precision masters."""
        return [weight for group in self.optimizer.param_groups for weight in group["params"]]

    def finish(self) -> None:
        """Bring other copies of the policy's weights up to date after the last step; here there are none."""

    @torch.no_grad()
    def move_reference(self, share: float) -> None:
        """Set the reference to reference + share x (policy - reference); 1 replaces it exactly."""
        for weight, theirs in zip(self.reference.parameters(), self.model.parameters(), strict=True):
            mine, other = self._values(weight), self._values(theirs).to(weight.dtype)
            mine.lerp_(other, share) if share < 1 else mine.copy_(other)

    @torch.no_grad()
    def return_to_reference(self) -> None:
        """Set the policy to the reference."""
        for weight, theirs in zip(self.model.parameters(), self.reference.parameters(), strict=True):
            self._values(weight).copy_(self._values(theirs))

    @staticmethod
    def _values(weight: Any) -> Tensor:
        """Return this process's part of a weight."""
        return weight

    @property
    def own_reference(self) -> Any:
        """The reference if it has weights of its own, which must be saved; else None."""
        return None if isinstance(self.reference, BaseOnly) else self.reference

    def save(self, folder: Path) -> None:
        """Save the optimiser, and the reference if it owns weights."""
        torch.save(self.optimizer.state_dict(), folder / OPTIMIZER)
        if self.own_reference is not None:
            torch.save(self.own_reference.state_dict(), folder / REFERENCE)

    def load(self, folder: Path) -> None:
        """Load the files of `save`, or the shards of several processes."""
        reference = self.own_reference
        if (folder / SHARDS).is_dir():
            load_whole(folder / SHARDS, self.model, self.optimizer, reference)
            return
        self.optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True))
        if reference is not None:
            reference.load_state_dict(torch.load(folder / REFERENCE, weights_only=True))
