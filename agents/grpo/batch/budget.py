"""Choice of the token budget of a micro-batch from a GPU's free memory and the memory needed per token.

One dry pass of the model over a few tokens measures the activations that a token keeps for the backward pass, so that
no formula per architecture is needed. Gradients, optimiser state and a chunk of logits do not depend on the number of
tokens; their sizes are calculated. The estimate has not been compared with a GPU's own figures yet. A micro-batch that
does not fit after all is split (see `micro_batches`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch

from ...language.gpu import free_memory
from ...language.head import head_of
from ..optimizers import state_bytes
from .batch import collate
from .logprobs import CHUNK_BYTES
from .passes import Passes
from .trajectory import Group, Trajectory, Turn

CPU_BUDGET = 2048
"""Default budget on a CPU, tokens: larger micro-batches cost memory there and save no time."""
LEAST, MOST = 1024, 65_536
"""Bounds of the chosen budget, tokens: the lower one holds an episode of usual length, the upper keeps any GPU busy."""
SHARE = 0.85
"""Share of the free memory that the budget may use; the rest is left for fragmentation and other tensors of the run."""
_DRY_TOKENS = 256


@dataclass(frozen=True)
class TrainingMemory:
    """Memory that the backward pass and the optimiser step take, bytes.

    Attributes:
        per_token: bytes per token of a micro-batch.
        fixed: bytes that do not depend on the number of tokens.
    """

    per_token: float
    fixed: int

    def tokens(self, free: int) -> int:
        """Return the largest micro-batch for ``free`` bytes, in tokens: a multiple of 256 in LEAST..MOST."""
        room = (SHARE * free - self.fixed) / self.per_token
        return int(min(max(room // 256 * 256, LEAST), MOST))


def training_memory(model: Any, passes: Passes) -> TrainingMemory:
    """Estimate the memory that training takes beyond the weights, from one pass over a few tokens."""
    layers = model.config.get_text_config().num_hidden_layers
    kept = _kept_bytes(model, replace(passes, checkpoint=False))
    head = head_of(model).weight
    layer = kept / layers
    if passes.checkpoint:
        kept = layers * head.shape[1] * head.element_size() + layer
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    state = state_bytes(trained)
    # Gradients of half-precision weights are in single precision at the optimiser's step at the latest.
    gradients = sum(w.numel() * max(4, w.element_size()) for w in trained)
    # A chunk of logits, tensors computed from it, and the gradient of the output matrix in both precisions.
    chunk = 3 * CHUNK_BYTES.get(head.device.type, CHUNK_BYTES["cpu"]) + 6 * head.numel()
    # The backward pass also holds gradients of about one layer's activations.
    return TrainingMemory(kept + layer, state + gradients + chunk)


def fit_budget(model: Any, passes: Passes, device: str, held: Callable[[int, int], int]) -> Passes:
    """Return ``passes`` with a token budget that fits into the GPU's free memory, and leave a notice with the numbers.

    Args:
        held: function (bytes of the weights, bytes free after the optimiser's state) -> bytes that the engine will hold
            during training.
    """
    free = free_memory(device)
    free -= held(sum(weight.nbytes for weight in model.parameters()), max(0, free - state_bytes(model.parameters())))
    need = training_memory(model, passes)
    budget = need.tokens(free)
    passes.memory.add_notice(
        f"Micro-batches have at most {budget:,} tokens (--token-budget): {free / 1e9:.1f} GB of {device} are free, "
        f"of which gradients and optimiser take {need.fixed / 1e9:.1f} and a token {need.per_token / 1e6:.2g} MB."
    )
    return replace(passes, budget=budget)


def _kept_bytes(model: Any, passes: Passes) -> float:
    """Return the bytes per token that a forward pass keeps for the backward pass, besides weights."""
    half = _DRY_TOKENS // 2
    turn = Turn((0,) * half, (0,) * half, (0.0,) * half, "stop", 0.0)
    episode = Trajectory(
        "dry", {}, 0.0, (turn,), success=False, progress=0.0, truncated=False, valid=True, max_tokens=half
    )
    batch = collate([Group(-1, (episode,))])
    known = {weight.untyped_storage().data_ptr() for weight in model.parameters()}
    sizes: dict[int, int] = {}

    def pack(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        if storage.data_ptr() not in known:
            sizes[storage.data_ptr()] = storage.nbytes()
        return tensor

    (micro,) = passes.micro_batches(batch, [0])
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = passes.score(model, micro)
    del out
    return sum(sizes.values()) / _DRY_TOKENS
