"""Forward pass of language models, shared by sampling and training.

`hidden_states` runs over the weights of a transformers model, on a flat list of tokens without padding. Attention is a
parameter: the engine attends over its key-value cache, the learner over packed rows. As both run the same arithmetic on
the same tensors, sampling and training have the same log-probabilities up to rounding. Llama, Qwen2 and Qwen3 have a
fast forward pass in this module; any other architecture runs its own transformers code (see `foreign`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint as recompute

from ...errors import InputError
from .adapters import BaseOnly
from .attention import Attend, AttentionShape
from .head import text_config
from .soft_tokens import SoftInputs
from .transformers_model import check_foreign, foreign_hidden_states, foreign_shape

ARCHITECTURES = ("llama", "qwen2", "qwen3")
"""Model types with a forward pass in this module."""

LAYER_PASS = "pass_with_weights"
"""Name of the method of a layer with sharded weights that gathers the weights and calls `pass_layer`."""

_HALF = (torch.bfloat16, torch.float16)


def check_architecture(config: Any) -> None:
    """Raise InputError if a model's configuration shows that the model is not supported."""
    text = text_config(config)
    if getattr(config, "is_encoder_decoder", False):
        raise InputError(f"model type {config.model_type!r} has an encoder; use a causal language model.")
    for rope in _ropes(text):
        if rope.get("rope_type") == "dynamic":
            raise InputError(
                "rotary frequencies of type 'dynamic' change with the longest sequence at hand, so that sampling and "
                "training would differ; set another rope_type in config.json, such as 'linear' or 'yarn'."
            )
    other = sorted(set(getattr(text, "layer_types", None) or ()) - {"full_attention", "sliding_attention"})
    if other:
        raise InputError(
            f"model type {config.model_type!r} has layers of type {', '.join(other)}; only full_attention and "
            "sliding_attention are supported."
        )


def check_model(model: Any) -> None:
    """Raise InputError unless `hidden_states` gives the same result as the model's own forward pass."""
    check_architecture(model.config)
    if not has_own_forward(model):
        check_foreign(model, context_limit(model))


def context_limit(model: Any) -> int:
    """Return the longest conversation in tokens: the model's number of positions or, if that is less, the length up to
    which the rotary frequencies are constant."""
    config = text_config(model.config)
    limit = getattr(config, "max_position_embeddings", None) or 1 << 30
    for rope in _ropes(config):
        if rope.get("rope_type") == "longrope":
            # Beyond this length all frequencies change, also those of cached keys.
            limit = min(limit, rope.get("original_max_position_embeddings") or limit)
    return limit


def attention_shape(model: Any) -> AttentionShape:
    """Return the sizes of the model's attention. Raises InputError if its layers differ in size."""
    if not has_own_forward(model):
        return foreign_shape(model)
    config = model.config
    dim = model.model.layers[0].self_attn.head_dim
    return AttentionShape(config.num_hidden_layers, config.num_attention_heads, config.num_key_value_heads, dim)


def layers_of(model: Any) -> nn.ModuleList:
    """Return the layers of a transformers causal language model."""
    return next(part for part in model.get_decoder().children() if isinstance(part, nn.ModuleList))


def last_layer(model: Any) -> nn.Module:
    """Return the last of the layers of a transformers causal language model."""
    return layers_of(model)[-1]


