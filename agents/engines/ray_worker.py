"""Worker of the engine `ray`: a process of a cluster with a copy of the policy and a `TorchEngine`.

A worker's completions depend only on the weights and on the rounds since the engine was empty. Another worker can
therefore take over by replaying the same rounds.
"""

from __future__ import annotations

import io
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .sampler import Completion, Request
from .torch_engine import TorchEngine

Stored = tuple[str, tuple[int, ...], np.ndarray]
"""Tensor in shared memory: dtype, shape and bytes (uint8)."""


@dataclass(frozen=True)
class WorkerSizes:
    """Arguments of a worker's `TorchEngine`, and settings of torch: ``threads``, ``device``, and ``precision`` for
    `torch.set_float32_matmul_precision`."""

    stop_ids: tuple[int, ...]
    vocabulary: int
    slots: int
    max_length: int
    fp32_head: bool
    cache_gb: float | None
    threads: int
    device: str
    precision: str


@dataclass(frozen=True)
class Place:
    """Place of a worker: the version of this package there, Ray's id of the node, and the process id."""

    version: str
    node: str
    process: int


@dataclass(frozen=True)
class Round:
    """Unit of work of a worker: a number of decoding steps, between which no orders are received.

    Attributes:
        orders: requests to submit, and ids of sessions to close, before decoding.
        tokens: most decoding steps, rounded up to the engine's blocks; fewer if nothing is left to decode.
        fresh: True starts with an empty engine.
    """

    orders: tuple[Request | int, ...]
    tokens: int
    fresh: bool


@dataclass(frozen=True)
class Played:
    """Result of a round: the answers that became complete, and True if other answers are still being decoded."""

    completions: tuple[Completion, ...]
    decoding: bool


class RolloutWorker:
    """Ray actor that samples from a copy of the policy, round by round."""

    def __init__(self, sizes: WorkerSizes):
        torch.set_num_threads(sizes.threads)
        torch.set_float32_matmul_precision(sizes.precision)
        self._sizes = sizes
        self._model: Any = None
        self._engine: TorchEngine | None = None

    def describe(self) -> Place:
        """Return the place of this process."""
        import ray

        from ... import __version__

        return Place(__version__, ray.get_runtime_context().get_node_id(), os.getpid())

    def play(
        self, rounds: Sequence[Round], model: np.ndarray | None = None, weights: Mapping[str, Stored] | None = None
    ) -> list[Played]:
        """Play rounds, one after another, and return the result of each.

        Args:
            rounds: the rounds; the first one must be fresh if ``model`` or ``weights`` is given.
            model: a policy packed by `pack_model`, which replaces the current one.
            weights: weights packed by `pack_weights`, which replace those of the model.
        """
        if model is not None:
            self._model = unpack_model(model, self._sizes.device)
        if weights is not None:
            set_weights(self._model, weights)
        return [self._play(each) for each in rounds]

    def _play(self, given: Round) -> Played:
        sizes = self._sizes
        if given.fresh or self._engine is None:
            own = sizes.slots, sizes.max_length, sizes.fp32_head, sizes.cache_gb
            self._engine = None  # free its cache before the next one is allocated
            self._engine = TorchEngine(self._model, sizes.stop_ids, sizes.vocabulary, *own)
        engine = self._engine
        for order in given.orders:
            if isinstance(order, Request):
                engine.submit(order)
            else:
                engine.close(order)
        left = given.tokens

        def is_spent() -> bool:
            nonlocal left
            left -= engine.block
            return left <= 0

        completions: list[Completion] = []
        while left > 0:
            finished = engine.step(is_spent)
            if not finished:
                break
            completions += finished
            left -= engine.block  # `is_spent` is not called after a block in which an answer became complete
        return Played(tuple(completions), left <= 0)


def pack_model(model: Any) -> np.ndarray:
    """Pack a transformers model into bytes, for `unpack_model`."""
    from ray import cloudpickle

    buffer = io.BytesIO()
    torch.save(model, buffer, pickle_module=cloudpickle)
    return np.frombuffer(buffer.getbuffer(), np.uint8)


def unpack_model(data: np.ndarray, device: str) -> Any:
    """Restore the model packed by `pack_model`, on a device."""
    model = torch.load(io.BytesIO(data.tobytes()), map_location=device, weights_only=False)
    with torch.no_grad():
        for weight in model.parameters():
            # Matrix products may round differently if their memory is not aligned.
            weight.data = weight.data.clone()
    return model.eval()


def pack_weights(model: Any) -> dict[str, Stored]:
    """Pack the weights of a model that require gradients, by name."""
    found = {}
    for name, weight in model.named_parameters():
        if weight.requires_grad:
            values = weight.detach().cpu().contiguous().flatten().view(torch.uint8).numpy()
            found[name] = (str(weight.dtype).removeprefix("torch."), tuple(weight.shape), values)
    return found


@torch.no_grad()
def set_weights(model: Any, weights: Mapping[str, Stored]) -> None:
    """Replace weights of a model, in place, by the result of `pack_weights`.

    Raises:
        ValueError: the model lacks a weight of this name and shape.
    """
    own = dict(model.named_parameters())
    for name, (dtype, shape, values) in weights.items():
        weight = own.get(name)
        if weight is None or tuple(weight.shape) != shape:
            raise ValueError(f"the policy's weight {name!r} of shape {shape} is none of the worker's.")
        # A copy, as shared memory can only be read.
        weight.copy_(torch.from_numpy(values.copy()).view(getattr(torch, dtype)).view(shape))
