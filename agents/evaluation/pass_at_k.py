"""Estimation of pass@k, the share of tasks that at least one of k samples solves, from groups of n samples.

A large k measures which tasks a policy can solve at all, k = 1 which ones it solves reliably: training that raises
pass@1 and lowers pass@k only sharpens the policy.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

from ...errors import InputError
from .intervals import share_interval
from .report import PassAtK


def pass_at_k(samples: int, successes: int, k: int) -> float:
    """Return 1 - C(n-c, k) / C(n, k), the chance that k of n samples, drawn without replacement, include a success.

    The estimator is unbiased for 1 - (1-p)^k, unlike 1 - (1 - c/n)^k (Chen et al. 2021, arXiv 2107.03374, eq. 1).
    Binomials are exact integers and are divided once, so that nothing overflows or cancels.

    Args:
        samples: n, at least k.
        successes: c, from 0 to n.
        k: at least 1.

    Raises:
        InputError: a count is out of range.
    """
    if not 0 <= successes <= samples:
        raise InputError(f"successes must be in 0 … {samples}, the number of samples, not {successes}.")
    if not 1 <= k <= samples:
        raise InputError(f"k must be in 1 … {samples}, the number of samples, not {k}.")
    every = math.comb(samples, k)
    return (every - math.comb(samples - successes, k)) / every


def pass_at_ks(
    counts: Sequence[tuple[int, int]], ks: Sequence[int] | None = None, tasks: Sequence[Hashable] | None = None
) -> tuple[PassAtK, ...]:
    """Return pass@k for each k, averaged over tasks, with intervals by `share_interval`.

    Args:
        counts: (samples, successes) of each task; numbers of samples may differ. Tasks with fewer than k samples are
            left out of pass@k, and counted in `PassAtK.left_out`.
        ks: values of k; None: `powers_of_two` up to the largest number of samples.
        tasks: identity of the task of each pair, if a task can have several pairs; None: all different.
    """
    if ks is None:
        ks = powers_of_two(max((samples for samples, _ in counts), default=0))
    found = []
    for k in ks:
        kept = [place for place, (samples, _) in enumerate(counts) if samples >= k]
        values = [pass_at_k(*counts[place], k) for place in kept]
        clusters = None if tasks is None else [tasks[place] for place in kept]
        found.append(PassAtK(k, share_interval(values, clusters=clusters), len(counts) - len(values)))
    return tuple(found)


def powers_of_two(largest: int) -> tuple[int, ...]:
    """Return (1, 2, 4, …) up to ``largest``; () for 0."""
    return tuple(1 << power for power in range(largest.bit_length()))
