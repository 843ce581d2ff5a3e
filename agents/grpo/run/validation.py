"""Evaluation of the policy during training: the tasks of `palaestra.evaluate`, played as training plays them.

In: a player of the present policy, whose environments draw from the split to evaluate on, and a plan of episodes. Out:
a report. Token budgets, the treatment of long conversations and the precision of the logits are the player's, so that
training and evaluation are the same game.
"""

from __future__ import annotations

from typing import Any

from ...evaluation import Report, make_report
from ...evaluation.episodes import EpisodePlan, EpisodeRecord
from ..batch.trajectory import Trajectory
from ..rollouts.player import Player
from ..rollouts.starts import RolloutTask, Start

AT_ONCE = 256
"""Most episodes that are played side by side."""


def evaluate_policy(player: Player, plan: EpisodePlan, split: str, greedy: bool = False) -> Report:
    """Play a plan of episodes and report them.

    Args:
        plan: the episodes; each has parameters, as it is made for an environment with a parameter space.
        split: the split that the player's environments draw from, for the report.
        greedy: take the likeliest tokens, instead of sampling at the player's temperature.
    """
    temperature = 0.0 if greedy else player.temperature
    records, starts = [], []
    for index in range(plan.episodes):
        record, options = plan.begin(index)
        assert options is not None
        space: Any = plan.space
        params = options["params"] if "params" in options else space.at(options["difficulty"])
        records.append(record)
        starts.append(Start(RolloutTask(params, record.seed, 1), temperature=temperature))
    played = player.play(starts, at_once=AT_ONCE)
    for record, episode in zip(records, played, strict=True):
        _complete(record, episode.trajectory)
    name = "greedy policy" if greedy else "policy"
    return make_report(records, plan.env_id, name, split, plan.seed, return_range=plan.return_range)


def _complete(record: EpisodeRecord, trajectory: Trajectory) -> None:
    """Enter the results of an episode into its record."""
    record.task_id, record.params, record.difficulty = trajectory.task_id, trajectory.params, trajectory.difficulty
    record.reward, record.length = trajectory.env_return, len(trajectory.turns)
    record.success, record.progress = trajectory.success, trajectory.progress
    record.truncated, record.valid = trajectory.truncated, trajectory.valid
