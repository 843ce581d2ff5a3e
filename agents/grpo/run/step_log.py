"""Data of a training step, and the rows written about the step to the run's logs and trackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..batch.tally import Tally
from ..batch.trajectory import Group
from ..config import TrainConfig
from ..rollouts.environments import Environments
from .folder import RunFolder
from .logs import PlayedProposal, overlapped_rates, phase_rates, proposal_row, step_summary, token_ages, trajectory_row
from .mixture import summarise_environments
from .trackers import Tracker


@dataclass(frozen=True)
class Collected:
    """Groups of a step.

    Attributes:
        played: the teacher's proposals with their groups, shaping rewards included.
        further_groups: further groups of the rollout strategy, such as a proposer's.
        trainable: groups to train on, after filters and replay.
        requests: statistics of the proposals' requests, for ``metrics.jsonl``.
        overlong: number of proposed tasks whose first observation left no context for an action; they were not played.
    """

    played: list[PlayedProposal]
    further_groups: list[Group]
    trainable: list[Group]
    requests: dict[str, float] = field(default_factory=dict)
    overlong: int = 0

    @property
    def groups(self) -> list[Group]:
        """All groups that were played."""
        return [*(practice.group for practice in self.played), *self.further_groups]


@dataclass(frozen=True)
class StepData:
    """Data that one step trains on.

    Attributes:
        collected: the played groups.
        streams: the groups of each stream.
        teacher: metrics of the curriculum's teacher after it has received the outcomes.
        rollout_s: seconds that the collection took.
        waits: seconds that collection and update waited for each other, by name; {} in synchronous collection.
        state: JSON state from which the collection resumes after this step; "" in synchronous collection, which
            computes it when a checkpoint is saved.
    """

    collected: Collected
    streams: list[list[Group]]
    teacher: Mapping[str, float]
    rollout_s: float
    waits: Mapping[str, float] = field(default_factory=dict)
    state: str = ""


def write_step(
    step: int,
    data: StepData,
    tally: Tally,
    updates: Mapping[str, float],
    weights: Mapping[str, float],
    train_s: float,
    *,
    config: TrainConfig,
    update: Any,
    environments: Environments,
    folder: RunFolder,
    trackers: Sequence[Tracker],
) -> tuple[dict[str, Any], float]:
    """Write the rows of a step to the logs and trackers.

    Args:
        tally: statistics of the losses.
        updates: metrics of the optimiser steps.
        weights: weights of rewards that learn from the updates.
        train_s: seconds of the update.
        update: the `Update`, for its number of epochs and the measures that the recipe names.

    Returns:
        (the step's row of ``metrics.jsonl``, sampled tokens per second).
    """
    collected, groups = data.collected, data.collected.groups
    measures = update.objective.asked_measures
    trained_on: list[Group] = [group for part in (collected.trainable, *data.streams) for group in part]
    metrics: dict[str, Any] = {"step": step, **step_summary(groups, collected.trainable, measures)}
    metrics |= {**tally.means(), **updates}
    metrics |= {**collected.requests, **weights}
    if config.staleness:
        metrics |= token_ages(step, trained_on)
    if environments.families:
        metrics |= summarise_environments(groups)
    if collected.overlong:
        metrics["overlong_prompts"] = collected.overlong
    metrics |= {f"teacher/{name}": value for name, value in data.teacher.items()}
    space = environments.param_space
    kept = [group.trajectories[0] for group in groups if group.trajectories][: config.keep_trajectories]
    folder.append("metrics", [metrics])
    folder.append("proposals", [proposal_row(step, practice, space) for practice in collected.played])
    folder.append("trajectories", [trajectory_row(step, trajectory, measures) for trajectory in kept])
    updated = sum(t.action_tokens for group in trained_on for t in group.valid) * update.epochs
    rate = overlapped_rates if config.staleness else phase_rates
    rates = rate(int(metrics["tokens"]), updated, data.rollout_s, train_s, **data.waits)
    folder.append("timings", [{"step": step, **rates}])
    for tracker in trackers:
        tracker.log(step, {**metrics, **{f"time/{name}": value for name, value in rates.items()}})
    return metrics, rates["tokens_per_s"]
