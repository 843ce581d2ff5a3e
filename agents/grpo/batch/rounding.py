"""Comparison of returns that are sums of floating-point rewards.

Returns that should be equal may differ in their last bits: 0.1 + 0.2 is not 0.3, and the mean of seven 0.1 is not 0.1.
Division by the standard deviation would blow such a difference up into an advantage. So returns are in double
precision, and returns that differ by no more than `ROUNDING` count as equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .segments import segment_max

ROUNDING = 2.0**-44
"""Largest relative difference of two returns that count as equal: 256 units in the last place."""


def exact_sum(values: Iterable[float]) -> float:
    """Return the sum, independent of the order of the values; infinite or NaN if it exceeds double precision."""
    values = list(values)
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values)


def differ(values: Sequence[float]) -> bool:
    """Return True if two of the values differ by more than rounding."""
    return bool(values) and max(values) - min(values) > ROUNDING * max(map(abs, values))


def subtract_beyond_rounding(a: Tensor, b: Tensor) -> Tensor:
    """Return a - b, exactly 0 where both differ by no more than rounding: [M], [M] -> [M]."""
    gap = a - b
    return torch.where(gap.abs() < ROUNDING * torch.maximum(a.abs(), b.abs()), 0, gap)


def merge_equal(value: Tensor, group: Tensor) -> Tensor:
    """Make values of a group equal that differ by no more than rounding: [M], int64 [M] -> [M].

    In each run of sorted values without a larger gap, all become the smallest; values as close to 0 become 0. The
    tolerance is relative to the largest magnitude in the group, as the values may be differences of larger numbers.
    """
    if not len(value):
        return value
    size = segment_max(value.abs(), group, int(group.max()) + 1)
    size = torch.where(size.isfinite(), size, 0)
    by_value = value.argsort(stable=True)
    order = by_value[group[by_value].argsort(stable=True)]
    ordered, among = value[order], group[order]
    begins = torch.ones_like(group, dtype=torch.bool)
    begins[1:] = (among[1:] != among[:-1]) | (ordered[1:] - ordered[:-1] > ROUNDING * size[among[1:]])
    merged = torch.empty_like(value)
    merged[order] = ordered[begins][begins.cumsum(0) - 1]
    return torch.where(merged.abs() <= ROUNDING * size[group], 0, merged)
