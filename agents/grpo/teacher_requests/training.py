"""Requests on how a group is trained: weights, KL penalty, a band of success rates, earlier episodes, pairs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..batch.trajectory import Trajectory
from .requests import Assignment, RequestContext, request_handler


@request_handler("weight", "train")
def weigh_groups(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Multiply the weights of the group's tokens in the loss by the requested factor."""
    _apply_factors(assignments, "weight", lambda t, factor: {"weight": factor})


@request_handler("kl_scale", "train")
def scale_penalties(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Multiply the KL penalties on the group's tokens by the requested factor (CLPO, arXiv 2509.25004)."""
    _apply_factors(assignments, "kl_scale", lambda t, factor: {"kl_scale": factor})


@request_handler("success_weight", "train")
def weigh_successes(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Multiply the advantages of successful episodes by the requested factor (Weighted GRPO, arXiv 2602.03452)."""
    _apply_factors(
        assignments,
        "success_weight",
        lambda t, factor: {"advantage_weight": t.advantage_weight * (factor if t.success else 1.0)},
    )


@request_handler("failure_weight", "train")
def weigh_failures(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Multiply the advantages of failed episodes by the requested factor.

    A factor on the reward would be cancelled by the normalisation within the group.
    """
    _apply_factors(
        assignments,
        "failure_weight",
        lambda t, factor: {"advantage_weight": t.advantage_weight * (1.0 if t.success else factor)},
    )


def _apply_factors(
    assignments: Sequence[Assignment], name: str, change: Callable[[Trajectory, float], Mapping[str, Any]]
) -> None:
    """Set the fields that ``change(trajectory, factor)`` returns, ``factor`` being the request called ``name``."""
    for assignment in assignments:
        factor = float(assignment.request(name))
        assignment.change_each(lambda t, factor=factor: change(t, factor))
        assignment.done[name] = factor


@request_handler("band", "train")
def refuse_outside_band(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Train only on groups whose success rate lies inside the open band (arXiv 2504.03380).

    The rate is over the episodes that are reported to the teacher, even if the rollout strategy dropped some; over the
    group if none are.
    """
    for assignment in assignments:
        attempts = context.player.attempts.get(assignment.proposal.id, assignment.group.trajectories)
        successes = [trajectory.success for trajectory in attempts if trajectory.valid]
        low, high = assignment.request("band")
        inside = bool(successes) and low < sum(successes) / len(successes) < high
        assignment.trained &= inside
        assignment.done["band"] = "inside" if inside else "outside"


@request_handler("pair", "train")
def mark_pairs(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Mark two groups that must be trained in one optimiser step with the same number (arXiv 2602.03452)."""
    for assignment in assignments:
        assignment.group = replace(assignment.group, pair=int(assignment.request("pair")))
        assignment.done["pair"] = "marked"


@request_handler("joins", "group")
def add_screening_episodes(assignments: Sequence[Assignment], context: RequestContext) -> None:
    """Add the episodes of earlier proposals that screened the task to its group (SPEED, arXiv 2506.09016)."""
    for assignment in assignments:
        earlier = []
        for id in assignment.request("joins"):
            for trajectory in context.screened.pop(id, ()):
                # Keys of nodes from another tree must differ from the group's.
                nodes = tuple(replace(node, key=f"proposal {id}: {node.key}") for node in trajectory.nodes)
                earlier.append(replace(trajectory, nodes=nodes))
        group = assignment.group
        drawn = (*group.drawn, *(t.outcome for t in earlier)) if group.drawn else ()
        assignment.group = replace(group, trajectories=(*group.trajectories, *earlier), drawn=drawn)
        assignment.joined = len(earlier)
        assignment.done["joins"] = len(earlier)
