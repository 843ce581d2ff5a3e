"""Attention of packed segments on a GPU without padding: the layout, and the call of torch's variable-length kernel.

The kernel supports neither CPUs nor single precision; `padded` is used there. `ragged_reference` takes the kernel's
arguments and computes the documented result, one segment at a time, so that the arguments can be tested without a GPU.
The kernel itself has not been run yet. Its arguments differ between versions of torch; see `Kernel`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from ...language.attention import mix
from ...language.gpu import fits_flash_attention, is_ampere
from .token_indices import concatenate_ranges, send


@dataclass(frozen=True)
class Kernel:
    """Variable-length attention function, and which optional arguments of torch's ``varlen_attn`` it has.

    torch 2.10 has ``is_causal``; 2.11 has ``window_size`` instead; 2.12 and later also have ``enable_gqa``.

    Attributes:
        function: takes query, key, value, ``cu_seq_q``, ``cu_seq_k``, ``max_q``, ``max_k``; see `ragged_reference`.
        windows: True if the function has ``window_size``; if False, a window raises ValueError.
        grouped: True if the function has ``enable_gqa``; if False, key heads are repeated, one per query head.
    """

    function: Callable[..., Any]
    windows: bool
    grouped: bool

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Kernel:
        """Inspect the argument names of ``function``."""
        names = inspect.signature(function).parameters
        return cls(function, "window_size" in names, "enable_gqa" in names)

    def takes(self, dtype: torch.dtype, head_dim: int, window: int | None) -> bool:
        """Return True if the kernel supports inputs of this type and head size, with this window."""
        half = dtype in (torch.bfloat16, torch.float16)
        return half and fits_flash_attention(head_dim) and (window is None or self.windows)

    def __call__(self, q: Tensor, k: Tensor, v: Tensor, *edges: Any, window: int | None) -> Tensor:
        """Compute causal attention, [queries, heads, dim]; the last query of a sequence is aligned with its last key.

        Args:
            edges: ``cu_seq_q``, ``cu_seq_k``, ``max_q``, ``max_k``.
            window: number of keys that a query sees, including the key of its own token; None for all before it.

        Raises:
            ValueError: a window is given, and this version of torch does not support windows.
        """
        options: dict[str, Any] = {}
        if self.windows:
            options["window_size"] = (-1 if window is None else window - 1, 0)
        elif window is None:
            options["is_causal"] = True
        else:
            raise ValueError(f"this version of torch has no variable-length attention with a window, got {window}.")
        groups = q.shape[1] // k.shape[1]
        if self.grouped:
            options["enable_gqa"] = groups > 1
        elif groups > 1:
            k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        return self.function(q, k, v, *edges, **options)


@functools.cache
def find_kernel() -> Kernel | None:
    """Return torch's kernel, or None before torch 2.10."""
    try:
        from torch.nn.attention.varlen import varlen_attn
    except ImportError:
        return None
    return Kernel.of(varlen_attn)


@dataclass(frozen=True, eq=False)
class Ragged:
    """Layout of a micro-batch's segments, concatenated; int64 unless noted. Query i is token i.

    Attributes:
        keys: token of each key: for each segment its context, then its own tokens, [sum of keys].
        query_start, key_start: offset of each segment, followed by the total, int32 [segments + 1].
        most_queries, most_keys: largest number in one segment.
        own_key: index in ``keys`` of each token in the segment that owns it, [U].
        context_keys: indices in ``keys`` of each context token in the other segments, [context tokens, most such
            segments]; padded with the token's ``own_key``.
        context_counts: False at the padding of ``context_keys``, bool, of the same shape.
        context_tokens: the tokens that are context of another segment.
    """

    keys: Tensor
    query_start: Tensor
    key_start: Tensor
    most_queries: int
    most_keys: int
    own_key: Tensor
    context_keys: Tensor
    context_counts: Tensor
    context_tokens: Tensor

    @classmethod
    def of(cls, spans: np.ndarray) -> Ragged:
        """Build the layout from the ``spans`` of segments; see `packing.MicroBatch`."""
        begin, context, start, own = spans[:, 0], spans[:, 1] - spans[:, 0], spans[:, 2], spans[:, 3] - spans[:, 2]
        seen = context + own
        key_end = np.cumsum(seen)
        key_start = key_end - seen
        pieces = np.stack((context, own), 1).ravel()
        keys = concatenate_ranges(np.stack((begin, start), 1).ravel(), pieces)
        own_key = concatenate_ranges(key_start + context, own)
        # Indices of keys that are context, sorted so that the uses of one token are adjacent.
        use = concatenate_ranges(key_start, context)
        use = use[np.argsort(keys[use], kind="stable")]
        tokens, uses = np.unique(keys[use], return_counts=True)
        most = int(uses.max(initial=0))
        counts = np.arange(most) < uses[:, None]
        table = np.repeat(own_key[tokens][:, None], most, 1)
        table[counts] = use
        return cls(
            keys=torch.from_numpy(keys),
            query_start=_edges(own),
            key_start=_edges(seen),
            most_queries=int(own.max()),
            most_keys=int(seen.max()),
            own_key=torch.from_numpy(own_key),
            context_keys=torch.from_numpy(table),
            context_counts=torch.from_numpy(counts),
            context_tokens=torch.from_numpy(tokens),
        )

    def to(self, device: torch.device) -> Ragged:
        if self.keys.device == device:
            return self
        moved = {name: send(x, device) for name, x in vars(self).items() if isinstance(x, Tensor)}
        return replace(self, **moved)

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, window: int | None = None, kernel: Kernel | None = None
    ) -> Tensor:
        """Compute the attention of each token over its segment and context: [U, heads, dim] from flat q, k, v.

        The kernel aligns the last query with the last key, so query i of a segment sees the whole context and the
        segment's own tokens up to i.

        Args:
            window: see `Kernel.__call__`.
            kernel: torch's kernel by default.

        Raises:
            ValueError: this torch has no such kernel, or the kernel has no windows; see `suits`.
        """
        kernel = kernel or find_kernel()
        if kernel is None:
            raise ValueError(f"torch {torch.__version__} has no variable-length attention; 2.10 and later have it.")
        return kernel(
            q.contiguous(),
            self.expand(k),
            self.expand(v),
            self.query_start,
            self.key_start,
            self.most_queries,
            self.most_keys,
            window=window,
        )

    def expand(self, x: Tensor) -> Tensor:
        """Gather keys or values of tokens for all segments, repeating contexts: [U, ...] -> [sum of keys, ...].

        The gradient of a token is summed over its uses in a fixed order, in at least single precision and without
        atomic additions, so every run gives the same gradient.
        """
        if not len(self.context_tokens):
            return x.contiguous()
        return _Expand.apply(x, self)  # type: ignore[return-value]


