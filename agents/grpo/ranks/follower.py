"""The other processes' side: carry out the leader's orders until it says stop."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from ...language.precision import set_product_precision
from ..batch.forward import Forward
from ..batch.memory_limit import MemoryLimit
from ..config import TrainConfig
from ..optimizers import widen_gradients
from .channel import RankChannel, unique_weights
from .work import RankWork


class Follower:
    """Copies of the models, and the losses of the recipe."""

    def __init__(self, channel: RankChannel):
        self.channel = channel

    def serve(self) -> None:
        """Carry out orders until "stop".

        Raises:
            LostRank: another process ended.
        """
        while True:
            name, data = self.channel.order()
            if name == "stop":
                return
            if name == "begin":
                self._work = _copied_work(self.channel, *data)
                self._weights = unique_weights(self._work.models)
            elif name == "weights_changed":
                self.channel.copy_weights([self._weights[i] for i in data])
            else:
                getattr(self._work, name)(*data)


class FollowerWork(RankWork):
    """Work of a follower, whose memory has limits of its own."""

    def __init__(self, channel: RankChannel, config: TrainConfig, models: Sequence[Any]):
        super().__init__(channel, config, models)
        self._memory = MemoryLimit()

    def passes(self, forward: Forward) -> Forward:
        return replace(forward, memory=self._memory)


def _copied_work(channel: RankChannel, config: Any, threads: int, saved: bytes) -> FollowerWork:
    """Take over the leader's configuration and copies of its models."""
    torch.set_num_threads(threads)
    where = None if channel.device.type == "cpu" else channel.device
    # From a process of the same run; whole models are pickled so that nothing has to be on this machine's disk.
    models = torch.load(io.BytesIO(saved), map_location=where, weights_only=False)
    widen_gradients(models[0].parameters())
    read = TrainConfig.from_json(config)
    set_product_precision(read.device, read.dtype, read.tf32)
    return FollowerWork(channel, read, models)
