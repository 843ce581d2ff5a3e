"""Attention of packed segments on a GPU, without padding: the layout, and the call of torch's variable-length kernel.

On a CPU (and in single precision, which the kernel does not take) `packing` pads segments of similar size instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor


@dataclass(frozen=True, eq=False)
class Ragged:
    """Segments one after another, int64 unless noted.

    Attributes:
        queries: token of each query, segment by segment, [U]; every token of a micro-batch is one query.
        keys: token of each key: for each segment its context, then its own tokens, [sum of keys].
        query_start, key_start: where each segment begins, and the total at the end, int32 [segments + 1].
        most_queries, most_keys: of one segment.
        order: place of each token among the queries, [U].
    """

    queries: Tensor
    keys: Tensor
    query_start: Tensor
    key_start: Tensor
    most_queries: int
    most_keys: int
    order: Tensor

    @classmethod
    def of(cls, segments: Sequence[tuple[range, range]]) -> Ragged:
        """From (context, own tokens) of each segment."""
        queries = torch.cat([torch.arange(own.start, own.stop) for _, own in segments])
        parts = [part for context, own in segments for part in (context, own)]
        keys = torch.cat([torch.arange(part.start, part.stop) for part in parts])
        own = torch.tensor([0, *(len(own) for _, own in segments)])
        seen = torch.tensor([0, *(len(context) + len(own) for context, own in segments)])
        order = torch.empty_like(queries)
        order[queries] = torch.arange(len(queries))
        starts = (own.cumsum(0).int(), seen.cumsum(0).int())
        return cls(queries, keys, *starts, int(own.max()), int(seen.max()), order)

    def to(self, device: torch.device) -> Ragged:
        moved = ("queries", "keys", "query_start", "key_start", "order")
        return replace(self, **{name: getattr(self, name).to(device) for name in moved})

    def attend(self, q: Tensor, k: Tensor, v: Tensor, window: int | None = None) -> Tensor:
        """Attention of every token over what its segment may see: [U, heads, dim] from flat q, k, v.

        The kernel aligns the last query with the last key, so that query i of a segment sees its whole context and its
        own tokens up to i.
        """
        from torch.nn.attention.varlen import varlen_attn

        back = -1 if window is None else window - 1
        mixed = varlen_attn(
            q.index_select(0, self.queries),
            k.index_select(0, self.keys),
            v.index_select(0, self.keys),
            self.query_start,
            self.key_start,
            self.most_queries,
            self.most_keys,
            window_size=(back, 0),
            enable_gqa=q.shape[1] != k.shape[1],
        )
        assert isinstance(mixed, Tensor)
        return mixed.index_select(0, self.order)


def suits(q: Tensor) -> bool:
    """True if the kernel takes these queries: half precision, on a GPU."""
    return q.is_cuda and q.dtype in (torch.bfloat16, torch.float16)
