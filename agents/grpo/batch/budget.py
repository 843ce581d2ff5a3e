"""The token budget that fits into a GPU's memory, from its free memory and the memory per token.

One small dry pass of the model counts the activations that a token keeps for the backward pass, so no architecture
needs a formula; the fixed part (gradients, optimiser state, a chunk of logits) is added up. The
estimate has not been compared with a GPU's own figures yet; a micro-batch that does not fit all the same is cut (see
`micro_batches`).
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
from .forward import Forward
from .logprobs import CHUNK_BYTES
from .trajectory import Group, Trajectory, Turn

CPU_BUDGET = 2048
"""On a CPU more tokens at once cost memory and gain no time."""
LEAST, MOST = 1024, 65_536
"""Bounds on the budget that is chosen: what holds an episode of usual length, and what keeps any GPU busy."""
SHARE = 0.85
"""Part of the free memory that is planned with; the rest is for fragments and what else the run holds."""
_DRY_TOKENS = 256


@dataclass(frozen=True)
class TrainingMemory:
    """Memory of the backward pass and the optimiser step, bytes.

    Attributes:
        per_token: of a micro-batch, for each of its tokens.
        fixed: whatever the number of tokens.
    """

    per_token: float
    fixed: int

    def tokens(self, free: int) -> int:
        """Most tokens of a micro-batch with so many bytes free, a multiple of 256 within the bounds."""
        room = (SHARE * free - self.fixed) / self.per_token
        return int(min(max(room // 256 * 256, LEAST), MOST))


def training_memory(model: Any, forward: Forward) -> TrainingMemory:
    """Estimate the memory that training takes beyond the weights, with one pass over a few tokens."""
    layers = model.config.get_text_config().num_hidden_layers
    kept = _kept_bytes(model, replace(forward, checkpoint=False))
    head = head_of(model).weight
    layer = kept / layers
    if forward.checkpoint:
        kept = layers * head.shape[1] * head.element_size() + layer
    trained = [weight for weight in model.parameters() if weight.requires_grad]
    state = state_bytes(trained)
    # Gradients of half-precision weights are in single precision at the optimiser's step at the latest.
    gradients = sum(w.numel() * max(4, w.element_size()) for w in trained)
    # A chunk of logits, tensors computed from it, and the gradient of the output matrix in both precisions.
    chunk = 3 * CHUNK_BYTES.get(head.device.type, CHUNK_BYTES["cpu"]) + 6 * head.numel()
    # The backward pass holds gradients of about one layer's activations besides.
    return TrainingMemory(kept + layer, state + gradients + chunk)


def fit_budget(model: Any, forward: Forward, device: str, held: Callable[[int, int], int]) -> Forward:
    """Set the token budget to what the GPU's free memory allows, and leave a notice with the numbers.

    Args:
        held: function (bytes of the weights, bytes free after the optimiser's state) -> bytes that the engine will hold
            during training.
    """
    free = free_memory(device)
    free -= held(sum(weight.nbytes for weight in model.parameters()), max(0, free - state_bytes(model.parameters())))
    need = training_memory(model, forward)
    budget = need.tokens(free)
    forward.memory.say(
        f"Micro-batches have at most {budget:,} tokens (--token-budget): {free / 1e9:.1f} GB of {device} are free, "
        f"of which gradients and optimiser take {need.fixed / 1e9:.1f} and a token {need.per_token / 1e6:.2g} MB."
    )
    return replace(forward, budget=budget)


def _kept_bytes(model: Any, forward: Forward) -> float:
    """Return the bytes that a forward pass keeps for the backward pass, a token; each tensor once, weights not."""
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

    (micro,) = forward.micro_batches(batch, [0])
    with torch.enable_grad(), torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        out = forward.score(model, micro)
    del out
    return sum(sizes.values()) / _DRY_TOKENS
