"""Sums, means and extremes over segments: tokens of episodes, episodes of groups, units of credit among their peers.

Items with equal numbers form a segment; nothing is padded or reshaped. All functions take a value per item and the
segment of each item. They return a value per segment; those with "shared" in the name return the segment's value at
each of its items. If equal numbers must be contiguous, the function says so.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


def segment_sum(value: Tensor, segment: Tensor, count: int) -> Tensor:
    """Sum the items of each of ``count`` segments, [M], int64 [M] -> [count]; differentiable."""
    return value.new_zeros(count).index_add_(0, segment, value)


def segment_max(value: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return the largest value of each of ``count`` segments, -inf for an empty one: [M], int64 [M] -> [count]."""
    return value.new_full((count,), -torch.inf).scatter_reduce_(0, segment, value, "amax")


def segment_min(value: Tensor, segment: Tensor, count: int) -> Tensor:
    """Return the smallest value of each of ``count`` segments, inf for an empty one: [M], int64 [M] -> [count]."""
    return value.new_full((count,), torch.inf).scatter_reduce_(0, segment, value, "amin")


def segment_starts(segment: Tensor) -> Tensor:
    """Return the mask of the first item of each contiguous segment, bool [M]."""
    start = torch.ones_like(segment, dtype=torch.bool)
    start[1:] = segment[1:] != segment[:-1]
    return start


def segment_places(segment: Tensor) -> Tensor:
    """Return the index of each item within its segment, from 0, int64 [M]; ``segment`` must be non-decreasing."""
    return torch.arange(len(segment)) - torch.searchsorted(segment, segment)


def suffix_sum(value: Tensor, segment: Tensor, decay: float = 1.0) -> Tensor:
    """Compute G_i = value_i + decay x G_{i+1} within each segment, [M] -> [M]; ``segment`` must be non-decreasing.

    Sums are in double precision and never mix segments, so values of other segments cause no rounding.
    """
    total = value.double()
    longest = int(torch.bincount(segment).max()) if len(segment) else 0
    reach = 1
    # Each pass doubles the number of values in a partial sum.
    while reach < longest:
        ahead = torch.where(segment[reach:] == segment[:-reach], total[reach:], 0)
        total = torch.cat((total[:-reach] + decay**reach * ahead, total[-reach:]))
        reach *= 2
    return total.to(value.dtype)


def prefix_mean(value: Tensor, segment: Tensor) -> Tensor:
    """Return the running mean within each segment, [M] -> float64 [M]; ``segment`` must be non-decreasing."""
    if not len(value):
        return value.double()
    begin = torch.searchsorted(segment, segment)
    running = value.double().cumsum(0)
    before = running[begin] - value.double()[begin]
    return (running - before) / (segment_places(segment) + 1)


def number_combinations(*keys: Tensor) -> Tensor:
    """Number the distinct combinations of integer keys from 0: [M], [M], ... -> int64 [M]."""
    return torch.unique(torch.stack(keys), dim=1, return_inverse=True)[1]


@dataclass(frozen=True, eq=False)
class Segments:
    """Segment of each of M items.

    Attributes:
        of: segment of each item, int64 [M].
        count: number of segments, K.
        counted: mask of the items that count in sums, means and pairs, bool [M]; None: all.
    """

    of: Tensor
    count: int
    counted: Tensor | None = None

    def sum(self, value: Tensor) -> Tensor:
        """Sum the counted items of each segment, [M] -> [K]; differentiable."""
        if self.counted is not None:
            value = torch.where(self.counted, value, 0.0)
        return segment_sum(value, self.of, self.count)

    def mean(self, value: Tensor) -> Tensor:
        """Average the counted items of each segment, [M] -> [K]; 0 for a segment without any; differentiable."""
        return self.sum(value) / self.sum(torch.ones_like(value)).clamp(min=1)

    def expand(self, value: Tensor) -> Tensor:
        """Repeat a value per segment at each of its items, [K] -> [M]."""
        return value[self.of]

    def shared_sum(self, value: Tensor) -> Tensor:
        """Return the sum over the counted items of each item's segment, [M] -> [M]; differentiable."""
        return self.sum(value)[self.of]

    def shared_size(self, like: Tensor) -> Tensor:
        """Return the number of counted items in each item's segment, at least 1, [M], in the precision of ``like``."""
        return self.shared_sum(torch.ones_like(like)).clamp(min=1)

    def shared_mean(self, value: Tensor, weight: Tensor | None = None) -> Tensor:
        """Return the mean over the counted items of each item's segment, [M] -> [M]; differentiable.

        The mean of equal values is exactly that value, and a constant added to all values adds exactly to the mean.

        Args:
            weight: weight of each item, at least 0, [M]; in segments without a positive weight all items count alike.
        """
        if weight is None:
            level = self._largest(value.detach())
            return level + self.shared_sum(value - level) / self.shared_size(value)
        weighty, total = weight > 0, self.shared_sum(weight)
        level = self._largest(torch.where(weighty, value.detach(), -torch.inf))
        offsets = self.shared_sum(torch.where(weighty, weight * (value - level), 0.0))
        return torch.where(total > 0, level + offsets / total.where(total > 0, 1), self.shared_mean(value))

    def shared_std(self, value: Tensor, ddof: float) -> Tensor:
        """Return the standard deviation over each item's segment, [M] -> [M]; 0 for a segment of one item.

        The sum of squares is divided by the number of items minus ``ddof``, at least 1.
        """
        offset = value - self.shared_mean(value)
        # Scaled first: the squares of large offsets would overflow.
        size = self._largest(offset.detach().abs())
        squares = self.shared_sum((offset / size.where(size > 0, 1)) ** 2)
        return size * (squares / (self.shared_size(value) - ddof).clamp(min=1)).sqrt()

    def shared_max(self, value: Tensor) -> Tensor:
        """Return the largest value in each item's segment, counted or not, [M] -> [M]."""
        return segment_max(value, self.of, self.count)[self.of]

    def _largest(self, value: Tensor) -> Tensor:
        """Return the largest value of the counted items of each item's segment, [M]; 0 if that value is not finite."""
        largest = self.shared_max(value if self.counted is None else torch.where(self.counted, value, -torch.inf))
        return torch.where(largest.isfinite(), largest, 0)

    def first(self) -> Tensor:
        """Return the mask of the first item of each segment, counted or not, bool [M]."""
        items = torch.arange(len(self.of))
        first = torch.full((self.count,), len(self.of)).scatter_reduce_(0, self.of, items, "amin")
        return items == first[self.of]

    def pairs(self, rank: Tensor) -> tuple[Tensor, Tensor]:
        """Return every pair of counted items in one segment with unequal ``rank`` [M].

        Returns:
            (items of higher rank, items of lower rank), int64 [P] each.
        """
        together = self.of[:, None] == self.of[None, :]
        if self.counted is not None:
            together = together & self.counted[:, None] & self.counted[None, :]
        higher, lower = (together & (rank[:, None] > rank[None, :])).nonzero(as_tuple=True)
        return higher, lower

    def shared_pair_mean(self, item: Tensor, pair_value: Tensor) -> Tensor:
        """Return the mean of a pair value [P] over the pairs of each item's segment, [M]; 0 in segments without pairs.

        Args:
            item: one item of each pair, int64 [P].
        """
        segment = self.of[item]
        total = segment_sum(pair_value, segment, self.count)
        size = segment_sum(torch.ones_like(pair_value), segment, self.count)
        return (total / size.clamp(min=1))[self.of]
