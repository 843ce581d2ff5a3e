"""What a run's logs hold, row by row. Nothing here depends on the clock, so logs are as reproducible as the run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...teachers import Proposal
from ..report import Report
from .rollout import Task
from .types import Group, Trajectory


@dataclass(frozen=True)
class Practice:
    """One proposal of the teacher, the task made of it, and the group of episodes played."""

    proposal: Proposal
    task: Task
    group: Group


def evaluation_row(step: int, report: Report) -> dict[str, Any]:
    """A row of ``evaluations.jsonl``."""
    return {
        "step": step,
        "split": report.split,
        "episodes": report.episodes,
        "success": report.success.mean,
        "ci": [report.success.low, report.success.high],
        "by_difficulty": [
            {
                "low": part.low,
                "high": part.high,
                "episodes": part.success.count,
                "success": part.success.mean,
                "ci": [part.success.low, part.success.high],
            }
            for part in report.by_difficulty
        ],
    }


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else 0.0


def step_summary(groups: Sequence[Group]) -> dict[str, float]:
    """What a step's episodes say, for ``metrics.jsonl``; invalid ones are counted and left out of every mean."""
    valid = [trajectory for group in groups for trajectory in group.valid]
    everyone = [trajectory for group in groups for trajectory in group.trajectories]
    terms = sorted({name for trajectory in valid for name in trajectory.shaping})
    return {
        "success": _mean([t.success for t in valid]),
        "reward": _mean([t.env_return for t in valid]),
        "length": _mean([t.action_tokens for t in valid]),
        "turns": _mean([len(t.turns) for t in valid]),
        "truncated_share": _mean([t.truncated for t in valid]),
        "zero_variance_share": _mean([not group.has_variance for group in groups]),
        "invalid_episodes": len(everyone) - len(valid),
        "episodes": len(everyone),
        "tokens": sum(t.action_tokens for t in everyone),
        **{f"shaping/{name}": _mean([t.shaping.get(name, 0.0) for t in valid]) for name in terms},
        # Replaced by the update's own figures; present in every row, also where nothing was trained.
        "loss": 0.0,
        "entropy": 0.0,
        "clip_fraction": 0.0,
    }


def proposal_row(step: int, practice: Practice, space: Any) -> dict[str, Any]:
    """A row of ``proposals.jsonl``: what the teacher asked for, and what came of it; ``space`` is the ParamSpace."""
    group, params = practice.group, dict(practice.task.params)
    valid = group.valid
    return {
        "step": step,
        "task_id": group.trajectories[0].task_id if group.trajectories else "",
        "params": params,
        "unit": [float(u) for u in space.to_unit(params)],
        "difficulty": float(space.difficulty(params)),
        "origin": practice.proposal.origin,
        "n": len(valid),
        "success": _mean([t.success for t in valid]),
        "reward": _mean([t.env_return for t in valid]),
        "length": _mean([t.action_tokens for t in valid]),
    }


def trajectory_row(step: int, trajectory: Trajectory) -> dict[str, Any]:
    """A row of ``trajectories.jsonl``: one episode in full."""
    return {
        "step": step,
        "task_id": trajectory.task_id,
        "params": dict(trajectory.params),
        "difficulty": trajectory.difficulty,
        "turns": [
            {
                "observation": turn.observation,
                "action": turn.action,
                "reward": turn.reward,
                "reward_terms": dict(turn.reward_terms),
                "action_error": turn.action_error,
            }
            for turn in trajectory.turns
        ],
        "return": trajectory.env_return,
        "shaping": dict(trajectory.shaping),
        "is_success": trajectory.success,
        "progress": trajectory.progress,
        "truncated": trajectory.truncated,
        "reward_valid": trajectory.valid,
    }
