"""Steps of the optimiser on a policy that is whole in this process, the reference that follows it, and what is saved.

`sharded.ShardedSteps` has the same methods for a policy whose weights are split over processes.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...language.adapters import BaseOnly
from ..config import TrainConfig
from ..optimizers import make_optimizer, widen_gradients
from .shard_files import SHARDS, load_whole

OPTIMIZER, REFERENCE = "optimizer.pt", "reference.pt"
"""Files of a checkpoint."""


class OptimizerSteps:
    """An optimiser over a model, with a reference that may follow it.

    Args:
        reference: the reference model, or None.
        watch: called with each new optimiser.
    """

    def __init__(
        self,
        config: TrainConfig,
        model: Any,
        reference: Any,
        watch: Callable[[torch.optim.Optimizer], None] = lambda optimizer: None,
    ):
        self.config, self.model, self.reference = config, model, reference
        self._watch = watch
        self._before: Any = None
        self.reset()

    def reset(self) -> None:
        """Make a new optimiser."""
        self.optimizer = new_optimizer(self.config, self.model)
        self._watch(self.optimizer)

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
        self._before = keep_state(self.optimizer)

    def undo(self) -> None:
        """Restore what `remember` kept."""
        restore_state(self.optimizer, self._before)

    def finish(self) -> None:
        """Make the policy's weights, wherever they are read, those of the latest step."""

    @torch.no_grad()
    def move_reference(self, share: float) -> None:
        """Move the reference by a share of the way to the policy; 1 replaces it."""
        for mine, theirs in zip(self.reference.parameters(), self.model.parameters(), strict=True):
            mine.lerp_(theirs, share) if share < 1 else mine.copy_(theirs)

    @property
    def owns_reference(self) -> bool:
        """True if the reference has weights of its own that must be saved."""
        return self.reference is not None and not isinstance(self.reference, BaseOnly)

    def save(self, folder: Path) -> None:
        """Save the optimiser, and a reference that has weights of its own."""
        torch.save(self.optimizer.state_dict(), folder / OPTIMIZER)
        if self.owns_reference:
            torch.save(self.reference.state_dict(), folder / REFERENCE)

    def load(self, folder: Path) -> None:
        """Load what `save` saved, or what several processes saved in shards."""
        reference = self.reference if self.owns_reference else None
        if (folder / SHARDS).is_dir():
            load_whole(folder / SHARDS, self.model, self.optimizer, reference)
            return
        self.optimizer.load_state_dict(torch.load(folder / OPTIMIZER, weights_only=True))
        if reference is not None:
            reference.load_state_dict(torch.load(folder / REFERENCE, weights_only=True))


def new_optimizer(config: TrainConfig, model: Any) -> torch.optim.Optimizer:
    """The optimiser of a run over the weights of a model that are trained, whose gradients become single precision."""
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    widen_gradients(trained)
    return make_optimizer(
        trained,
        lr=config.lr,
        betas=(0.9, config.beta2),
        weight_decay=config.weight_decay,
    )


def keep_state(optimizer: torch.optim.Optimizer) -> tuple[list[Tensor], dict[str, Any]]:
    """Copies of the weights of an optimiser and of its state."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    return [weight.detach().clone() for weight in weights], copy.deepcopy(optimizer.state_dict())


@torch.no_grad()
def restore_state(optimizer: torch.optim.Optimizer, kept: tuple[list[Tensor], dict[str, Any]]) -> None:
    """Give the weights and the optimiser back what `keep_state` returned."""
    weights = [weight for group in optimizer.param_groups for weight in group["params"]]
    for weight, old in zip(weights, kept[0], strict=True):
        weight.copy_(old)
    optimizer.load_state_dict(kept[1])
