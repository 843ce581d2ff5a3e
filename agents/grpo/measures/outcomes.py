"""Measures that follow from the outcome of an episode and the limits in force."""

from __future__ import annotations

from ..batch.trajectory import Trajectory
from .producer import measure_of


@measure_of("objective")
def progress_as_objective(trajectory: Trajectory) -> float:
    """The value that a search over solutions maximises: the environment's progress, in [0, 1]."""
    return trajectory.progress


@measure_of("dense_reward")
def progress_as_dense_reward(trajectory: Trajectory) -> float:
    """A dense reward where the environment names none: its progress, in [0, 1]."""
    return trajectory.progress


@measure_of("target_tokens")
def budget_of_tokens(trajectory: Trajectory) -> float:
    """The length that was asked for: the limit on action tokens in force, as a teacher may set it."""
    return float(trajectory.max_tokens)
