"""Credit: from the returns of rows to one advantage a row, in three small pieces.

    advantage = scale(return - baseline)

Statistics are taken over the rows of a group by index, never by reshaping, so groups may differ in size.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ...registry import Registry
from .batch import Batch

Return = Callable[..., Tensor]
"""``(batch, **params) -> [S]``"""
Baseline = Callable[..., Tensor]
"""``(returns [S], batch, **params) -> [S]``"""
Scale = Callable[..., Tensor]
"""``(centred returns [S], batch, **params) -> [S]``, the advantages"""

RETURNS: Registry[Return] = Registry("return")
BASELINES: Registry[Baseline] = Registry("baseline")
SCALES: Registry[Scale] = Registry("scale")


def group_sum(value: Tensor, batch: Batch) -> Tensor:
    """Sum of a row value over the row's group, spread back over rows: [S] -> [S]."""
    total = torch.zeros(batch.groups, dtype=value.dtype).index_add_(0, batch.group_of_row, value)
    return total[batch.group_of_row]


def group_size(batch: Batch) -> Tensor:
    """Rows in each row's group, float [S]."""
    return group_sum(torch.ones_like(batch.outcome), batch)


@RETURNS.register("outcome")
def outcome(batch: Batch) -> Tensor:
    """The sum of an episode's rewards."""
    return batch.outcome


@BASELINES.register("none")
def no_baseline(returns: Tensor, batch: Batch) -> Tensor:
    """Zero."""
    return torch.zeros_like(returns)


@BASELINES.register("group_mean")
def group_mean(returns: Tensor, batch: Batch) -> Tensor:
    """Mean return of the group (GRPO, arXiv 2402.03300, section 4.1.2). A group of one gets advantage 0."""
    return group_sum(returns, batch) / group_size(batch)


@BASELINES.register("leave_one_out")
def leave_one_out(returns: Tensor, batch: Batch) -> Tensor:
    """Mean return of the *other* rows of the group (RLOO, arXiv 2402.14740, section 2.3). A group of one gets advantage
    0.
    """
    size = group_size(batch)
    others = (group_sum(returns, batch) - returns) / (size - 1).clamp(min=1)
    return torch.where(size > 1, others, returns)


@SCALES.register("none")
def no_scale(centred: Tensor, batch: Batch) -> Tensor:
    """Centred returns as they are."""
    return centred


@SCALES.register("group_std")
def group_std(centred: Tensor, batch: Batch, ddof: int = 1, eps: float = 1e-4) -> Tensor:
    """Divide by the group's standard deviation plus ``eps`` (GRPO, arXiv 2402.03300, section 4.1.2).

    Released code differs in ``ddof`` and ``eps``; with eight samples ddof 0 instead of 1 makes every advantage 7 %
    larger.
    """
    size = group_size(batch)
    mean = group_sum(centred, batch) / size
    variance = group_sum((centred - mean) ** 2, batch) / (size - ddof).clamp(min=1)
    return centred / (variance.sqrt() + eps)
