"""Models whose weights are sharded over the processes of a run, by torch's `fully_shard` (FSDP2).

Each process holds a shard of every weight. The weights of a layer are gathered before its forward and its backward pass
and freed afterwards; each process receives its shard of the sum of the gradients. All processes gather together, so
each must make the same passes in the same order: see `ShardedPasses`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from types import MethodType
from typing import Any, TypeVar

import torch
from torch import Tensor, nn
from torch.distributed.device_mesh import DeviceMesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard, register_fsdp_forward_method

from ....errors import InputError
from ...language.adapters import BaseOnly
from ...language.decoder import LAYER_PASS, layers_of, pass_layer
from ..batch.batch import Batch
from ..batch.micro_batches import MemoryLimit
from ..batch.packing import MicroBatch
from ..batch.passes import Outputs, Passes
from .channel import RankChannel, unique_weights

T = TypeVar("T")
HALF = (torch.bfloat16, torch.float16)
_ENTER = "enter_with_weights"
"""Name of a method added to sharded models: it calls a function while the weights outside the layers are gathered."""


def outline(models: Sequence[Any]) -> list[Any]:
    """Copy models without their weights (device "meta"), so that the copies take no memory for weights."""
    known: dict[int, Any] = {}
    for weight in unique_weights(models):
        known[id(weight)] = nn.Parameter(torch.empty_like(weight, device="meta"), weight.requires_grad)
    return copy.deepcopy(list(models), known)


def check_model(model: Any) -> None:
    """Raise InputError if a model cannot be sharded: layers share weights, or trained weights have several types."""
    trained = {weight.dtype for weight in model.parameters() if weight.requires_grad}
    if len(trained) > 1:
        raise InputError(
            f"weights of {len(trained)} types are trained ({', '.join(sorted(map(str, trained)))}), which cannot be "
            "split over processes; train without --shard."
        )
    layers = [set(layer.parameters()) for layer in layers_of(model)]
    inside = {module for layer in layers_of(model) for module in layer.modules()}
    outside = {w for module in model.modules() if module not in inside for w in module.parameters(recurse=False)}
    if len(outside.union(*layers)) < len(outside) + sum(map(len, layers)):
        raise InputError(f"layers of this {type(model).__name__} share weights; train without --shard.")


def shard(model: Any, source: Any, mesh: DeviceMesh, channel: RankChannel) -> None:
    """Replace a model's weights by this process's shards, in place.

    The leader sends the weights one layer at a time, so that no process needs memory for more than one layer beside its
    shards. Trained weights of half precision become single-precision masters, which are rounded when they are gathered;
    their gradients are summed in single precision.

    Args:
        model: a result of `outline`.
        source: at the leader, the model with its weights; None in other processes.
    """
    half = next((w.dtype for w in model.parameters() if w.requires_grad and w.dtype in HALF), None)
    policy = MixedPrecisionPolicy() if half is None else MixedPrecisionPolicy(half, torch.float32)
    names = {id(weight): name for name, weight in model.named_parameters()}
    values = {} if source is None else dict(source.named_parameters())
    layers = list(layers_of(model))
    part: Any
    for part in (*layers, model):
        _fill(part, channel, half, {known: values.get(name) for known, name in names.items()})
        fully_shard(part, mesh=mesh, mp_policy=policy)
        # Losses are sums over the episodes of all processes. Without the second line, gloo would lack the operation.
        part.set_gradient_divide_factor(1.0)
        part.set_force_sum_reduction_for_comms(True)
    for layer in layers:
        setattr(layer, LAYER_PASS, MethodType(pass_layer, layer))
        register_fsdp_forward_method(layer, LAYER_PASS)
    setattr(model, _ENTER, MethodType(lambda model, function: function(), model))
    register_fsdp_forward_method(model, _ENTER)


@torch.no_grad()
def _fill(part: nn.Module, channel: RankChannel, half: torch.dtype | None, values: Mapping[int, Tensor | None]) -> None:
    """Replace weights on device "meta" in part of a model by the leader's values.

    Args:
        values: id of a weight -> its value at the leader, None in other processes.
    """
    fresh: dict[int, nn.Parameter] = {}
    for module in part.modules():
        for key, weight in module._parameters.items():
            if weight is None or not weight.is_meta:
                continue
            if id(weight) not in fresh:
                dtype = torch.float32 if half is not None and weight.requires_grad else weight.dtype
                whole = torch.empty(weight.shape, dtype=dtype, device=channel.device)
                if (value := values[id(weight)]) is not None:
                    whole.copy_(value)
                fresh[id(weight)] = nn.Parameter(whole, weight.requires_grad)
            module._parameters[key] = fresh[id(weight)]
    channel.copy_weights(list(fresh.values()))


def root_of(model: Any) -> Any:
    """Return the sharded module: ``model``, or the model that it is a view of."""
    return model._model if isinstance(model, BaseOnly) else model


@dataclass(frozen=True)
class ShardedPasses(Passes):
    """`Passes` through sharded models, with the same number of passes in each process.

    A process with fewer micro-batches than another adds passes that score no token, so that its shards of weights and
    gradients are available when the others need them.
    """

    in_step = True

    partners: RankChannel = field(kw_only=True)
    _entered: list[Any] = field(default_factory=list, init=False, compare=False)

    @classmethod
    def of(cls, passes: Passes, partners: RankChannel) -> ShardedPasses:
        """Return the settings of ``passes`` for sharded models."""
        own = {item.name: getattr(passes, item.name) for item in fields(Passes)}
        # If one process split a micro-batch, the others would wait for passes that never come.
        return cls(**{**own, "memory": MemoryLimit(splits=False)}, partners=partners)

    def micro_batches(self, batch: Batch, episodes: Sequence[int], packer: str | None = None) -> list[MicroBatch]:
        own = super().micro_batches(batch, episodes, packer)
        missing = self.partners.most(len(own)) - len(own)
        if not missing:
            return own
        shortest = int(torch.bincount(batch.episode_of, minlength=batch.episodes).argmin())
        micro, none = super().micro_batches(batch, [shortest], packer)[0], torch.zeros(0, dtype=torch.int64)
        silent = replace(micro, episodes=none, scored=none, source=none, targets=none, episode=none, soft_targets=None)
        return own + [silent] * missing

    def score(self, model: Any, micro: MicroBatch, **settings: Any) -> Outputs:
        def score() -> tuple[Any, ...]:
            # torch attaches the hooks of the backward pass to tensors in a tuple, not in a dataclass.
            found = Passes.score(self, model, micro, **settings)
            return tuple(getattr(found, item.name) for item in fields(Outputs))

        return Outputs(*self._enter(model, score))

    def _states(self, model: Any, micro: MicroBatch) -> Tensor:
        return self._enter(model, lambda: Passes._states(self, model, micro))

    def _enter(self, model: Any, function: Callable[[], T]) -> T:
        """Call a function while the weights of a model outside the layers are gathered."""
        root = root_of(model)
        if any(root is entered for entered in self._entered):
            return function()
        self._entered.append(root)
        try:
            return getattr(root, _ENTER)(function)
        finally:
            self._entered.pop()
