"""Attention as a parameter of the forward pass on flat tokens: a callback that mixes values, given queries and keys.

The forward pass computes queries, keys and values of N tokens in a row, without regard to sequences; the callback
decides which tokens see each other. The engine's callback attends over its key-value cache, the learner's over packed
rows. `attend_causally` is the plain one, for whole sequences one after another.
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
        """Softmax of q k / sqrt(dim), times v, among tokens that may see each other.

        Args:
            layer: number of the layer, from 0.
            q: [N, heads, dim]. k, v: [N, kv_heads, dim]; consecutive groups of query heads share a key head.
            window: a query sees the last ``window`` positions only, its own among them; None for all before it.
            softcap: bound on the scores before the softmax, softcap * tanh(score / softcap), or None.

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
    """Attention in matrix form, with scores and softmax in single precision at least.

    Args:
        q: [..., Q, dim]. k, v: [..., K, dim].
        visible: bool, broadcastable to [..., Q, K]; each query must see a key.

    Returns:
        [..., Q, dim], in the type of ``v``.
    """
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = torch.matmul(q, k.transpose(-1, -2)).to(wide).mul_(q.shape[-1] ** -0.5)
    if softcap is not None:
        scores = torch.tanh(scores / softcap) * softcap
    return torch.matmul(scores.masked_fill(~visible, float("-inf")).softmax(-1).to(v.dtype), v)


def mix_columns(
    q: Tensor, k: Tensor, v: Tensor, bias: Tensor | None = None, softcap: float | None = None, norm: bool = False
) -> tuple[Tensor, Tensor | None]:
    """Attention of a decoding step, with keys in columns, and scores and softmax in single precision at least.

    Args:
        q: [B, Q, dim]. k: [B, dim, K]. v: [B, K, dim].
        bias: added to the scores, broadcastable to [B, Q, K].
        norm: whether to return the logarithm of the sum of exponentials of the scores, [B, Q], by which attention over
            these keys is merged with that over others.

    Returns:
        ([B, Q, dim] in the type of ``v``, the logarithm or None).
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
    """Make the callback for whole sequences of these lengths, one after another."""

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
