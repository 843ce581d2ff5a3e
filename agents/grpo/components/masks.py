"""Masks: functions that select the tokens to train, bool [N].

Masked tokens count in no denominator of the loss; unmasked tokens with advantage 0 do. Masks that select a share of the
tokens keep all tokens that tie with the last one kept, so that the order of rows does not matter.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ....checks import check_number
from ....errors import InputError
from ..batch.batch import Batch
from ..batch.scored import needs
from ..batch.trajectory import Origin
from ..recipes.stages import MASKS
from .credit.tree import tree_of
from .credit.units import place_of_turn, turns_left


@MASKS.register("untruncated")
def untruncated(batch: Batch, advantage: Tensor) -> Tensor:
    """Leave out episodes that a limit ended (DAPO's overlong filtering, arXiv 2503.14476, section 3.4)."""
    return ~batch.per_token(batch.truncated)


@MASKS.register("within_length")
def within_length(batch: Batch, advantage: Tensor, share: float = 1.0) -> Tensor:
    """Leave out episodes with more action tokens than ``share`` of their budget."""
    budget = torch.tensor([share * t.max_tokens for t in batch.trajectories], dtype=torch.float64)
    return batch.per_token(batch.action_count <= budget + 1e-9)


@MASKS.register("positive")
def positive(batch: Batch, advantage: Tensor) -> Tensor:
    """Train only tokens with a positive advantage (positive sample reinforcement, arXiv 2506.01347)."""
    return advantage > 0


@MASKS.register("negative")
def negative(batch: Batch, advantage: Tensor) -> Tensor:
    """Train only tokens with a negative advantage (negative sample reinforcement, arXiv 2506.01347)."""
    return advantage < 0


@MASKS.register("nonzero")
def nonzero(batch: Batch, advantage: Tensor, least: float = 0.0) -> Tensor:
    """Leave out tokens with advantage 0, which then no longer count in the denominators of the loss, or with an
    absolute advantage of at most ``least`` (minimal advantage of AgentCPM-Explore)."""
    return advantage.abs() > check_number("least", least, 0)


@MASKS.register("successful")
def successful(batch: Batch, advantage: Tensor) -> Tensor:
    """Train only episodes that succeeded."""
    return batch.per_token(torch.tensor([t.success for t in batch.trajectories], dtype=torch.bool))


@MASKS.register("unguided")
def unguided(batch: Batch, advantage: Tensor) -> Tensor:
    """Train only episodes in which no part of the solution was revealed to the policy (`Trajectory.guided` is 0)."""
    return batch.per_token(torch.tensor([t.guided == 0 for t in batch.trajectories], dtype=torch.bool))


@MASKS.register("role")
def role(batch: Batch, advantage: Tensor, who: str) -> Tensor:
    """Train only the episodes of the role ``who``."""
    return batch.per_token(torch.tensor([t.role == who for t in batch.trajectories], dtype=torch.bool))


@MASKS.register("without_errors")
def without_errors(batch: Batch, advantage: Tensor) -> Tensor:
    """Leave out turns whose action was invalid (StarPO-style filtering of void turns)."""
    sound = [turn.action_error is None for t in batch.trajectories for turn in t.turns]
    return torch.tensor(sound, dtype=torch.bool)[batch.turn_of]


@MASKS.register("first_turns")
def first_turns(batch: Batch, advantage: Tensor, turns: int = 1) -> Tensor:
    """Train only the first ``turns`` turns of each episode."""
    return (place_of_turn(batch) < turns)[batch.turn_of]


@MASKS.register("last_turns")
def last_turns(batch: Batch, advantage: Tensor, turns: int = 1) -> Tensor:
    """Train only the last ``turns`` turns of each episode."""
    return (turns_left(batch) < turns)[batch.turn_of]


@MASKS.register("until_success")
def until_success(batch: Batch, advantage: Tensor) -> Tensor:
    """Leave out the turns after the first one that the environment reported as a success (`Turn.solved`), where an
    episode goes on nevertheless: in environments of fixed length, or in a block of episodes (RLinf-VLA, arXiv
    2510.06710). The remaining turns alone count in denominators."""
    solved = torch.tensor([turn.solved for t in batch.trajectories for turn in t.turns], dtype=torch.int64)
    before = solved.cumsum(0) - solved
    first = torch.arange(len(solved)) - place_of_turn(batch)
    return (before == before[first])[batch.turn_of]


@MASKS.register("unshared")
@needs("nodes")
def unshared(batch: Batch, advantage: Tensor) -> Tensor:
    """Leave out stretches that several episodes of a group share: only tokens after the branching point distinguish
    better from worse episodes (R3L's pivotal credit, arXiv 2601.03715)."""
    tree = tree_of(batch)
    visits = torch.bincount(tree.node, minlength=len(tree.parent))
    alone = torch.cat((visits == 1, torch.ones(1, dtype=torch.bool)))
    return alone[tree.of_token]


@MASKS.register("pruned_depths")
@needs("nodes")
def pruned_depths(batch: Batch, advantage: Tensor, first: int = 0, count: int = 1) -> Tensor:
    """Leave out stretches at ``count`` depths of a group's tree from depth ``first`` on (depth pruning of BranchGRPO,
    arXiv 2509.06040). A schedule of ``first`` slides the window.

    Rollouts and values of nodes stay as they are, and so do advantages.
    """
    tree = tree_of(batch)
    depth = torch.cat((tree.depth, tree.depth.new_tensor([-1])))[tree.of_token]
    return (depth < first) | (depth >= first + count)


@MASKS.register("pruned_width")
@needs("nodes")
def pruned_width(batch: Batch, advantage: Tensor, keep: str = "half") -> Tensor:
    """Leave out some of the last stretches of a group's tree (width pruning of BranchGRPO, arXiv 2509.06040).

    Rollouts and values of nodes stay as they are, and so do advantages.

    Args:
        keep: "half" (the better half of the last stretches after each split) or "extremes" (those with the highest or
            the lowest outcome of the group). Stretches that tie with a kept one are kept too.

    Raises:
        InputError: ``keep`` has another value.
    """
    if keep not in ("half", "extremes"):
        raise InputError(f"keep={keep!r} is no way to prune a tree; take 'half' or 'extremes'.")
    tree = tree_of(batch)
    value = tree.mean_over_visits(batch.outcome[tree.by])
    kept = torch.ones(len(value) + 1, dtype=torch.bool)
    final = tree.node[tree.last].unique()
    families = tree.group if keep == "extremes" else torch.where(tree.parent < 0, -1 - tree.group, tree.parent)
    for family in families[final].unique().tolist():
        members = final[families[final] == family]
        values = value[members]
        if keep == "extremes":
            kept[members] = (values == values.max()) | (values == values.min())
        else:
            kept[members] = values >= values.sort(descending=True).values[(len(values) + 1) // 2 - 1]
    return kept[tree.of_token]


@MASKS.register("top_entropy")
@needs("entropy")
def top_entropy(batch: Batch, advantage: Tensor, share: float = 0.2, scope: str = "batch") -> Tensor:
    """Train only the ceil(share x n) highest-entropy tokens of the n that the policy sampled, and all tokens of other
    origins (Beyond the 80/20 rule, arXiv 2506.01939, section 5).

    The loss is then a mean over the selected tokens, as in the released code; the weight of the same name divides by
    all tokens, as in the paper's formula.

    Args:
        scope: "batch" or "episode": the set of n tokens from which the share is taken.
    """
    written = batch.written_by(Origin.POLICY)
    return _select_highest(batch, batch.measurement("entropy"), written, share, scope) | (batch.action & ~written)


@MASKS.register("low_probability")
def low_probability(batch: Batch, advantage: Tensor, share: float = 0.2, scope: str = "batch") -> Tensor:
    """Train only the ceil(share x n) tokens that were least likely of the n that the policy sampled, and all tokens of
    other origins.

    Args:
        scope: see `top_entropy`.
    """
    written = batch.written_by(Origin.POLICY)
    return _select_highest(batch, -batch.logp_mu, written, share, scope) | (batch.action & ~written)


@MASKS.register("hint_entropy")
@needs("entropy")
def hint_entropy(batch: Batch, advantage: Tensor, share: float = 0.2) -> Tensor:
    """Train only the ceil(share x n) highest-entropy tokens of an episode's n hint tokens, and all tokens of other
    origins (IGPO, arXiv 2509.10396). The recipe's origins must include "hint"."""
    given = batch.written_by(Origin.HINT)
    return _select_highest(batch, batch.measurement("entropy"), given, share, "episode") | (batch.action & ~given)


def _select_highest(batch: Batch, value: Tensor, among: Tensor, share: float, scope: str) -> Tensor:
    """Return the mask of the ceil(share x n) highest values of the n tokens in ``among``, including ties, bool [N]."""
    if not 0 < share <= 1:
        raise InputError(f"share={share} of the tokens must be in (0, 1].")
    if scope not in ("batch", "episode"):
        raise InputError(f"scope={scope!r} of a share of tokens must be 'batch' or 'episode'.")
    place = among.nonzero()[:, 0]
    part = batch.episode_of[place] if scope == "episode" else torch.zeros_like(place)
    order = value[place].argsort(descending=True, stable=True)
    order = order[part[order].argsort(stable=True)]
    size = torch.bincount(part)
    wanted = (share * size.double() - 1e-9).ceil().long()
    start = size.cumsum(0) - size
    # The border of a part without tokens is never read.
    border = value[place][order][(start + wanted - 1).clamp(0, max(len(place) - 1, 0))] if len(place) else value[:0]
    kept = torch.zeros_like(among)
    kept[place] = value[place] >= border[part]
    return kept
