"""Attention as a callback of the forward pass on flat tokens: it receives queries, keys and values of a layer.

The forward pass computes queries, keys and values of N tokens, without regard to sequences; the callback decides which
tokens see each other. The engine's callback attends over a key-value cache, the learner's over packed rows.
`attend_causally` makes a plain callback for whole sequences one after another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor


class Attend(Protocol):
    """Attention of one layer over flat tokens."""

    def __call__(
        self, layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
    ) -> Tensor:
        """Return softmax(q k / sqrt(dim)) v, among tokens that may see each other.

        Args:
            layer: index of the layer, from 0.
            q: queries, [N, heads, dim].
            k, v: keys and values, [N, kv_heads, dim]; consecutive groups of query heads share a key head.
            window: a query sees only the last ``window`` positions, including its own; None: all earlier positions.
            softcap: scores are replaced by softcap * tanh(score / softcap) before the softmax; None leaves them as is.

        Returns:
            [N, heads, dim].
        """
        ...


@dataclass(frozen=True)
class AttentionShape:
    """Sizes of a model's attention, the same in every layer; they determine the size of a key-value cache."""

    layers: int
    heads: int
    kv_heads: int
    head_dim: int


def mix(q: Tensor, k: Tensor, v: Tensor, visible: Tensor, softcap: float | None = None) -> Tensor:
    """Compute attention by matrix products, with scores and softmax in at least single precision.

    Args:
        q: queries, [..., Q, dim].
        k, v: keys and values, [..., K, dim].
        visible: bool, broadcastable to [..., Q, K]; each query must see at least one key.

    Returns:
        [..., Q, dim], in the dtype of ``v``.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = torch.matmul(q, k.transpose(-1, -2)).to(wide).mul_(q.shape[-1] ** -0.5)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    return torch.matmul(scores.masked_fill(~visible, float("-inf")).softmax(-1).to(v.dtype), v)


def mix_columns(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, softcap: float | None = None, norm: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Compute attention of a decoding step, with transposed keys, and scores and softmax in at least single precision.

    Args:
        q: queries, [B, Q, dim].
        k: keys, [B, dim, K].
        v: values, [B, K, dim].
        bias: added to the scores; broadcastable to [B, Q, K].
        norm: True also returns the log-sum-exp of the scores, with which attention over these keys can be merged with
            attention over others.

    Returns:
        (attention [B, Q, dim] in the dtype of ``v``, log-sum-exp [B, Q] or None).
    """
    # The first argument is ignored, as beta is 0.
    scores = torch.baddbmm(q[..., :1], q, k, beta=0, alpha=q.shape[-1] ** -0.5)
    scores = scores.to(torch.promote_types(q.dtype, torch.float32))
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    if bias is not None:
        scores.add_(bias)
    weights = scores.softmax(-1)
    # The largest weight is exp(largest score - logarithm): two maxima are quicker than a second pass of exponentials.
    logarithm = scores.amax(-1).sub_(weights.amax(-1).log_()) if norm else None
    return torch.bmm(weights.to(v.dtype), v), logarithm


def attend_causally(lengths: Sequence[int]) -> Attend:
    """Make the causal attention callback for whole sequences of the given lengths, one after another."""

    def attend(
        layer: int, q: Tensor, k: Tensor, v: Tensor, *, window: int | None = None, softcap: float | None = None
    ) -> Tensor:
        groups = q.shape[1] // k.shape[1]
        mixed = []
        for queries, keys, values in zip(q.split(lengths), k.split(lengths), v.split(lengths), strict=True):
            place = torch.arange(len(queries), device=q.device)
            back = place[:, None] - place
            visible = (back >= 0) if window is None else (back >= 0) & (back < window)
            keys, values = (x.repeat_interleave(groups, 1).transpose(0, 1) for x in (keys, values))
            mixed.append(mix(queries.transpose(0, 1), keys, values, visible, softcap).transpose(0, 1))
        return torch.cat(mixed)

    return attend
