"""Measures of an episode that are reported to the teacher with its return, under the names of a teacher's `needs`.

A measure maps one trajectory to one finite number. To add one, register it before training starts:

    @MEASURES.register("transition_loss")
    def transition_loss(trajectory: Trajectory) -> float: ...

Only the measures that the run's teacher needs are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...registry import Registry
from .batch.trajectory import Origin, Trajectory

MEASURES: Registry[Callable[[Trajectory], float]] = Registry("measure", group="palaestra.measures")


@MEASURES.register("policy_entropy")
def sampled_entropy(trajectory: Trajectory) -> float:
    """Mean negative log-probability, nats, of the tokens that the policy sampled: unbiased for its entropy."""
    logps = [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins)
        if origin == Origin.POLICY
    ]
    return -math.fsum(logps) / len(logps) if logps else 0.0
