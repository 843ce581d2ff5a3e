"""Rows of a run's logs, computed from proposals, groups, updates and evaluations.

Only `phase_rates` and `overlapped_rates`, which go to a separate log, depend on the clock. No row depends on the order
in which episodes ended, so logs are as reproducible as the run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ....teachers import Proposal
from ...evaluation import Report
from ...evaluation.pass_at_k import pass_at_ks, powers_of_two
from ..batch.trajectory import Group, Origin, Trajectory, to_plain

if TYPE_CHECKING:
    from ..rollouts.episode_starts import RolloutTask


@dataclass(frozen=True)
class PlayedProposal:
    """Proposal of the teacher with its task, the played group of episodes, and the result of each request (number or
    word)."""

    proposal: Proposal
    task: RolloutTask
    group: Group
    done: Mapping[str, Any] = field(default_factory=dict)


def evaluation_row(step: int, report: Report, greedy: Report | None = None) -> dict[str, Any]:
    """Return a row of ``evaluations.jsonl``.

    Args:
        report: report on sampled episodes.
        greedy: report on episodes at temperature 0 on the same tasks.
    """
    greedy_interval = [] if greedy is None else [greedy.success.low, greedy.success.high]
    return {
        "step": step,
        "split": report.split,
        "episodes": report.episodes,
        "success": report.success.mean,
        "ci": [report.success.low, report.success.high],
        **({} if greedy is None else {"greedy_success": greedy.success.mean, "greedy_ci": greedy_interval}),
        **({"invalid": report.invalid} if report.invalid else {}),
        **({"pass_at_k": [item.to_json() for item in report.pass_at_k]} if report.pass_at_k else {}),
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


def _quantile(values: Sequence[float], share: float) -> float:
    return float(np.quantile(values, share)) if values else 0.0


def step_summary(
    groups: Sequence[Group], trained: Sequence[Group] = (), measures: Collection[str] = ()
) -> dict[str, float]:
    """Return statistics of a step's episodes for ``metrics.jsonl``.

    Means are over the valid episodes that the policy sampled; invalid episodes, and episodes that the policy did not
    sample, are only counted. Lengths are in action tokens. pass@k is over the tasks, or over each role in them, without
    episodes to which part of the solution was revealed, and without tasks of which only a selection of episodes was
    kept; its interval is `report.share_interval`. Without any episodes the means are left out.

    Args:
        groups: all groups of this step, before any filter.
        trained: groups of the update, for the age of replayed episodes: the number of optimiser batches by which their
            policy is older than the newest one in ``groups``.
        measures: names of measures to average; numbers in lists count one by one, other values are skipped.
    """
    played = [list(_sampled_episodes(group)) for group in groups]
    own = [trajectory for members in played for trajectory in members]
    everyone = [trajectory for group in groups for trajectory in group.trajectories]
    counts = {
        "invalid_episodes": sum(not t.valid for t in everyone),
        "episodes": len(everyone),
        "tokens": sum(t.action_tokens for t in everyone),
    }
    if not everyone:
        return counts | _UNTRAINED
    lengths = [t.action_tokens for t in own]
    wins = [[t.success for t in members] for members in played if members]
    summary: dict[str, float] = {
        "success": _mean([t.success for t in own]),
        "reward": _mean([t.env_return for t in own]),
        "length": _mean(lengths),
        "length_median": _quantile(lengths, 0.5),
        "length_p90": _quantile(lengths, 0.9),
        "length_max": float(max(lengths, default=0)),
        "turns": _mean([len(t.turns) for t in own]),
        "truncated_share": _mean([t.truncated for t in own]),
        "zero_variance_share": _mean(
            [not group.has_variance for group in groups if group.valid or not group.trajectories]
        ),
        "solved_share": _mean([all(one) for one in wins]),
        "failed_share": _mean([not any(one) for one in wins]),
        "hinted_share": _mean([t.guided > 0 for t in own]),
        **counts,
    }
    for role in sorted({t.role for t in own if t.role}):
        summary[f"success/{role}"] = _mean([t.success for t in own if t.role == role])
    for name in sorted({name for t in own for name in t.shaping}):
        summary[f"shaping/{name}"] = _mean([t.shaping.get(name, 0.0) for t in own])
    for name in sorted(measures):
        values = [number for t in own for number in _numbers(t.extras.get(name))]
        if values:
            summary[f"measure/{name}"] = _mean(values)
    summary |= _pass_at_k(groups) | _ages(own, trained)
    return summary | _UNTRAINED


_UNTRAINED = {"loss": 0.0, "entropy": 0.0, "clip_fraction": 0.0}
"""Default values, so that the row of a step without an update has these keys too; an update overrides them."""


def _numbers(value: Any) -> list[float]:
    """Return the finite numbers of a measure that is a number or a list."""
    listed = value if isinstance(value, list | tuple) else [value]
    return [float(x) for x in listed if isinstance(x, int | float | np.number) and math.isfinite(x)]


def _sampled_episodes(group: Group) -> Iterator[Trajectory]:
    """Return the valid episodes that the policy sampled."""
    return (t for t in group.valid if t.version >= 0)


def _pass_at_k(groups: Sequence[Group]) -> dict[str, float]:
    sizes: Counter[tuple[int, str]] = Counter()
    wins: Counter[tuple[int, str]] = Counter()
    largest = 0
    for number, group in enumerate(groups):
        largest = max([largest, *Counter(t.role for t in group.trajectories).values()])
        selected = len(group.drawn) > len(group.trajectories)
        for t in group.trajectories:
            counts = t.valid and t.version >= 0 and not t.guided and not selected
            sizes[number, t.role] += counts
            wins[number, t.role] += counts and t.success
    found = {}
    for item in pass_at_ks([(size, wins[key]) for key, size in sizes.items()], powers_of_two(largest)):
        if item.estimate.count:
            found[f"pass@{item.k}"] = item.estimate.mean
            found[f"pass@{item.k}_low"] = item.estimate.low
            found[f"pass@{item.k}_high"] = item.estimate.high
        found[f"pass@{item.k}_left_out"] = item.left_out
    return found


def _ages(played: Sequence[Trajectory], trained: Sequence[Group]) -> dict[str, float]:
    """Return share and mean age of replayed episodes among the trained ones; {} if none were trained."""
    if not trained:
        return {}
    seen = [t for group in trained for t in _sampled_episodes(group)]
    newest = max((t.version for t in played), default=max((t.version for t in seen), default=0))
    ages = [newest - t.version for t in seen if t.version < newest]
    return {"replayed_share": len(ages) / len(seen) if seen else 0.0, "replayed_age": _mean(ages)}


def token_ages(step: int, trained: Sequence[Group]) -> dict[str, float]:
    """Return mean and largest age of the policy's tokens in a step's update; {} without such tokens.

    The age is the number of updates since the token was sampled.

    Args:
        step: number of the step, from 1.
        trained: groups of the update, including the streams' groups.
    """
    count: Counter[int] = Counter()
    for trajectory in (t for group in trained for t in _sampled_episodes(group)):
        sampled = sum(origin in _SAMPLED for turn in trajectory.turns for origin in turn.token_origins)
        count[step - 1 - trajectory.version] += sampled
    total = count.total()
    if not total:
        return {}
    mean = sum(age * tokens for age, tokens in count.items()) / total
    return {"token_age": mean, "token_age_max": float(max(age for age, tokens in count.items() if tokens))}


_SAMPLED = (Origin.POLICY, Origin.COPY)


def overlapped_rates(
    rollout_tokens: float,
    train_tokens: float,
    rollout_s: float,
    train_s: float,
    *,
    update_wait_s: float,
    **waits: float,
) -> dict[str, float]:
    """Return the rates of `phase_rates` for asynchronous training, in which the next batches are played during the
    update.

    Args:
        update_wait_s: seconds that the update waited for this batch; the step takes this time plus ``train_s``.
        waits: seconds of further waits by name; they are in parallel to the step and do not count towards it.
    """
    rates = phase_rates(rollout_tokens, train_tokens, rollout_s, train_s)
    seconds = update_wait_s + train_s
    overall = {"seconds": seconds, "tokens_per_s": _rate(rollout_tokens, seconds)}
    return {**rates, **overall, "update_wait_s": update_wait_s, **waits}


def phase_rates(
    rollout_tokens: float, train_tokens: float, rollout_s: float, train_s: float, **other_s: float
) -> dict[str, float]:
    """Return a step's wall-clock seconds and tokens per second, by phase, for ``timings.jsonl``.

    Args:
        rollout_tokens: number of action tokens sampled.
        train_tokens: number of action tokens in the update, counted once per pass over them.
        rollout_s, train_s: seconds of the two phases.
        other_s: seconds of further phases by name, ``score_s=0.2``; they count towards the whole step.

    Returns:
        "seconds" of the step, the seconds of each phase, "rollout_tokens_per_s", "train_tokens_per_s", and
            "tokens_per_s", the sampled tokens per second of the whole step. The rate of a phase that took no time is 0.
    """
    seconds = rollout_s + train_s + sum(other_s.values())
    return {
        "seconds": seconds,
        "rollout_s": rollout_s,
        "train_s": train_s,
        **other_s,
        "rollout_tokens_per_s": _rate(rollout_tokens, rollout_s),
        "train_tokens_per_s": _rate(train_tokens, train_s),
        "tokens_per_s": _rate(rollout_tokens, seconds),
    }


def _rate(tokens: float, seconds: float) -> float:
    return tokens / seconds if seconds > 0 else 0.0


def proposal_row(step: int, practice: PlayedProposal, space: Any) -> dict[str, Any]:
    """Return a row of ``proposals.jsonl``: a proposal, its outcome, and the results of its requests, if any.

    ``space`` is the ParamSpace of the environment. The success of a group without a valid episode is None.
    """
    group, params = practice.group, dict(practice.task.params)
    valid = group.valid
    unit = dict(zip(space.names, space.to_unit(params).tolist()))
    meta = practice.proposal.meta
    requests = {"train": practice.proposal.train, "asked": dict(meta), "done": dict(practice.done)} if meta else {}
    return {
        "step": step,
        "task_id": group.trajectories[0].task_id if group.trajectories else "",
        "params": params,
        "unit": [unit[name] for name in params],
        "difficulty": float(space.difficulty(params)),
        "origin": practice.proposal.origin,
        "n": len(valid),
        "success": _mean([t.success for t in valid]) if valid else None,
        "reward": _mean([t.env_return for t in valid]),
        "length": _mean([t.action_tokens for t in valid]),
        **requests,
    }


def trajectory_row(step: int, trajectory: Trajectory, measures: Collection[str] = ()) -> dict[str, Any]:
    """Return a row of ``trajectories.jsonl``: one episode in full, with the reference answer if the environment
    supplies one, and the named measures."""
    measured = {name: trajectory.extras[name] for name in sorted(measures) if name in trajectory.extras}
    reference = trajectory.turns[-1].extras.get("reference") if trajectory.turns else None
    return {
        "step": step,
        "task_id": trajectory.task_id,
        "params": dict(trajectory.params),
        "difficulty": trajectory.difficulty,
        **({"role": trajectory.role} if trajectory.role else {}),
        **({"system": trajectory.system} if trajectory.system else {}),
        "turns": [
            {
                "observation": turn.observation,
                "action": turn.action,
                "reward": turn.reward,
                "reward_terms": dict(turn.reward_terms),
                "action_error": turn.action_error,
                "feedback": turn.feedback,
                **({"shaping_terms": dict(turn.shaping_terms)} if turn.shaping_terms else {}),
            }
            for turn in trajectory.turns
        ],
        "reference": None if reference is None else str(reference),
        "return": trajectory.env_return,
        "shaping": dict(trajectory.shaping),
        **({"program_value": value} if (value := trajectory.extras.get("program_value")) else {}),
        **({"measures": to_plain(measured)} if measured else {}),
        "is_success": trajectory.success,
        "progress": trajectory.progress,
        "truncated": trajectory.truncated,
        "reward_valid": trajectory.valid,
        **({} if trajectory.valid else {"error": trajectory.error}),
    }