def _edges(length: np.ndarray) -> Tensor:
    """Return the starts of consecutive pieces of these lengths, followed by the total, int32 [pieces + 1]."""
    return torch.from_numpy(np.concatenate(([0], np.cumsum(length))).astype(np.int32))


class _Expand(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, ragged: Ragged) -> Tensor:  # type: ignore[override]
        ctx.ragged = ragged
        return x.index_select(0, ragged.keys)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        ragged: Ragged = ctx.ragged
        own = grad.index_select(0, ragged.own_key)
        uses = grad.index_select(0, ragged.context_keys.flatten()).unflatten(0, ragged.context_keys.shape)
        wide = torch.promote_types(grad.dtype, torch.float32)
        counts = ragged.context_counts.view(*ragged.context_counts.shape, *[1] * (grad.ndim - 1))
        total = (uses.to(wide) * counts).sum(1) + own.index_select(0, ragged.context_tokens).to(wide)
        return own.index_copy(0, ragged.context_tokens, total.to(grad.dtype)), None


def ragged_reference(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    cu_seq_q: Tensor,
    cu_seq_k: Tensor,
    max_q: int,
    max_k: int,
    *,
    window_size: tuple[int, int] = (-1, -1),
    enable_gqa: bool = False,
) -> Tensor:
    """Compute ``torch.nn.attention.varlen.varlen_attn`` as documented, in any precision and on any device.

    Args:
        query: [sum of queries, heads, dim].
        key, value: [sum of keys, kv_heads, dim].
        cu_seq_q, cu_seq_k: offset of each sequence, followed by the total, int32 [sequences + 1].
        max_q, max_k: largest length of one sequence.
        window_size: number of keys visible before and after the query's position, -1 for all; the last query of a
            sequence is at the position of its last key.
        enable_gqa: allow consecutive query heads to share a key head.

    Returns:
        [sum of queries, heads, dim].

    Raises:
        ValueError: heads differ without ``enable_gqa``, or a sequence is longer than ``max_q`` or ``max_k``.
    """
    if query.shape[1] != key.shape[1] and not enable_gqa:
        raise ValueError(f"{query.shape[1]} query heads and {key.shape[1]} key heads need enable_gqa.")
    queries, keys = cu_seq_q.diff().tolist(), cu_seq_k.diff().tolist()
    if max(queries) > max_q or max(keys) > max_k:
        raise ValueError(f"a sequence has more than {max_q} queries or {max_k} keys.")
    groups = query.shape[1] // key.shape[1]
    left, right = window_size
    mixed = []
    for q, k, v in zip(query.split(queries), key.split(keys), value.split(keys), strict=True):
        place = torch.arange(len(k) - len(q), len(k), device=q.device)[:, None]
        back = place - torch.arange(len(k), device=q.device)
        visible = torch.ones_like(back, dtype=torch.bool)
        if left >= 0:
            visible &= back <= left
        if right >= 0:
            visible &= -back <= right
        k, v = (x.repeat_interleave(groups, 1).transpose(0, 1) for x in (k, v))
        mixed.append(mix(q.transpose(0, 1), k, v, visible).transpose(0, 1))
    return torch.cat(mixed)


def suits(q: Tensor, window: int | None = None) -> bool:
    """Return True if torch's kernel accepts the queries: half precision, on a GPU that FlashAttention supports."""
    if not q.is_cuda:
        return False
    kernel = find_kernel()
    return kernel is not None and kernel.takes(q.dtype, q.shape[-1], window) and is_ampere(q.device)
