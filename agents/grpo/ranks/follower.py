"""Follower processes: they execute the leader's orders until it sends "stop"."""

from __future__ import annotations

import gc
import io
from dataclasses import replace
from typing import Any, ClassVar

import torch

from ...language.precision import set_product_precision
from ..batch.micro_batches import MemoryLimit
from ..batch.passes import Passes
from ..config import TrainConfig
from ..optimizers import widen_gradients
from .channel import RankChannel, convert_rank_errors
from .work import RankWork


class CopiedWork(RankWork):
    """Work of a follower on copies of the leader's models, with its own memory limits.

    Args:
        data: configuration as JSON, number of threads of the leader, and the pickled models.
    """

    def __init__(self, channel: RankChannel, data: tuple[Any, int, bytes]):
        config, threads, models = data
        torch.set_num_threads(threads)
        where = None if channel.device.type == "cpu" else channel.device
        # Unpickling is safe, as the sender belongs to the run; pickled models need no files on this machine.
        copies = torch.load(io.BytesIO(models), map_location=where, weights_only=False)
        super().__init__(channel, TrainConfig.from_json(config), copies)
        widen_gradients(self.models[0].parameters())
        set_product_precision(self.config.device, self.config.dtype, self.config.tf32)
        self._memory = MemoryLimit()

    def local_passes(self, passes: Passes) -> Passes:
        return replace(passes, memory=self._memory)


class Follower:
    """Process that executes the leader's orders."""

    work: ClassVar[Any] = CopiedWork
    """``work(channel, data) -> RankWork``, called for each order "begin"."""

    def __init__(self, channel: RankChannel):
        self.channel = channel

    def serve(self) -> None:
        """Execute orders until "stop".

        Raises:
            LostRank: another process ended or did not answer in time.
        """
        work: Any = None
        while True:
            name, data = self.channel.order()
            if name == "stop":
                return
            if name == "begin":
                work = None  # frees the earlier models before new ones are made
                gc.collect()
                with convert_rank_errors(among_others=True):
                    work = self.work(self.channel, data)
            else:
                work.call(name, data)
