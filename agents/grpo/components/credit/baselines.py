"""Baselines: what a unit's return is compared with. Statistics of its peers, or of what was sampled beside them.

A baseline that equals the return gives advantage zero; a unit without peers has its own return as its baseline.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.scored import needs
from ...batch.trajectory import Origin
from ...recipes.stages import BASELINES
from .peers import compared
from .units import Units, numbered, suffix_sum


@BASELINES.register("none")
def no_baseline(units: Units, batch: Batch) -> Tensor:
    """Zero."""
    return torch.zeros_like(units.value)


@BASELINES.register("fixed")
def fixed(units: Units, batch: Batch, value: float = 0.5) -> Tensor:
    """The same number for all, such as the border between success and failure."""
    return torch.full_like(units.value, value)


@BASELINES.register("group_mean")
def group_mean(units: Units, batch: Batch, by: str = "group") -> Tensor:
    """Mean return of the peers (GRPO, arXiv 2402.03300, section 4.1.2). See `peers.compared` for ``by``; a group of one
    gets advantage 0.
    """
    return compared(units, batch, by).mean


@BASELINES.register("leave_one_out")
def leave_one_out(units: Units, batch: Batch, by: str = "group") -> Tensor:
    """Mean return of the *other* peers (RLOO, arXiv 2402.14740, section 2.3). A group of one gets advantage 0."""
    peers = compared(units, batch, by)
    size = peers.size
    others = (peers.sum_by_group(units.value) - units.value) / (size - 1).clamp(min=1)
    return torch.where(size > 1, others, units.value)


@BASELINES.register("own_mean")
def own_mean(units: Units, batch: Batch) -> Tensor:
    """Mean over the peers without a teacher's tokens, which is the baseline of the teacher's rows too (RL-PLUS, arXiv
    2508.00222); over all peers where none is the policy's own.
    """
    taught = batch.sum_by_episode(batch.written_by(Origin.TEACHER).to(units.value.dtype)) > 0
    own = (~taught[units.episode]).to(units.value.dtype)
    count = units.sum_by_group(own)
    return torch.where(count > 0, units.sum_by_group(own * units.value) / count.clamp(min=1), units.mean)


@BASELINES.register("batch_mean")
def batch_mean(units: Units, batch: Batch) -> Tensor:
    """Mean over all units of the batch."""
    return compared(units, batch, "batch").mean


@BASELINES.register("by_role")
def by_role(units: Units, batch: Batch) -> Tensor:
    """Mean over the units of the group with the same role."""
    return compared(units, batch, "role").mean


@BASELINES.register("same_turn")
def same_turn(units: Units, batch: Batch) -> Tensor:
    """Mean over the group's units of the same turn number (MT-GRPO, arXiv 2505.11821)."""
    return compared(units, batch, "turn").mean


@BASELINES.register("anchor_state")
def anchor_state(units: Units, batch: Batch) -> Tensor:
    """Mean over the group's units that begin at the same observation (GiGPO, arXiv 2505.10978)."""
    return compared(units, batch, "state").mean


@BASELINES.register("depth_mean")
def depth_mean(units: Units, batch: Batch) -> Tensor:
    """Mean over the nodes of the group at the same depth (BranchGRPO, arXiv 2509.06040)."""
    return compared(units, batch, "depth").mean


@BASELINES.register("siblings")
def siblings(units: Units, batch: Batch) -> Tensor:
    """Mean over the nodes with the same parent; an only child gets advantage 0 (V-STAR, arXiv 2602.10699)."""
    return compared(units, batch, "siblings").mean


@BASELINES.register("length_weighted")
def length_weighted(units: Units, batch: Batch, by: str = "group") -> Tensor:
    """sum n R / sum n over the peers, n being action tokens: the baseline of least variance where tokens' gradients are
    independent (OPO, arXiv 2505.23585).
    """
    peers = compared(units, batch, by)
    tokens = units.tokens
    total = peers.sum_by_group(tokens)
    weighted = peers.sum_by_group(tokens * units.value) / total.clamp(min=1)
    return torch.where(total > 0, weighted, peers.mean)


@BASELINES.register("optimal_token")
@needs("logp_old")
def optimal_token(units: Units, batch: Batch) -> Tensor:
    """sum_i W_i R_i / sum_i W_i over the tokens at the same place of the group's episodes; W is the sum of 1 - 2p + sum
    p^2 up to the token, which stands for the squared norm of the score (optimal token baseline, arXiv 2602.07078).

    The sum of squared probabilities is replaced by its unbiased estimate from the sampled token, p, so that each token
    adds 1 - p. Takes token units.
    """
    inside = units.of_token >= 0
    left = (1 - batch.measured("logp_old").exp())[inside].to(units.value.dtype)
    energy = torch.zeros_like(units.value).index_add_(0, units.of_token[inside], left)
    backward = _from_last(energy, units.episode)
    weight = energy + backward
    place = _from_last(torch.ones_like(energy), units.episode)
    peers = Units(units.value, numbered(units.group, place.long()), units.episode, units.of_token)
    total = peers.sum_by_group(weight)
    return torch.where(total > 0, peers.sum_by_group(weight * units.value) / total.clamp(min=1e-8), peers.mean)


def _from_last(value: Tensor, segment: Tensor) -> Tensor:
    """Sum of what precedes each unit in its segment: [M] -> [M]."""
    whole = suffix_sum(value, segment)
    start = torch.searchsorted(segment, segment)
    return whole[start] - whole


