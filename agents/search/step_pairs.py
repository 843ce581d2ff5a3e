"""Better and worse steps after the same prefix, as preferences (rStar-Math, arXiv 2501.04519)."""

from __future__ import annotations

from dataclasses import replace

from ..grpo.batch.trajectory import Group, Origin, Trajectory
from ..grpo.rollouts.episode_tree import place_of
from .step_tree import StepNode, StepTree


def step_pairs(tree: StepTree, each: int = 2, most: int = 4, least: float = 0.0) -> list[Group]:
    """Return groups of up to ``each`` best and ``each`` worst next steps of a prefix, the widest gaps first.

    Every episode ends with the step: the prefix is a hint, which is not trained, and the outcome is 1 for a better and
    0 for a worse step. A preference loss over the pairs of a group, such as "dpo", is then rStar-Math's mean over the
    2 x 2 pairs. The value of a step is the mean over the episodes through it.

    Args:
        each: number of better and of worse steps.
        most: largest number of groups.
        least: least difference of the mean values of better and worse steps; it must be exceeded.
    """
    found: list[tuple[float, Group]] = []
    for node in tree.root.walk():
        steps = sorted((child for child in node.children if child.visits), key=lambda child: -child.mean)
        count = min(each, len(steps) // 2)
        if not count:
            continue
        better, worse = steps[:count], steps[-count:]
        gap = (sum(step.mean for step in better) - sum(step.mean for step in worse)) / count
        if gap > least and better[-1].mean > worse[0].mean:
            members = (*(_end_at(tree, step, 1.0) for step in better), *(_end_at(tree, step, 0.0) for step in worse))
            found.append((gap, Group(-1, members)))
    return [group for _, group in sorted(found, key=lambda pair: -pair[0])[:most]]


def _end_at(tree: StepTree, node: StepNode, outcome: float) -> Trajectory:
    """Return the episode up to a step, with the prefix as a hint and a given outcome."""
    trajectory = tree.members[node.member].trajectory
    last, inside = place_of(trajectory, node.end - 1)
    # Not the parent's end: a merged parent may be of another episode.
    given, turns = node.end - len(node.ids), []
    for turn in trajectory.turns[: last + 1]:
        size = len(turn.act_ids) if len(turns) < last else inside + 1
        hinted = min(given, size)
        own = [Origin.POLICY if o == Origin.COPY else o for o in turn.token_origins[hinted:size]]
        turns.append(
            replace(
                turn,
                act_ids=turn.act_ids[:size],
                logps=(0.0,) * hinted + turn.logps[hinted:size],
                origins=(int(Origin.HINT),) * hinted + tuple(map(int, own)),
                entropies=(),
                finish=turn.finish if size == len(turn.act_ids) else "length",
            )
        )
        given -= hinted
    whole = node.end == trajectory.action_tokens
    return replace(
        trajectory,
        turns=tuple(turns),
        success=whole and trajectory.success,
        truncated=not whole,
        progress=trajectory.progress if whole else 0.0,
        nodes=(),
        judged=True,
        replaced=True,
        shaping={"preference": outcome},
    )
