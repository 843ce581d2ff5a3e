"""Measures of the tokens as they were sampled; no model is asked."""

from __future__ import annotations

import math

from ..batch.trajectory import Origin, Trajectory
from .producer import measure_of


@measure_of("policy_entropy")
def sampled_entropy(trajectory: Trajectory) -> float:
    """Mean negative log-probability, nats, of the tokens that the policy sampled: unbiased for its entropy."""
    logps = [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins)
        if origin == Origin.POLICY
    ]
    return -math.fsum(logps) / len(logps) if logps else 0.0
