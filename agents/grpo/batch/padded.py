"""Attention of packed segments with padding: segments of similar size are padded to one size, with masks.

Used on CPUs, in single precision, with softcapped scores, and wherever `ragged`, which needs no padding, cannot run.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ...language.attention import mix
from .token_indices import concatenate_ranges, send


@dataclass(frozen=True, eq=False)
class _Bucket:
    """Segments of similar size, padded together for attention."""

    queries: Tensor  # [B, Q] token of each query
    keys: Tensor  # [B, K] token of each key
    visible: Tensor  # [B, 1, Q, K] bool
    real: Tensor  # [own tokens] flat places of real queries in [B * Q]
    causal: bool  # no context: as padding follows the real tokens, plain causal attention suffices

    def to(self, device: torch.device) -> _Bucket:
        moved = {name: send(getattr(self, name), device) for name in ("queries", "keys", "visible", "real")}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class Padded:
    """Layout of all segments of a micro-batch for padded attention.

    Attributes:
        buckets: every segment belongs to exactly one bucket.
        order: index of each token's output in the concatenated outputs of the buckets, int64 [U].
    """

    buckets: tuple[_Bucket, ...]
    order: Tensor

    @classmethod
    def of(cls, spans: np.ndarray) -> Padded:
        """Build the layout from the ``spans`` of segments; see `packing.MicroBatch`."""
        parts = _group_by_size(spans)
        produced = np.concatenate([concatenate_ranges(part[:, 2], part[:, 3] - part[:, 2]) for part in parts])
        order = np.empty_like(produced)
        order[produced] = np.arange(len(produced))
        return cls(tuple(_make_bucket(part) for part in parts), torch.from_numpy(order))

    def to(self, device: torch.device) -> Padded:
        if device.type == "cpu":
            return self
        return Padded(tuple(bucket.to(device) for bucket in self.buckets), send(self.order, device))

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, positions: Tensor, window: int | None, softcap: float | None
    ) -> Tensor:
        """Compute the attention of each token over its segment and context: [U, heads, dim] from flat q, k, v.

        Args:
            positions: position of each token in its row, int64 [U].
            window: number of keys that a query sees, including the key of its own token; None for all.
            softcap: bound on attention scores; None for none.
        """
        groups = q.shape[1] // k.shape[1]
        outputs = []
        for bucket in self.buckets:
            rows, width = bucket.queries.shape
            queries = q.index_select(0, bucket.queries.flatten()).view(rows, width, *q.shape[1:]).transpose(1, 2)
            span = bucket.keys.shape[1]
            keys = k.index_select(0, bucket.keys.flatten()).view(rows, span, *k.shape[1:]).transpose(1, 2)
            values = v.index_select(0, bucket.keys.flatten()).view(rows, span, *v.shape[1:]).transpose(1, 2)
            plain = window is None and softcap is None
            # On a CPU the kernel itself lets query heads share a key head, so that no key is copied and no gradient
            # summed up afterwards; on a GPU the kernel for single precision cannot.
            grouped = groups > 1 and plain and q.device.type == "cpu"
            if groups > 1 and not grouped:
                keys, values = keys.repeat_interleave(groups, 1), values.repeat_interleave(groups, 1)
            if not plain:
                mixed = mix(queries, keys, values, _visible(bucket, positions, window), softcap)
            else:
                mask = None if bucket.causal else bucket.visible
                mixed = F.scaled_dot_product_attention(
                    queries, keys, values, attn_mask=mask, is_causal=bucket.causal, enable_gqa=grouped
                )
            outputs.append(mixed.transpose(1, 2).flatten(0, 1).index_select(0, bucket.real))
        joined = outputs[0] if len(outputs) == 1 else torch.cat(outputs)
        return joined.index_select(0, self.order)


def _visible(bucket: _Bucket, positions: Tensor, window: int | None) -> Tensor:
    """Return which keys each query of a bucket attends to, fewer than ``window`` positions back, bool [B, 1, Q, K]."""
    if window is None:
        return bucket.visible
    back = positions[bucket.queries][:, :, None] - positions[bucket.keys][:, None]
    near = bucket.visible & (back < window)[:, None]
    # The window may exclude all keys of a padded query; the softmax over no key would be NaN.
    return near | (~near.any(-1, keepdim=True) & bucket.visible)


def _group_by_size(spans: np.ndarray) -> list[np.ndarray]:
    """Group segments of similar size, so that little attention is spent on padding."""
    context, own = spans[:, 1] - spans[:, 0], spans[:, 3] - spans[:, 2]
    order = np.lexsort((own, context + own, context > 0))
    cuts, has_context, widest, real = [0], False, 0, 0
    for place, (before, count) in enumerate(zip(context[order].tolist(), own[order].tolist(), strict=True)):
        span = before + count
        if place:
            wider, members = max(widest, count), place - cuts[-1]
            padded, filled = (members + 1) * wider * span, real + count * span
            # A bucket costs some fixed time, so small waste is not worth another one.
            similar = padded <= 1.5 * filled or padded - filled < 20_000
            if similar and (before > 0) == has_context:
                widest, real = wider, filled
                continue
            cuts.append(place)
        has_context, widest, real = before > 0, count, count * span
    return [spans[part] for part in np.split(order, cuts[1:])]


def _make_bucket(spans: np.ndarray) -> _Bucket:
    edges = torch.from_numpy(spans)
    context_start, own_start = edges[:, 0, None], edges[:, 2, None]
    context_count, own_count = edges[:, 1, None] - context_start, edges[:, 3, None] - own_start
    query = torch.arange(int(own_count.max()))[None]
    key = torch.arange(int((context_count + own_count).max()))[None]
    real = query < own_count
    queries = torch.where(real, own_start + query, own_start)
    in_context = key < context_count
    valid = key < context_count + own_count
    keys = torch.where(in_context, context_start + key, own_start + key - context_count)
    keys = torch.where(valid, keys, own_start)
    # Query i of a segment is at position context + i; every query sees at least the first key, so that no row is empty.
    visible = (key[:, None] <= (context_count + query)[:, :, None]) & valid[:, None]
    visible[:, :, 0] = True
    causal = int(context_count.max()) == 0
    return _Bucket(queries, keys, visible[:, None], real.flatten().nonzero()[:, 0], causal)
