"""Evaluation of the policy during training: the tasks of `palaestra.evaluate`, played as training plays them.

Input: a player of the current policy, whose environments draw from the split to evaluate on, and a plan of episodes.
Output: a report. Token budgets, the treatment of long conversations and the precision of logits are the player's, so
that evaluation and training play under the same conditions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from ...evaluation import Report, make_report
from ...evaluation.episodes import EpisodePlan, EpisodeRecord
from ..rollouts.episode_player import EpisodePlayer
from ..rollouts.episode_starts import RolloutTask, Start

AT_ONCE = 256
"""Most episodes played at the same time."""


def evaluate_policy(
    player: EpisodePlayer, plan: EpisodePlan, split: str, greedy: Sequence[bool] = (False,)
) -> list[Report]:
    """Play a plan of episodes and report on them.

    Args:
        plan: the episodes, for an environment with a parameter space.
        split: split that the player's environments draw from, for the report.
        greedy: modes of playing: True takes the likeliest tokens, False samples at the player's temperature. Every task
            is played in all modes at the same time, so that its prompt is encoded once.

    Returns:
        One report per mode.
    """
    records: list[list[EpisodeRecord]] = []
    starts = []
    for index in range(plan.episodes):
        record, options = plan.begin(index)
        assert options is not None
        space: Any = plan.space
        params = options["params"] if "params" in options else space.at(options["difficulty"])
        records.append([replace(record) for _ in greedy])
        task = RolloutTask(params, record.seed, 1)
        starts += [Start(task, temperature=0.0 if likeliest else player.temperature) for likeliest in greedy]
    played = player.play(starts, at_once=AT_ONCE)
    for record, episode in zip(chain.from_iterable(records), played, strict=True):
        t = episode.trajectory
        record.task_id, record.params, record.difficulty = t.task_id, t.params, t.difficulty
        record.reward, record.length = t.env_return, len(t.turns)
        record.success, record.progress = t.success, t.progress
        record.truncated, record.valid = t.truncated, t.valid
    return [
        make_report(list(own), plan.env_id, name, split, plan.seed, return_range=plan.return_range)
        for own, name in zip(zip(*records), ["greedy policy" if one else "policy" for one in greedy], strict=True)
    ]
