"""The layout of a variable-length kernel says the same as the padded one; where there is a GPU, so does the kernel."""

from __future__ import annotations

import math

import pytest
import torch
from palaestra.agents.grpo.batch.batch import collate
from palaestra.agents.grpo.batch.packing import PACKERS

HEADS, KV_HEADS, DIM = 4, 2, 8


def by_segment(ragged, q, k, v):
    """What the kernel is documented to compute, one segment at a time: the last query stands at the last key."""
    mixed = torch.empty_like(q[ragged.queries])
    for i in range(len(ragged.query_start) - 1):
        own = slice(int(ragged.query_start[i]), int(ragged.query_start[i + 1]))
        seen = slice(int(ragged.key_start[i]), int(ragged.key_start[i + 1]))
        queries, keys, values = q[ragged.queries[own]], k[ragged.keys[seen]], v[ragged.keys[seen]]
        keys, values = (x.repeat_interleave(HEADS // KV_HEADS, 1) for x in (keys, values))
        scores = torch.einsum("qhd,khd->hqk", queries, keys) / math.sqrt(DIM)
        count, span = scores.shape[1:]
        later = torch.arange(span)[None] > torch.arange(count)[:, None] + span - count
        mixed[own] = torch.einsum("hqk,khd->qhd", scores.masked_fill(later, -math.inf).softmax(-1), values)
    return mixed[ragged.order]


@pytest.mark.parametrize("packer", list(PACKERS))
def test_segments_without_padding_attend_as_padded_ones_do(packer, ragged):
    generator = torch.Generator().manual_seed(0)
    for micro in PACKERS[packer](collate(ragged), range(16), 100):
        shape = (len(micro.ids), HEADS, DIM), (len(micro.ids), KV_HEADS, DIM), (len(micro.ids), KV_HEADS, DIM)
        q, k, v = (torch.randn(s, generator=generator) for s in shape)
        assert torch.allclose(micro.attend(0, q, k, v), by_segment(micro.ragged, q, k, v), atol=1e-5)
        if torch.cuda.is_available():
            there = micro.to(torch.device("cuda"))
            half = there.attend(0, *(x.to("cuda", torch.bfloat16) for x in (q, k, v)))
            assert torch.allclose(half.float().cpu(), micro.attend(0, q, k, v), atol=3e-2)
