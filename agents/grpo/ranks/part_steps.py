"""Steps of the optimiser on one process's shards of the policy.

All processes take them together: the norm of the gradient covers all shards, and all processes write and read the files
of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from ..config import TrainConfig
from ..optimizer_steps import OPTIMIZER, REFERENCE, OptimizerSteps
from .channel import RankChannel
from .shard_files import (
    MASTER,
    MOMENTS,
    SHARDS,
    STEP,
    check_stored,
    empty_moments,
    moment_tensors,
    names_in,
    read_shards,
    reference_tensors,
    trained_weights,
    write_shards,
)


class PartSteps(OptimizerSteps):
    """Optimiser over this process's shards of the policy, with its shards of the reference.

    Args:
        rounded: True if the trained weights are single-precision masters of half-precision weights; checkpoints then
            contain the masters.
    """

    def __init__(self, config: TrainConfig, model: Any, reference: Any, channel: RankChannel, rounded: bool):
        super().__init__(config, model, reference)
        self._channel, self._rounded = channel, rounded

    def clip(self) -> Tensor:
        norm = super().clip()
        return norm.full_tensor() if isinstance(norm, DTensor) else norm

    @staticmethod
    def _values(weight: Any) -> Tensor:
        return weight.to_local()

    @torch.no_grad()
    def gather_policy(self, into: Callable[[int, Tensor], None] = lambda number, weight: None) -> None:
        """Gather the trained weights one at a time and call ``into(number, weight)`` with each; none is kept."""
        for number, (_, weight) in enumerate(trained_weights(self.model)):
            assert isinstance(weight, DTensor)
            into(number, weight.full_tensor())

    def save(self, folder: Path) -> None:
        """Write this process's shards of a checkpoint."""
        write_shards(folder / SHARDS, self._tensors(), self._channel.objects)

    def load(self, folder: Path) -> None:
        """Read this process's shards from a checkpoint, written by several processes or by one."""
        self._read(folder) if (folder / SHARDS).is_dir() else self._read_whole(folder)

    def _tensors(self) -> dict[str, Any]:
        """Return the tensors that are saved in addition to the policy, by their names in the files."""
        weights = trained_weights(self.model)
        masters = {f"{MASTER}/{name}": weight.detach() for name, weight in weights} if self._rounded else {}
        return moment_tensors(self.optimizer, weights) | masters | reference_tensors(self.own_reference)

    def _read(self, folder: Path) -> None:
        stored = names_in(folder / SHARDS)
        self.optimizer.state.clear()
        for name, weight in trained_weights(self.model):
            if f"{STEP}/{name}" in stored:
                self.optimizer.state[weight] = empty_moments(weight)
        tensors = self._tensors()
        check_stored(tensors, stored)
        read_shards(folder / SHARDS, tensors, self._channel.objects)

    @torch.no_grad()
    def _read_whole(self, folder: Path) -> None:
        """Read this process's shards from the files of a single process, which are memory-mapped."""
        state = torch.load(folder / OPTIMIZER, map_location="cpu", mmap=True, weights_only=True)
        weights, masters = trained_weights(self.model), state.get("masters")
        if bool(masters) != self._rounded:
            raise ValueError("its optimiser is of weights of another --dtype")
        self.optimizer.state.clear()
        moments = (state["inner"] if masters else state)["state"]
        for number, (_, weight) in enumerate(weights):
            if masters:
                self._take_part(weight, masters[number])
            if number in moments:
                own = self.optimizer.state[weight] = empty_moments(weight)
                own[STEP].copy_(moments[number][STEP])
                for key in MOMENTS:
                    self._take_part(own[key], moments[number][key])
        if (reference := self.own_reference) is not None:
            saved = torch.load(folder / REFERENCE, map_location="cpu", mmap=True, weights_only=True)
            for name, weight in reference.named_parameters():
                self._take_part(weight, saved[name])

    def _take_part(self, mine: Any, whole: Tensor) -> None:
        """Copy this process's shard of a whole tensor, split along the first dimension like torch's sharded weights."""
        if mine.shape != whole.shape:
            raise ValueError(f"it has a weight of shape {tuple(whole.shape)} where {tuple(mine.shape)} is needed")
        parts = whole.chunk(self._channel.size)
        if self._channel.rank < len(parts):
            mine.to_local().copy_(parts[self._channel.rank])
