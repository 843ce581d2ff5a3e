"""One process's shards of the models of a run, and the operations that all processes carry out together.

Every method is called in all processes at once, on the leader's order (`sharded`), with the same arguments.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import torch

from ...language.adapters import BaseOnly
from ...language.precision import set_product_precision
from ..batch.forward import Forward
from ..config import TrainConfig
from .channel import RankChannel, lost_ranks
from .part_steps import PartSteps
from .sharding import HALF, ShardedForward, root_of, shard
from .work import RankWork

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


class Shards(RankWork):
    """The parts of the policy, its reference and the model to distil from that this process has, with the optimiser.

    Args:
        data: the configuration, the threads of the leader, and the models without their weights (`sharding.outline`),
            pickled.
        sources: at the leader, the models with their weights.
    """

    def __init__(self, channel: RankChannel, data: tuple[Any, int, bytes], sources: Sequence[Any] = ()):
        config, threads, outlines = data
        torch.set_num_threads(threads)
        if channel.device.type == "cpu":
            _return_freed_memory()
        where = None if channel.device.type == "cpu" else channel.device
        # From a process of the same run.
        models = torch.load(io.BytesIO(outlines), map_location=where, weights_only=False)
        super().__init__(channel, TrainConfig.from_json(config), models)
        set_product_precision(self.config.device, self.config.dtype, self.config.tf32)
        mesh = channel.mesh()
        rounded = any(w.requires_grad and w.dtype in HALF for w in self.models[0].parameters())
        for number, model in enumerate(self.models):
            if model is not None and not isinstance(model, BaseOnly):
                if number:
                    model.requires_grad_(False)
                shard(model, sources[number] if sources else None, mesh, channel)
        self.steps = PartSteps(self.config, self.models[0], self.models[1], channel, rounded)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        with lost_ranks(among_others=True):
            try:
                return getattr(self, name)(*arguments)
            finally:
                # Weights outside of the layers stay gathered after a forward pass, and would be old ones in the next.
                for model in self.models:
                    if model is not None:
                        root_of(model).reshard()

    def passes(self, forward: Forward) -> Forward:
        return ShardedForward.of(forward, self.channel)

    # The optimiser ---------------------------------------------------------------------------------------------------

    def step(self, name: str, *arguments: Any) -> Any:
        """Call a method of `PartSteps`."""
        return getattr(self.steps, name)(*arguments)

    def attempt(self, name: str, *arguments: Any) -> list[str | None]:
        """Call a method of `PartSteps` that uses files; what went wrong in each process, at the leader."""
        error = None
        try:
            self.step(name, *arguments)
        except (OSError, ValueError, KeyError, RuntimeError, EOFError, ImportError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        return self.channel.gather(error)


def _return_freed_memory() -> None:
    """Let the C library give freed tensors of a MiB or more back to the system at once.

    glibc raises that size by itself, to 32 MiB at most, and would keep the gathered weights of many layers otherwise.
    """
    with suppress(AttributeError, OSError):  # other libraries
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
