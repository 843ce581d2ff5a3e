"""Reductions: one weight for each token, computed once for the whole optimiser batch.

The loss is a plain sum of weight x value, so how a batch is cut into micro-batches, in which order, or packed how,
cannot change a gradient. ``keep`` marks the tokens that are trained; a row without any still counts as a row.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...registry import Registry
from .batch import Batch

Reduction = Callable[..., Tensor]
"""``(batch, keep [N] bool, **params) -> weight [N]``"""

REDUCTIONS: Registry[Reduction] = Registry("reduction")


@REDUCTIONS.register("token_mean")
def token_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (tokens of the batch) (DAPO, arXiv 2503.14476, eq. 8)."""
    return keep / keep.sum().clamp(min=1)


@REDUCTIONS.register("sequence_mean")
def sequence_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (rows x tokens of the row) (GRPO, arXiv 2402.03300, eq. 3)."""
    tokens = torch.zeros(batch.rows).index_add_(0, batch.row_of, keep.float())
    return keep / (batch.rows * tokens.clamp(min=1))[batch.row_of]


@REDUCTIONS.register("sequence_sum")
def sequence_sum(batch: Batch, keep: Tensor) -> Tensor:
    """1 / rows: the policy gradient of the whole episode (RLOO, arXiv 2402.14740, eq. 4)."""
    return keep / max(batch.rows, 1)


@REDUCTIONS.register("constant")
def constant(batch: Batch, keep: Tensor, length: int | None = None) -> Tensor:
    """1 / (rows x length), ``length`` being the token budget by default (Dr. GRPO, arXiv 2503.20783, section 3.2)."""
    return keep / (max(batch.rows, 1) * (length or batch.max_tokens))