def hidden_states(
    model: Any,
    ids: Tensor,
    positions: Tensor,
    attend: Attend,
    checkpoint: bool = False,
    compiled: bool = False,
    soft: SoftInputs | None = None,
) -> Tensor:
    """Return the final hidden states (after the last norm) of flat tokens.

    Args:
        model: a transformers causal language model that passes `check_model`, in evaluation mode; or a `BaseOnly`,
            through which no gradient flows.
        ids: token ids, int64 [N].
        positions: position of each token in its sequence, int64 [N].
        attend: attention over keys and values; see `agents.language.attention.Attend`.
        checkpoint: True stores only the input of each layer for the backward pass, which computes the layer again.
        compiled: True compiles the parts of each layer before and after attention by torch.compile; without effect if
            no gradient is recorded or `has_own_forward` is False.
        soft: mixtures in place of the embeddings of some tokens.

    Returns:
        float [N, hidden].
    """
    if isinstance(model, BaseOnly):
        with model.bare() as bare:
            return hidden_states(bare, ids, positions, attend, soft=soft)
    if not has_own_forward(model):
        return foreign_hidden_states(model, ids, positions, attend, checkpoint, soft)
    body = model.model
    x = F.embedding(ids, body.embed_tokens.weight)
    if soft is not None:
        x = soft.put_into(x, lambda ids: F.embedding(ids, body.embed_tokens.weight))
    cos, sin = body.rotary_emb(x, positions[None])
    # The rotation's second product takes the other half of each head, the first half with its sign turned.
    half = cos.shape[-1] // 2
    cos, sin = cos[0, :, None], torch.cat((-sin[0, :, :half], sin[0, :, half:]), -1)[:, None]
    parts = _compiled_parts() if compiled and torch.is_grad_enabled() else (_before_attention, _after_attention)
    for index, layer in enumerate(body.layers):
        gathering = layer.__dict__.get(LAYER_PASS)
        if gathering is None:
            x = pass_layer(layer, index, x, cos, sin, attend, checkpoint, parts)
        else:
            x = gathering(index, x, cos, sin, attend, checkpoint, parts)
    return _norm(x, body.norm)


def pass_layer(
    layer: Any, index: int, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend, checkpoint: bool, parts: _Parts
) -> Tensor:
    """Compute one layer of `hidden_states`; the arguments are documented there."""
    if checkpoint:
        found = recompute(_layer, layer, index, x, cos, sin, attend, parts, use_reentrant=False)
        return found  # type: ignore[return-value]
    return _layer(layer, index, x, cos, sin, attend, parts)


def _ropes(config: Any) -> list[dict[str, Any]]:
    """Return the settings of the rotary embeddings; a model may have one per type of layer."""
    settings = getattr(config, "rope_parameters", None) or {}
    return [rope for rope in (settings, *settings.values()) if isinstance(rope, dict)]


def has_own_forward(model: Any) -> bool:
    """Return True if `hidden_states` has a fast forward pass for the model, which never waits for the device."""
    config = model.config
    if config.model_type not in ARCHITECTURES or config.hidden_act != "silu":
        return False
    if "sliding_attention" in (getattr(config, "layer_types", None) or ()):
        return False
    # Rotary frequencies of this type depend on the longest sequence, which transformers reads from the device.
    return all(rope.get("rope_type") != "longrope" for rope in _ropes(config))


_Parts = tuple[Callable[[Any, Tensor, Tensor, Tensor], tuple[Tensor, Tensor, Tensor]], Callable[..., Tensor]]


@functools.cache
def _compiled_parts() -> _Parts:
    # One compilation for all layers and all numbers of tokens.
    return torch.compile(_before_attention, dynamic=True), torch.compile(_after_attention, dynamic=True)


def _layer(layer: Any, index: int, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend, parts: _Parts) -> Tensor:
    if not torch.is_grad_enabled():
        return _quick_layer(layer, index, x, cos, sin, attend)
    before, after = parts
    return after(layer, x, attend(index, *before(layer, x, cos, sin)))


