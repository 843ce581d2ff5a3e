"""Batch sizes: buckets to which steps of static shape are rounded up, so that few shapes are captured, and padded
batches of token lists. In and out: numbers."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

_ROWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Buckets of rows; above, multiples of 1,024."""

PADDED_TOKENS = 32_768
"""Most tokens that are encoded at once, padding included, but for a single list that is longer."""
_FREE_PADDING = 512
"""Tokens of padding that cost less than another pass."""


def bucket_of(rows: int, slots: int) -> int:
    """Return the number of rows that a step of static shape runs over."""
    if rows > _ROWS[-1]:
        return min(-(-rows // _ROWS[-1]) * _ROWS[-1], slots)
    return min(_ROWS[bisect_left(_ROWS, rows)], slots)


def span_of(length: int, longest: int) -> int:
    """The number of positions that a step of static shape looks back over: 256, 384, 512, 768, 1,024 and so on."""
    power = 256
    while power < length:
        if length <= power * 3 // 2:
            return min(power * 3 // 2, longest)
        power *= 2
    return min(power, longest)


def padded_batches(lengths: Sequence[int], most: int = PADDED_TOKENS) -> list[list[int]]:
    """Cut lists of tokens into batches, the longest first, each padded to its longest list.

    A list joins a batch that is at most twice as wide as the list, or that has little padding.

    Args:
        lengths: lengths of the lists, at least 1 each.
        most: largest number of tokens in a batch, padding included.

    Returns:
        The indices of the lists in each batch.
    """
    batches: list[list[int]] = []
    width = padding = 0
    for number in sorted(range(len(lengths)), key=lambda each: -lengths[each]):
        own = width - lengths[number]
        fits = bool(batches) and width * (len(batches[-1]) + 1) <= most
        if fits and (own <= lengths[number] or padding + own <= _FREE_PADDING):
            batches[-1].append(number)
            padding += own
        else:
            batches.append([number])
            width, padding = lengths[number], 0
    return batches
