"""Rewards of the shaping stage, added to the episodes that are not judged yet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from .... import rewards
from ....rewards.attempt import attempt
from .trajectory import Group, Trajectory, Turn

TokensUntil = Callable[[Turn, int], int]
"""(turn, n) -> number of the action's tokens that cover the first n characters of its text."""


def judge_groups(
    judges: Sequence[rewards.Reward], groups: Sequence[Group], tokens_until: TokensUntil | None = None
) -> list[Group]:
    """Add the verdicts of rewards to the episodes that are not judged yet (`Trajectory.judged`).

    Judged episodes stay unchanged and do not influence the verdicts on others. An invalid verdict makes its trajectory
    invalid; it is not a reward of 0.

    Args:
        tokens_until: places rewards of parts of an action; by default at the end of the action.
    """
    tokens_until = tokens_until or (lambda turn, characters: len(turn.act_ids))
    shaped = [tuple(t for t in group.trajectories if not t.judged) for group in groups]
    for reward in judges:
        episodes = [[trajectory.episode for trajectory in members] for members in shaped]
        judged = attempt(reward.batch, episodes)
        if isinstance(judged, str):  # The reward as a whole failed.
            failed = rewards.Verdict(0.0, False, valid=False, feedback=judged)
            judged = [[failed] * len(members) for members in shaped]
        shaped = [
            tuple(_add_verdict(t, reward, verdict, tokens_until) for t, verdict in zip(members, verdicts, strict=True))
            for members, verdicts in zip(shaped, judged, strict=True)
        ]
    result = []
    for group, members in zip(groups, shaped, strict=True):
        fresh = iter(replace(trajectory, judged=True) for trajectory in members)
        every = tuple(t if t.judged else next(fresh) for t in group.trajectories)
        result.append(replace(group, trajectories=every))
    return result


def _add_verdict(
    trajectory: Trajectory, reward: rewards.Reward, verdict: rewards.Verdict, tokens_until: TokensUntil
) -> Trajectory:
    """Return the trajectory with a verdict's terms, and its rewards of turns and of parts of actions, added."""
    terms = verdict.terms or {reward.name: verdict.score}
    # Terms of the same name from two rewards add up.
    total = {name: trajectory.shaping.get(name, 0.0) + value for name, value in terms.items()}
    turns = list(trajectory.turns)
    for name, values in verdict.steps.items():
        for number, value in enumerate(values):
            turn = turns[number]
            known = {**turn.shaping_terms, name: turn.shaping_terms.get(name, 0.0) + value}
            turns[number] = replace(turn, shaping=turn.shaping + value, shaping_terms=known)
    for span in verdict.spans:
        turn = turns[span.turn]
        turns[span.turn] = replace(turn, spans=(*turn.spans, (tokens_until(turn, span.stop), span.reward)))
    error, remark = trajectory.error, verdict.feedback
    if not verdict.valid:
        error, remark = error or f"the reward {reward.name!r}: {remark or 'it could not be determined'}", ""
    return replace(
        trajectory,
        turns=tuple(turns),
        shaping={**trajectory.shaping, **total},
        remarks="\n".join(filter(None, (trajectory.remarks, remark))),
        error=error,
        stepwise=trajectory.stepwise or bool(verdict.steps),
        replaced=trajectory.replaced or reward.complete,
        valid=trajectory.valid and verdict.valid,
        extras={**trajectory.extras, **report} if (report := reward.report(verdict)) else trajectory.extras,
    )
