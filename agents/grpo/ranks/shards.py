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
from ..batch.passes import Passes
from ..config import TrainConfig
from .channel import RankChannel, convert_rank_errors
from .part_steps import PartSteps
from .sharding import HALF, ShardedPasses, root_of, shard
from .work import RankWork

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


class Shards(RankWork):
    """This process's shards of the policy, its reference and the model to distil from, with the optimiser.

    Args:
        data: configuration as JSON, number of threads of the leader, and the pickled models without weights
            (`sharding.outline`).
        sources: at the leader, the models with their weights; () in other processes.
    """

    def __init__(self, channel: RankChannel, data: tuple[Any, int, bytes], sources: Sequence[Any] = ()):
        config, threads, outlines = data
        torch.set_num_threads(threads)
        if channel.device.type == "cpu":
            _return_freed_memory()
        where = None if channel.device.type == "cpu" else channel.device
        # Unpickling is safe, as the sender belongs to the run.
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
        with convert_rank_errors(among_others=True):
            try:
                return getattr(self, name)(*arguments)
            finally:
                # Weights outside the layers stay gathered after a forward pass; the next would use outdated values.
                for model in self.models:
                    if model is not None:
                        root_of(model).reshard()

    def local_passes(self, passes: Passes) -> Passes:
        return ShardedPasses.of(passes, self.channel)

    # The optimiser ---------------------------------------------------------------------------------------------------

    def step(self, name: str, *arguments: Any) -> Any:
        """Call the method ``name`` of `PartSteps`."""
        return getattr(self.steps, name)(*arguments)

    def attempt(self, name: str, *arguments: Any) -> list[str | None]:
        """Call a method of `PartSteps` that uses files.

        Returns:
            at the leader, the error message of each process, None for success; [] in other processes.
        """
        error = None
        try:
            self.step(name, *arguments)
        except (OSError, ValueError, KeyError, RuntimeError, EOFError, ImportError) as failure:
            error = f"{type(failure).__name__}: {failure}"
        return self.channel.gather(error)


def _return_freed_memory() -> None:
    """Let the C library return freed tensors of 1 MiB or more to the system at once.

    glibc raises this threshold by itself up to 32 MiB, and would then keep the gathered weights of many layers.
    """
    with suppress(AttributeError, OSError):  # other libraries
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)
