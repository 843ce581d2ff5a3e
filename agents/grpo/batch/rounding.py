"""Comparison of returns that are sums of floating-point rewards.

Returns that should be equal may differ in their last bits: 0.1 + 0.2 is not 0.3, and a mean of seven 0.1 is not 0.1. A
scale by the standard deviation would turn such a difference into an advantage. Returns are in double precision;
returns that differ by no more than rounding count as equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from .segments import segment_max

ROUNDING = 2.0**-44
"""Difference of two returns, relative to their size, up to which they are equal: 256 units in the last place."""


def exact_sum(values: Iterable[float]) -> float:
    """Sum that does not depend on the order of the values; infinite or NaN where it exceeds double precision."""
    values = list(values)
    try:
        return math.fsum(values)
    except (OverflowError, ValueError):
        return sum(values)


def differ(values: Sequence[float]) -> bool:
    """Return True if two of the values differ by more than rounding."""
    return bool(values) and max(values) - min(values) > ROUNDING * max(map(abs, values))


def subtract(a: Tensor, b: Tensor) -> Tensor:
    """a - b, and exactly 0 where they differ by no more than rounding: [M], [M] -> [M]."""
    gap = a - b
    return torch.where(gap.abs() < ROUNDING * torch.maximum(a.abs(), b.abs()), 0, gap)


def merge_equal(value: Tensor, group: Tensor) -> Tensor:
    """Merge items of a group that differ by no more than rounding into their smallest value, and items that differ as
    little from 0 into 0: [M], int64 [M] -> [M].

    Rounding is relative to the largest magnitude in the group, as its values may be differences of larger numbers.
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
