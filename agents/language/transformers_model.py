"""Forward pass of any transformers causal language model on flat tokens.

The model's own code runs on one row [1, N] with explicit positions, and transformers' attention interface routes its
attention to a callback. Not supported are models without that interface (state-space layers, ALiBi biases), attention
with sinks or sparse selection, and rotary frequencies that depend on the longest sequence. As a final check,
`check_foreign` compares two packed sequences with the model's plain forward pass.
"""

from __future__ import annotations

import sys
import threading
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils.checkpoint import checkpoint as recompute

from ...errors import InputError
from .attention import Attend, AttentionShape, attend_causally
from .head import head_of, text_config
from .soft_tokens import SoftInputs
from .windows import short_windows, window_lengths

_NAME = "palaestra_flat"
"""Name of `_flat_attention` in transformers' registry of attention functions."""

_HARMLESS = frozenset({"position_ids", "use_cache", "output_attentions", "output_hidden_states", "cache_position"})
"""Keyword arguments of an attention function that do not change its result."""

_TOLERANCE = {torch.float64: 1e-3, torch.float32: 1e-3, torch.float16: 2e-2, torch.bfloat16: 5e-2}
"""Largest difference of logits that rounding can explain, by dtype, in standard deviations of the logits."""

_PROBED = 64
"""Longest attention window, in tokens, for which `check_foreign` uses a sequence longer than the window."""


@dataclass(eq=False)
class _Pass:
    """Forward pass in progress: its attention callback, and the layers that have called it."""

    attend: Attend
    layers: list[int] = field(default_factory=list)


class _Passes(threading.local):
    """Stack of the forward passes in progress in each thread; the last one is used. Recomputation in a backward pass
    pushes another one."""

    def __init__(self) -> None:
        self.stack: list[_Pass] = []


_passes = _Passes()
_lock = threading.Lock()
_routed: dict[int, tuple[int, Any]] = {}
"""Id of a model's configuration -> number of passes in progress in all threads, and the model's own attention setting.
"""


def _flat_attention(
    module: Any,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attention_mask: Tensor | None = None,
    scaling: float | None = None,
    dropout: float = 0.0,
    sliding_window: int | None = None,
    softcap: float | None = None,
    is_causal: bool | None = None,
    **options: Any,
) -> tuple[Tensor, None]:
    """Attention function for transformers: calls the callback of the current pass. Takes query, key and value as [1,
    heads, N, dim] and returns ([1, N, heads, dim], None)."""
    name = type(module).__name__
    extra = sorted(key for key, given in options.items() if given is not None and key not in _HARMLESS)
    if extra:
        raise InputError(f"the attention of {name} takes {', '.join(extra)}, which flat tokens cannot honour.")
    if is_causal is False or getattr(module, "is_causal", True) is False:
        raise InputError(f"the attention of {name} is not causal; use a causal language model.")
    if dropout:
        raise InputError(f"the attention of {name} has dropout {dropout}; call eval() on the model.")
    width, v_width = query.shape[-1], value.shape[-1]
    if v_width > width:
        raise InputError(f"the values of {name} are wider ({v_width}) than its keys ({width}); this is not supported.")
    q, k, v = (x[0].transpose(0, 1) for x in (query, key, value))
    if scaling is not None and scaling != width**-0.5:
        q = q * (scaling * width**0.5)
    if v_width < width:
        v = F.pad(v, (0, width - v_width))
    current = _passes.stack[-1]
    current.layers.append(module.layer_idx)
    mixed = current.attend(module.layer_idx, q, k, v, window=sliding_window, softcap=softcap)
    return mixed[None, ..., :v_width], None


class _RoutedAttention:
    """Context that routes a model's attention to a callback, and restores the model's attention setting at the end. The
    context can be entered again, for a layer that is recomputed in the backward pass."""

    def __init__(self, model: Any, attend: Attend):
        self._config, self._attend = text_config(model.config), attend

    def __enter__(self) -> _Pass:
        from transformers import AttentionInterface

        if _NAME not in AttentionInterface._global_mapping:
            AttentionInterface.register(_NAME, _flat_attention)
        with _lock:
            count, chosen = _routed.get(id(self._config), (0, self._config._attn_implementation))
            _routed[id(self._config)] = count + 1, chosen
            self._config._attn_implementation = _NAME
        _passes.stack.append(_Pass(self._attend))
        return _passes.stack[-1]

    def __exit__(self, *_: object) -> None:
        _passes.stack.pop()
        with _lock:
            count, chosen = _routed.pop(id(self._config))
            if count > 1:
                _routed[id(self._config)] = count - 1, chosen
            else:
                self._config._attn_implementation = chosen


def foreign_hidden_states(
    model: Any,
    ids: Tensor,
    positions: Tensor,
    attend: Attend,
    checkpoint: bool = False,
    soft: SoftInputs | None = None,
) -> Tensor:
    """Return the final hidden states [N, H] by the model's own code; arguments as in `decoder.hidden_states`."""
    attending = _RoutedAttention(model, attend)
    with attending as current:
        if not checkpoint:
            return _run(model, ids, positions, current, soft)
        layers = _layers(model)
        own = [layer.__dict__.get("forward") for layer in layers]
        for layer in layers:
            layer.forward = _with_recomputation(layer.forward, attending)
        try:
            return _run(model, ids, positions, current, soft)
        finally:
            for layer, forward in zip(layers, own, strict=True):
                if forward is None:
                    del layer.forward  # uncovers the method of the class
                else:
                    layer.forward = forward


