"""One process's shards of the models of a run, and the operations that all processes carry out together.

Every method is called in all processes at once, on the leader's order (`sharded`), with the same arguments.
"""

from __future__ import annotations

import ctypes
import io
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch.distributed.tensor import DTensor

from ...language.adapters import BaseOnly
from ...language.precision import set_product_precision
from ..batch.forward import Forward
from ..config import TrainConfig
from ..objective.binding import Clock
from ..objective.loss import LossTerms, WeightedBatch, accumulate_gradients
from ..objective.notices import apply_overrides
from ..recipes import RECIPES
from .channel import RankChannel, lost_ranks
from .part_steps import PartSteps
from .sharding import HALF, ShardedForward, root_of, shard
from .work import measure_share

_MMAP_THRESHOLD = -3
"""M_MMAP_THRESHOLD of glibc's malloc.h."""


class Shards:
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
        self.channel = channel
        where = None if channel.device.type == "cpu" else channel.device
        # From a process of the same run.
        self.models = torch.load(io.BytesIO(outlines), map_location=where, weights_only=False)
        self.config = TrainConfig.from_json(config)
        set_product_precision(self.config.device, self.config.dtype, self.config.tf32)
        recipe = apply_overrides(RECIPES[self.config.recipe], self.config)
        self._clock = Clock()
        self._losses = [LossTerms(row, self._clock) for row in (recipe, *recipe.streams)]
        mesh = channel.mesh()
        rounded = any(w.requires_grad and w.dtype in HALF for w in self.models[0].parameters())
        for number, model in enumerate(self.models):
            if model is not None and not isinstance(model, BaseOnly):
                if number:
                    model.requires_grad_(False)
                shard(model, sources[number] if sources else None, mesh, channel)
        self.steps = PartSteps(self.config, self.models[0], self.models[1], channel, rounded)

    def call(self, name: str, arguments: Sequence[Any]) -> Any:
        """Carry out an order.

        Raises:
            LostRank: another process ended, or does not answer.
        """
        with lost_ranks(among_others=True):
            try:
                return getattr(self, name)(*arguments)
            finally:
                # Weights outside of the layers stay gathered after a forward pass, and would be old ones in the next.
                for model in self.models:
                    if model is not None:
                        root_of(model).reshard()

    # Passes ----------------------------------------------------------------------------------------------------------

    def accumulate(
        self,
        forward: Forward,
        number: int,
        weighted: WeightedBatch,
        clock: tuple[int, int],
        shares: Sequence[list[int]],
    ) -> list[Any]:
        """Accumulate the gradient of a loss; the tallies of all processes, at the leader."""
        self._clock.step, self._clock.steps = clock
        weighted = replace(weighted, loss=self._losses[number])
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        tally = accumulate_gradients(self.models[0], weighted, passes, reference=self.models[1], episodes=share)
        return self.channel.gather(tally)

    def measure(
        self, forward: Forward, model: int, batch: Any, settings: dict[str, Any], shares: Sequence[list[int]]
    ) -> list[Any]:
        """Measure a batch; what each process has measured, at the leader."""
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        return self.channel.gather(measure_share(passes, self.models[model], batch, share, self._resolve(settings)))

    def backward(self, forward: Forward, batch: Any, settings: dict[str, Any], shares: Sequence[list[int]]) -> None:
        """Accumulate the gradient of a sum of outputs of the policy."""
        passes, share = ShardedForward.of(forward, self.channel), shares[self.channel.rank]
        passes.backward(self.models[0], batch, **self._resolve(settings), episodes=share)

    def _resolve(self, settings: dict[str, Any]) -> dict[str, Any]:
        number = settings.get("reference")
        return {**settings, "reference": None if number is None else self.models[number]}

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

    # Memory ----------------------------------------------------------------------------------------------------------

    def count_bytes(self) -> dict[str, int]:
        """Return the bytes of this process's parts: of weights, gradients and the optimiser's state."""
        weights = [w for model in self.models if model is not None for w in root_of(model).parameters()]
        weights = list({id(weight): weight for weight in weights}.values())
        gradients = [weight.grad for weight in weights if weight.grad is not None]
        moments = [value for state in self.steps.optimizer.state.values() for value in state.values()]
        kinds = {"weights": weights, "gradients": gradients, "optimizer": moments}
        return {kind: sum(map(_bytes_of, tensors)) for kind, tensors in kinds.items()}


def _return_freed_memory() -> None:
    """Let the C library give freed tensors of a MiB or more back to the system at once.

    glibc raises that size by itself, to 32 MiB at most, and would keep the gathered weights of many layers otherwise.
    """
    with suppress(AttributeError, OSError):  # other libraries
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, 1 << 20)


def _bytes_of(tensor: Tensor) -> int:
    local = tensor.to_local() if isinstance(tensor, DTensor) else tensor
    return local.numel() * local.element_size()
