"""Seeds of a run's random streams. Every random number of step t is derived from the run's seed, t and its purpose."""

from __future__ import annotations

import numpy as np

ROLLOUT, NOISE, EVALUATION, REPLAY, STREAM, MEASURE = 2, 3, 4, 5, 6, 7
"""Key of each purpose; the warm-up has key 1."""


def derive_seed(*keys: int) -> int:
    """Derive a seed below 2**63 from several numbers."""
    return int(np.random.SeedSequence(list(keys)).generate_state(1, np.uint64)[0] >> 1)