def _run(model: Any, ids: Tensor, positions: Tensor, current: _Pass, soft: SoftInputs | None) -> Tensor:
    inputs: dict[str, Tensor] = {"input_ids": ids[None]}
    if soft is not None:
        embed = model.get_input_embeddings()
        inputs = {"inputs_embeds": soft.put_into(embed(ids), embed)[None]}
    out = model.base_model(**inputs, position_ids=positions[None], use_cache=False)
    if sorted(current.layers) != list(range(len(_layers(model)))):
        raise InputError(
            f"{type(model).__name__} asks for attention in layers {current.layers} of {len(_layers(model))}: layers "
            "without attention, or with another form of it, are not supported."
        )
    return out.last_hidden_state[0]


def _with_recomputation(forward: Any, attending: _RoutedAttention) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        # The second context is for the recomputation, which happens after this pass has ended.
        contexts = (nullcontext(), attending)
        return recompute(forward, *args, use_reentrant=False, context_fn=lambda: contexts, **kwargs)

    return run


def _layers(model: Any) -> Any:
    """Return the list of decoder layers."""
    count = text_config(model.config).num_hidden_layers
    for module in model.base_model.modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == count:
            return module
    raise InputError(f"{type(model).__name__} has no list of {count} layers; this model is not supported.")


def foreign_shape(model: Any) -> AttentionShape:
    """Measure the sizes of a model's attention by a forward pass of one token.

    Raises:
        InputError: the layers differ in size.
    """
    seen = []

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor, **_: Any) -> Tensor:
        seen.append((q.shape[1], k.shape[1], k.shape[2]))
        return q

    one = torch.zeros(1, dtype=torch.int64, device=head_of(model).weight.device)
    with torch.no_grad():
        foreign_hidden_states(model, one, one, attend)
    if len(set(seen)) != 1:
        raise InputError(f"the layers of {type(model).__name__} differ in their attention ({seen}); not supported.")
    return AttentionShape(len(seen), *seen[0])


def check_foreign(model: Any, limit: int = 1 << 30) -> None:
    """Raise InputError unless flat tokens give the same logits as the model's own forward pass.

    Two short sequences are run packed together, and one by one through the model's plain forward pass. The first one is
    longer than all attention windows of at most `_PROBED` tokens. Longer windows are shortened for a second comparison,
    unless they are as long as ``limit``.

    Args:
        limit: longest conversation in tokens.
    """
    name = type(model).__name__
    # Only files with this function use transformers' attention interface.
    if not hasattr(sys.modules.get(type(model).__module__), "eager_attention_forward"):
        raise InputError(
            f"the attention of {name} (model type {model.config.model_type!r}) cannot be replaced, as it does not go "
            "through transformers' attention interface; use another model, for instance of type llama or qwen3."
        )
    allowed = _TOLERANCE.get(head_of(model).weight.dtype, 1e-3)
    windows = {name: length for name, length in window_lengths(model.config).items() if length < limit}
    within = [length for length in windows.values() if length <= _PROBED]
    gaps = [_gap(model, (max([6, *(length + 4 for length in within)]), 4))]
    if len(within) < len(windows) and gaps[0] <= allowed:
        with short_windows(model, 3):
            gaps.append(_gap(model, (8, 4)))
    if all(gap <= allowed for gap in gaps):
        return
    reason = f"{name} on flat tokens gives logits that are off by {max(gaps):.2g} standard deviations from its own"
    if windows and (len(gaps) == 2 or _gap(model, (min(windows.values()), 4)) <= allowed):
        key, length = min(windows.items(), key=lambda item: item[1])
        off = (
            "use_sliding_window to false"
            if hasattr(text_config(model.config), "use_sliding_window")
            else f"{key} to null"
        )
        if getattr(text_config(model.config), "layer_types", None):
            off += ", its layer_types to full_attention"
        raise InputError(
            f"{reason} past its window of {length} tokens, which it keeps from its attention call; use another model, "
            f"or set {off} and max_position_embeddings to {length} in config.json, which is the same model up to there."
        )
    raise InputError(f"{reason}; use another model.")


def _gap(model: Any, lengths: tuple[int, ...]) -> float:
    """Return the largest difference between the logits of packed sequences and of the model's plain forward pass, in
    standard deviations of the logits.

    Args:
        lengths: lengths of the sequences in tokens.
    """
    head = head_of(model)
    device, vocabulary = head.weight.device, len(head.weight)
    ids = (torch.arange(sum(lengths), device=device) * 7 + 1) % vocabulary
    positions = torch.cat([torch.arange(length, device=device) for length in lengths])
    with torch.no_grad():
        try:
            ours = head.logits(foreign_hidden_states(model, ids, positions, attend_causally(lengths)))
            theirs = torch.cat([model(part[None]).logits[0] for part in ids.split(lengths)]).to(ours.dtype)
        except InputError:
            raise
        except Exception as error:
            raise InputError(
                f"{type(model).__name__} cannot run on flat tokens ({error}); use another model."
            ) from error
    gap = ((ours - theirs).abs().max() / theirs.std()).item()
    return gap if gap == gap else float("inf")
