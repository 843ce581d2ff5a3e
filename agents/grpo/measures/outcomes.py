"""Measures computed from the episodes alone: outcomes, limits, answers and sampled tokens; no model is queried."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..batch.trajectory import Group, Origin, Trajectory
from ..components.credit.peers import answer_dispersion
from .producer import Found, ProducerTools, measure_of, produces


@measure_of("objective")
def progress_as_objective(trajectory: Trajectory) -> float:
    """Value that a search over solutions maximises: the environment's progress, in [0, 1]."""
    return trajectory.progress


@measure_of("dense_reward")
def progress_as_dense_reward(trajectory: Trajectory) -> float:
    """Dense reward for environments that name none: the environment's progress, in [0, 1]."""
    return trajectory.progress


@measure_of("target_tokens")
def budget_of_tokens(trajectory: Trajectory) -> float:
    """Target length of an answer: the limit on action tokens in force, which a teacher may set."""
    return float(trajectory.max_tokens)


@measure_of("policy_entropy")
def sampled_entropy(trajectory: Trajectory) -> float:
    """Mean -log p of the tokens that the policy sampled, nats: an unbiased estimate of the policy's entropy."""
    logps = [
        logp
        for turn in trajectory.turns
        for logp, origin in zip(turn.logps, turn.token_origins)
        if origin == Origin.POLICY
    ]
    return -math.fsum(logps) / len(logps) if logps else 0.0


@produces("system_text")
def read_system_texts(groups: Sequence[Group], tools: ProducerTools) -> Found:
    """System text of each episode: the one that the teacher requested, or the run's own; "" without one."""
    own = tools.language.renderer.system or ""
    return [[{"system_text": trajectory.system or own} for trajectory in group.trajectories] for group in groups]


@produces("answer_dispersion")
def dispersion_of_groups(groups: Sequence[Group], tools: ProducerTools, choices: int | None = None) -> Found:
    """Dispersion of the answers of each group, the same number for all its episodes (see
    `components.credit.peers.answer_dispersion`).

    Args:
        choices: number of possible answers to a task; None: the task's number.
    """
    found = [{"answer_dispersion": answer_dispersion(group.valid, choices)} for group in groups]
    return [[value] * len(group.trajectories) for group, value in zip(groups, found, strict=True)]
