"""Sampling noise: uniform numbers that depend only on a request's key and on the position in the answer.

A sample therefore does not depend on the other rows of the batch, on their order or on the number of slots, and a
repeated request gets the same answer. The numbers come from a mixing hash of 32-bit words, computed in 64-bit integers
without overflow, which gives the same bits on every device.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from torch import Tensor

_WORD, _LONG = 0xFFFFFFFF, (1 << 64) - 1
_GOLDEN = 0x9E3779B1
"""Odd, near 2**32 over the golden ratio: neighbouring positions are far apart before they are mixed."""


def noise_seed(*parts: int) -> int:
    """Derive a seed below 2**63 from non-negative numbers of any size."""
    return int(np.random.SeedSequence(parts).generate_state(1, np.uint64)[0] >> 1)


def noise_key(seed: int) -> tuple[int, int]:
    """Return the two 32-bit halves of a request's key; similar seeds give unrelated keys."""
    key = 0
    while True:  # a word of 64 bits at a time, mixed as in SplitMix64; a tenth of the time of a SeedSequence
        key = (key ^ seed & _LONG) + 0x9E3779B97F4A7C15 & _LONG
        key = (key ^ key >> 30) * 0xBF58476D1CE4E5B9 & _LONG
        key = (key ^ key >> 27) * 0x94D049BB133111EB & _LONG
        key ^= key >> 31
        seed >>= 64
        if not seed:
            return key >> 32, key & _WORD


def uniforms(keys: Tensor, positions: Tensor) -> Tensor:
    """Return uniform numbers in [0, 1), multiples of 2**-52, as float64 [K, R].

    Args:
        keys: int64 [2, R], the halves of each row's key (`noise_key`).
        positions: int64 [K, R], positions in the answers, below 2**31.
    """
    mixed = _mix_(((positions * _GOLDEN)[None] + keys[:, None]).bitwise_and_(_WORD))
    high, low = _mix_(mixed.bitwise_xor_(keys.flip(0)[:, None]))
    return high.mul_(1 << 20).add_(low >> 12).double().mul_(2.0**-52)


def _mix_(x: Tensor) -> Tensor:
    """Mix 32-bit words in int64, in place: a bijection in which every bit depends on all others.

    The constants come from Wellons' search for hash functions (hash-prospector); both are below 2**31, so that no
    product exceeds 63 bits.
    """
    for shift, factor in ((16, 0x21F0AAAD), (15, 0x735A2D97)):
        x.bitwise_xor_(x >> shift).mul_(factor).bitwise_and_(_WORD)
    return x.bitwise_xor_(x >> 15)