@BASELINES.register("token_rate")
def token_rate(units: Units, batch: Batch) -> Tensor:
    """Leave-one-out mean over the group's *episodes* of (return of the whole episode / its tokens), times the tokens
    from the unit to the end of the episode; for returns-to-go of turns or tokens (PRIME, arXiv 2502.01456; PURE, arXiv
    2504.15275).

    An episode alone in its group gets advantage 0 at its first unit.
    """
    tokens = units.tokens
    remaining = suffix_sum(tokens, units.episode)
    start = torch.ones_like(units.episode, dtype=torch.bool)
    start[1:] = units.episode[1:] != units.episode[:-1]
    rate = units.value[start] / remaining[start].clamp(min=1)
    first = Units(rate, units.group[start], units.episode[start], units.of_token)
    others = leave_one_out(first, batch)
    padded = torch.zeros(batch.episodes, dtype=rate.dtype)
    padded[units.episode[start]] = others
    return padded[units.episode] * remaining


@BASELINES.register("greedy")
@needs("greedy")
def greedy(units: Units, batch: Batch) -> Tensor:
    """Outcome of the episode that was played greedily beside the group (ReMax, arXiv 2310.10505); the group
    mean where that episode was lost.
    """
    outcomes = [float("nan") if group.greedy is None else group.greedy for group in batch.group_list]
    return _known_or_mean(outcomes, units, batch)


@BASELINES.register("drawn_mean")
def drawn_mean(units: Units, batch: Batch) -> Tensor:
    """Mean outcome of everything that was sampled for the task before a part was kept; the group mean where all was
    (Reinforce-Ada, arXiv 2510.04996).
    """
    drawn = [sum(g.drawn) / len(g.drawn) if g.drawn else float("nan") for g in batch.group_list]
    return _known_or_mean(drawn, units, batch)


def _known_or_mean(by_group: list[float], units: Units, batch: Batch) -> Tensor:
    """A number per group at each unit, the mean of the group where it is NaN: G numbers -> [M]."""
    known = torch.tensor(by_group, dtype=units.value.dtype)[batch.group_of[units.episode]]
    return torch.where(known.isnan(), units.mean, known)


@BASELINES.register("quantile")
def quantile(units: Units, batch: Batch, level: float = 0.4, by: str = "group") -> Tensor:
    """The smallest return that at least the share ``level`` of the peers does not exceed: 0 on hard tasks, so that rare
    successes are reinforced, and 1 on easy ones, so that the remaining failures are punished (QAE, arXiv 2509.22611).

    Raises:
        InputError: ``level`` is not in (0, 1].
    """
    if not 0 < level <= 1:
        raise InputError(f"level={level} of the quantile must be in (0, 1].")
    return _quantile(compared(units, batch, by), level)


@BASELINES.register("median")
def median(units: Units, batch: Batch, by: str = "group") -> Tensor:
    """Median return of the peers, halfway between the two middle ones of an even number."""
    peers = compared(units, batch, by)
    return (_quantile(peers, 0.5) - _quantile(peers.with_value(-peers.value), 0.5)) / 2


def _quantile(units: Units, level: float) -> Tensor:
    """Lower ``level``-quantile of each unit's group, [M]."""
    by_value = units.value.argsort(stable=True)
    order = by_value[units.group[by_value].argsort(stable=True)]
    ordered = units.group[order]
    start = torch.searchsorted(ordered, units.group)
    # The margin keeps 0.4 x 5 = 2 from becoming 3 in floating point.
    rank = (level * units.size.double() - 1e-9).ceil().long().clamp(min=1) - 1
    return units.value[order[start + rank]]


@BASELINES.register("shifted")
def shifted(units: Units, batch: Batch, base: Callable[..., Tensor] = group_mean, shift: float = -0.1) -> Tensor:
    """Another baseline plus a constant; below zero it favours successes where episodes are off-policy (AsymRE, arXiv
    2506.20520).
    """
    return base(units, batch) + shift


@BASELINES.register("log_mean_exp")
def log_mean_exp(units: Units, batch: Batch, temperature: float = 1.0, by: str = "group") -> Tensor:
    """temperature x log mean exp(return / temperature) over the peers (OPMD; arXiv 2509.24203).

    Raises:
        InputError: the temperature is not positive.
    """
    if temperature <= 0:
        raise InputError(f"temperature={temperature} of log_mean_exp must be positive.")
    peers = compared(units, batch, by)
    highest = torch.full((peers.groups,), -torch.inf, dtype=units.value.dtype)
    highest = highest.scatter_reduce_(0, peers.group, units.value, "amax")[peers.group]
    mean = peers.with_value(((units.value - highest) / temperature).exp()).mean
    return highest + temperature * mean.log()


@BASELINES.register("virtual_best")
def virtual_best(units: Units, batch: Batch, best: float = 1.0) -> Tensor:
    """Mean of the group and one imagined sample of return ``best``, so that a group that failed throughout gets
    negative advantages (NGRPO, arXiv 2509.18851).
    """
    return (units.sum_by_group(units.value) + best) / (units.size + 1)


@BASELINES.register("kalman")
def kalman(units: Units, batch: Batch, start: float = 0.0, variance: float = 1.0, noise: float = 0.01) -> Tensor:
    """Mean of a Kalman filter over the group's returns, from a prior of mean ``start`` and ``variance`` with
    measurements of variance ``noise`` (KRPO, arXiv 2505.07527).

    The paper filters samples one after the other with a process noise of 1e-5 between them; here it is 0, which makes
    the result independent of their order.
    """
    precision = 1 / variance + units.size / noise
    return (start / variance + units.sum_by_group(units.value) / noise) / precision