def _before_attention(layer: Any, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    attention = layer.self_attn
    h = _norm(x, layer.input_layernorm)
    q = _heads(attention.q_proj(h), attention)
    k = _heads(attention.k_proj(h), attention)
    v = _heads(attention.v_proj(h), attention)
    if hasattr(attention, "q_norm"):
        q, k = _norm(q, attention.q_norm), _norm(k, attention.k_norm)
    return _rotate(q, cos, sin), _rotate(k, cos, sin), v


def _after_attention(layer: Any, x: Tensor, mixed: Tensor) -> Tensor:
    x = x + layer.self_attn.o_proj(mixed.flatten(1))
    mlp = layer.mlp
    h = _norm(x, layer.post_attention_layernorm)
    return x + mlp.down_proj(_SwiGLU.apply(mlp.gate_proj(h), mlp.up_proj(h)))


def _quick_layer(layer: Any, index: int, x: Tensor, cos: Tensor, sin: Tensor, attend: Attend) -> Tensor:
    """Compute a layer without a gradient, in fewer and mostly in-place operations, for the speed of decoding."""
    attention, mlp, dim = layer.self_attn, layer.mlp, layer.self_attn.head_dim
    h = _norm(x, layer.input_layernorm)
    q, k, v = (_linear(h, module) for module in (attention.q_proj, attention.k_proj, attention.v_proj))
    qk, heads = torch.cat((q, k), 1).unflatten(1, (-1, dim)), q.shape[1] // dim
    if hasattr(attention, "q_norm"):
        gains = (attention.q_norm.weight.expand(heads, -1), attention.k_norm.weight.expand(qk.shape[1] - heads, -1))
        qk = _rms_norm(qk, torch.cat(gains), attention.q_norm.variance_epsilon)
    q, k = _rotate(qk, cos, sin).split((heads, qk.shape[1] - heads), 1)
    mixed = attend(index, q, k, v.unflatten(1, (-1, dim))).flatten(1)
    x = _add_product(x, mixed, attention.o_proj)
    h = _norm(x, layer.post_attention_layernorm)
    return _add_product(x, F.silu(_linear(h, mlp.gate_proj), inplace=True).mul_(_linear(h, mlp.up_proj)), mlp.down_proj)


def _linear(x: Tensor, module: Any) -> Tensor:
    # The overhead of calling a plain layer as a module is as large as the product itself.
    return F.linear(x, module.weight, module.bias) if type(module) is nn.Linear else module(x)


def _add_product(x: Tensor, h: Tensor, module: Any) -> Tensor:
    """Return x + module(h)."""
    # Not in half precision: addmm would round once, and training rounds twice.
    if type(module) is nn.Linear and module.bias is None and x.dtype not in _HALF:
        return torch.addmm(x, h, module.weight.t())
    return x + module(h)


def _heads(x: Tensor, attention: Any) -> Tensor:
    return x.unflatten(-1, (-1, attention.head_dim))


def _norm(x: Tensor, module: Any) -> Tensor:
    if torch.is_grad_enabled():
        return _RMSNorm.apply(x, module.weight, module.variance_epsilon)
    return _rms_norm(x, module.weight, module.variance_epsilon)


def _rms_norm(x: Tensor, weight: Tensor, eps: float) -> Tensor:
    """Apply the root-mean-square norm to the last dimension; half precision is rounded before the weight is applied."""
    wide = x.float() if x.dtype in _HALF else x
    length = torch.linalg.vector_norm(wide, dim=-1, keepdim=True)
    inverse = length.square_().div_(x.shape[-1]).add_(eps).rsqrt_()
    return (wide * inverse).to(x.dtype).mul_(weight)


def _rotate(x: Tensor, cos: Tensor, signed_sin: Tensor) -> Tensor:
    """Apply rotary embedding (Su et al., arXiv 2104.09864, eq. 34) in the half-split layout of transformers.

    Args:
        x: [N, heads, dim].
        cos, signed_sin: [N, 1, dim]; the sine is negative in the first half.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), signed_sin)


class _RMSNorm(torch.autograd.Function):
    """Root-mean-square norm with a fused backward pass, which takes a quarter of the time of autograd's on a CPU."""

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
    """Product silu(gate) * up (Shazeer, arXiv 2002.05202, eq. 5) that saves two tensors for the backward, not three."""

    @staticmethod
    def forward(ctx: Any, gate: Tensor, up: Tensor) -> Tensor:  # type: ignore[override]
        ctx.save_for_backward(gate, up)
        return F.silu(gate).mul_(up)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        gate, up = ctx.saved_tensors
        return torch.ops.aten.silu_backward(grad * up, gate), F.silu(gate).mul_(grad)
