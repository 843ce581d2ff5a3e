"""What the learner tells a teacher of an episode beside its return, by the names that teachers use in `needs`.

A measure is a function of one trajectory that gives one finite number. One's own joins with

    @MEASURES.register("transition_loss")
    def transition_loss(trajectory: Trajectory) -> float: ...

before training starts; only those that the run's teacher needs are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from ...registry import Registry
from .batch.trajectory import Origin, Trajectory

MEASURES: Registry[Callable[[Trajectory], float]] = Registry("measure", group="palaestra.measures")


@MEASURES.register("policy_entropy")
def sampled_entropy(trajectory: Trajectory) -> float:
    """Nats per token that the policy sampled: what it drew was this improbable on average, an unbiased estimate."""
    logps = [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins)
        if origin == Origin.POLICY
    ]
    return -math.fsum(logps) / len(logps) if logps else 0.0
