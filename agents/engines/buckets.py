"""Sizes that steps of static shape are rounded up to, so that few shapes are captured. In and out: numbers."""

from __future__ import annotations

from bisect import bisect_left

_ROWS = (1, 2, 4, 8, 16, 32, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
"""Buckets of rows; above, multiples of 1,024."""


def bucket_of(rows: int, slots: int) -> int:
    """The number of rows that a step of static shape runs over."""
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
