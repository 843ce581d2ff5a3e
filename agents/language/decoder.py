"""The forward pass that sampling and training share.

A transformers model of the Llama, Qwen2 or Qwen3 architecture keeps its weights and its file format; the forward pass
over them is this one function, on a flat list of tokens without padding. Attention is a parameter: the engine attends
over its key-value cache, the learner over packed rows. As both run the same arithmetic on the same tensors, the log-
probabilities that were sampled are the ones that are trained, up to rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ...errors import InputError

ARCHITECTURES = ("llama", "qwen2", "qwen3")

Attend = Callable[[int, Tensor, Tensor, Tensor], Tensor]
"""``(layer, q [N, heads, dim], k [N, kv_heads, dim], v [N, kv_heads, dim]) -> [N, heads, dim]``, N flat tokens."""


def check_architecture(config: Any) -> None:
    """Raise InputError unless the forward pass here covers the configuration."""
    if config.model_type not in ARCHITECTURES:
        raise InputError(
            f"model type {config.model_type!r} is not supported; use a causal language model of type "
            f"{', '.join(ARCHITECTURES)}."
        )
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        raise InputError(
            "models with sliding-window layers are not supported; set use_sliding_window=False in config.json."
        )


def hidden_states(model: Any, ids: Tensor, positions: Tensor, attend: Attend) -> Tensor:
    """Final hidden states (after the last norm) of flat tokens.

    Args:
        model: a transformers causal language model that passes `check_architecture`.
        ids: token ids, int64 [N].
        positions: position of each token in its own sequence, int64 [N].
        attend: attention over keys and values; see `Attend`.

    Returns:
        float [N, hidden].
    """
    body = model.model
    x = F.embedding(ids, body.embed_tokens.weight)
    cos, sin = body.rotary_emb(x, positions[None])
    # The rotation's second product takes the other half of each head, the first half with its sign turned.
    half = cos.shape[-1] // 2
    cos, sin = cos[0, :, None], torch.cat((-sin[0, :, :half], sin[0, :, half:]), -1)[:, None]
    for index, layer in enumerate(body.layers):
        attention = layer.self_attn
        h = _norm(x, layer.input_layernorm)
        q = _heads(attention.q_proj(h), attention)
        k = _heads(attention.k_proj(h), attention)
        v = _heads(attention.v_proj(h), attention)
        if hasattr(attention, "q_norm"):
            q, k = _norm(q, attention.q_norm), _norm(k, attention.k_norm)
        turned = _rotate(torch.cat((q, k), 1), cos, sin)
        mixed = attend(index, *turned.split((q.shape[1], k.shape[1]), 1), v)
        x = x + attention.o_proj(mixed.flatten(1))
        mlp = layer.mlp
        h = _norm(x, layer.post_attention_layernorm)
        x = x + mlp.down_proj(_SwiGLU.apply(mlp.gate_proj(h), mlp.up_proj(h)))
    return _norm(x, body.norm)


def _heads(x: Tensor, attention: Any) -> Tensor:
    return x.unflatten(-1, (-1, attention.head_dim))


def _norm(x: Tensor, module: Any) -> Tensor:
    if torch.is_grad_enabled():
        return _RMSNorm.apply(x, module.weight, module.variance_epsilon)
    return F.rms_norm(x, module.weight.shape, module.weight, module.variance_epsilon)


def _rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Rotary embedding (Su et al., arXiv 2104.09864, eq. 34) in the half-split layout of transformers.

    Args:
        x: [N, heads, dim].
        cos, signed_sin: [N, 1, dim]; the sine is negative in the first half.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed_sin)


class _RMSNorm(torch.autograd.Function):
    """Root-mean-square norm with a three-pass backward: a quarter of the time of the composed operations on a CPU."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float) -> Tensor:  # type: ignore[override]
        wide = x if x.dtype == torch.float64 else x.float()
        length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
        inverse = length.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
        normed = (wide * inverse).to(x.dtype)
        ctx.save_for_backward(normed, weight, inverse)
        return normed * weight

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        normed, weight, inverse = ctx.saved_tensors
        grad_weight = (grad * normed).flatten(0, -2).sum(0)
        scaled = grad * weight
        projection = (scaled * normed).mean(-1, keepdim=True)
        grad_x = torch.addcmul(scaled, normed, projection, value=-1).mul_(inverse)
        return grad_x.to(grad.dtype), grad_weight, None


class _SwiGLU(torch.autograd.Function):
    """silu(gate) * up (Shazeer, arXiv 2002.05202, eq. 5), keeping two tensors for the backward instead of three."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(gate, up)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        gate, up = ctx.saved_tensors
        return torch.ops.aten.silu_backward(grad * up, gate), F.silu(gate).mul_(grad)
