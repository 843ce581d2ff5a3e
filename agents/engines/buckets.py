"""Batch sizes: buckets to which the shapes of decoding steps are rounded up, so that few shapes are captured as graphs,
and batches of token lists for padding."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence

_ROWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Buckets of rows; above the last one, multiples of 1,024."""

PADDED_TOKENS = 32_768
"""Most tokens in a batch, including padding; only a single list may be longer."""
_FREE_PADDING = 512
"""Number of padding tokens whose cost is below that of another forward pass."""


def bucket_of(rows: int, slots: int) -> int:
    """Round a number of rows up to its bucket, at most ``slots``."""
    if rows > _ROWS[-1]:
        return min(-(-rows // _ROWS[-1]) * _ROWS[-1], slots)
    return min(_ROWS[bisect_left(_ROWS, rows)], slots)


def span_of(length: int, longest: int) -> int:
    """Round a number of positions up to its bucket (256, 384, 512, 768, 1,024, ...), at most ``longest``."""
    power = 256
    while power < length:
        if length <= power * 3 // 2:
            return min(power * 3 // 2, longest)
        power *= 2
    return min(power, longest)


def padded_batches(lengths: Sequence[int], most: int = PADDED_TOKENS) -> list[list[int]]:
    """Group token lists into batches, the longest lists first. Each batch is to be padded to its longest list.

    A list joins the current batch if the batch is at most twice as wide as the list, or has little padding.

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
