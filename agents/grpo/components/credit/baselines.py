"""Baselines: the value that a unit's return is compared with, from its peers or from other samples of its task.

A baseline that equals the return gives advantage zero; a unit without peers has its own return as its baseline.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .....errors import InputError
from ...batch.batch import Batch
from ...batch.scored import needs
from ...batch.segments import Segments, number_combinations, segment_starts, segment_sum, suffix_sum
from ...recipes.stages import BASELINES
from .credit_arrays import baseline
from .units import Units


@baseline("none")
def no_baseline(return_u: Tensor) -> Tensor:
    """Zero."""
    return torch.zeros_like(return_u)


@baseline("fixed")
def constant_baseline(return_u: Tensor, value: float = 0.5) -> Tensor:
    """The same number for all, such as the border between success and failure."""
    return torch.full_like(return_u, value)


@baseline("group_mean", by="group")
def group_mean(return_u: Tensor, peers: Segments) -> Tensor:
    """Mean return of the peers (GRPO, arXiv 2402.03300, section 4.1.2). See `peers.peers_by` for ``by``; a group of one
    gets advantage 0.
    """
    return peers.shared_mean(return_u)


for _name, _peers, _summary in (
    ("batch_mean", "batch", "Mean over all units of the batch."),
    (
        "by_role",
        "role",
        "Mean over all units of the batch with the same role (Absolute Zero, arXiv 2505.03335, section 3.3.5).",
    ),
    ("same_turn", "turn", "Mean over the group's units of the same turn number (MT-GRPO, arXiv 2505.11821)."),
    (
        "anchor_state",
        "state",
        "Mean over the group's units that begin at the same observation (GiGPO, arXiv 2505.10978).",
    ),
    ("depth_mean", "depth", "Mean over the nodes of the group at the same depth (BranchGRPO, arXiv 2509.06040)."),
    (
        "siblings",
        "siblings",
        "Mean over the nodes with the same parent; an only child gets advantage 0 (V-STAR, arXiv 2602.10699).",
    ),
):
    baseline(_name, peers=_peers, summary=_summary)(group_mean)


@baseline("leave_one_out", by="group")
def leave_one_out(return_u: Tensor, peers: Segments) -> Tensor:
    """Mean return of the *other* peers (RLOO, arXiv 2402.14740, section 2.3). A group of one gets advantage 0."""
    size = peers.shared_size(return_u)
    mean = peers.shared_mean(return_u)
    return torch.where(size > 1, mean - (return_u - mean) / (size - 1).clamp(min=1), return_u)


@baseline("own_mean")
def own_mean(return_u: Tensor, taught_u: Tensor, peers: Segments) -> Tensor:
    """Mean over the peers that the policy sampled alone, used for the teacher's rows too (RL-PLUS, arXiv 2508.00222);
    over all peers if each has tokens of a teacher.
    """
    return peers.shared_mean(return_u, weight=(~taught_u).to(return_u.dtype))


@baseline("length_weighted", by="group")
def length_weighted(return_u: Tensor, tokens_u: Tensor, peers: Segments) -> Tensor:
    """sum n R / sum n over the peers, n being action tokens: the baseline of least variance where tokens' gradients are
    independent (OPO, arXiv 2505.23585).
    """
    return peers.shared_mean(return_u, weight=tokens_u)


@BASELINES.register("optimal_token")
@needs("logp_old")
def optimal_token(units: Units, batch: Batch) -> Tensor:
    """sum_i W_i R_i / sum_i W_i over the tokens at the same place of the group's episodes; W is the sum of 1 - 2p + sum
    p^2 up to the token, which stands for the squared norm of the score (optimal token baseline, arXiv 2602.07078).

    The sum of squared probabilities is replaced by its unbiased estimate from the sampled token, p, so that each token
    adds 1 - p. Takes token units.
    """
    inside = units.of_token >= 0
    left = (1 - batch.measurement("logp_old").exp())[inside].to(units.value.dtype)
    energy = segment_sum(left, units.of_token[inside], len(units.value))
    weight = energy + _sum_before(energy, units.episode)
    place = _sum_before(torch.ones_like(energy), units.episode).long()
    peers = Units(units.value, number_combinations(units.group, place), units.episode, units.of_token).peers
    return peers.shared_mean(units.value, weight)


def _sum_before(value: Tensor, segment: Tensor) -> Tensor:
    """Sum over the units before each unit in its segment: [M] -> [M]."""
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
    remaining = suffix_sum(units.tokens, units.episode)
    start = segment_starts(units.episode)
    rate = units.value[start] / remaining[start].clamp(min=1)
    group = units.group[start]
    rate_of_episode = torch.zeros(batch.episodes, dtype=rate.dtype)
    rate_of_episode[units.episode[start]] = leave_one_out(rate, Segments(group, units.peers.count))
    return rate_of_episode[units.episode] * remaining


@baseline("greedy")
@needs("greedy")
def greedy_outcome(return_u: Tensor, greedy_u: Tensor, peers: Segments) -> Tensor:
    """Outcome of the greedy episode that was played with the group (ReMax, arXiv 2310.10505); the group mean where that
    episode was lost.
    """
    return torch.where(greedy_u.isnan(), peers.shared_mean(return_u), greedy_u)


@baseline("drawn_mean")
def drawn_mean(return_u: Tensor, drawn_mean_u: Tensor, peers: Segments) -> Tensor:
    """Mean outcome of everything that was sampled for the task before a part was kept; the group mean where all was
    (Reinforce-Ada, arXiv 2510.04996).
    """
    return torch.where(drawn_mean_u.isnan(), peers.shared_mean(return_u), drawn_mean_u)


@baseline("quantile", by="group")
def peer_quantile(return_u: Tensor, peers: Segments, level: float = 0.4) -> Tensor:
    """The smallest return that at least the share ``level`` of the peers does not exceed: 0 on hard tasks, so that rare
    successes are reinforced, and 1 on easy ones, so that the remaining failures are punished (QAE, arXiv 2509.22611).

    Raises:
        InputError: ``level`` is not in (0, 1].
    """
    if not 0 < level <= 1:
        raise InputError(f"level={level} of the quantile must be in (0, 1].")
    by_value = return_u.argsort(stable=True)
    order = by_value[peers.of[by_value].argsort(stable=True)]
    start = torch.searchsorted(peers.of[order], peers.of)
    # The margin keeps 0.4 x 5 = 2 from becoming 3 in floating point.
    rank = (level * peers.shared_size(return_u).double() - 1e-9).ceil().long().clamp(min=1) - 1
    return return_u[order[start + rank]]


@baseline("median", by="group")
def median(return_u: Tensor, peers: Segments) -> Tensor:
    """Median return of the peers, halfway between the two middle ones of an even number."""
    return (peer_quantile(return_u, peers, 0.5) - peer_quantile(-return_u, peers, 0.5)) / 2


@BASELINES.register("shifted")
def shift_baseline(
    units: Units, batch: Batch, base: Callable[..., Tensor] = BASELINES["group_mean"], shift: float = -0.1
) -> Tensor:
    """Another baseline plus a constant; below zero it favours successes where episodes are off-policy (AsymRE, arXiv
    2506.20520).
    """
    return base(units, batch) + shift


@baseline("log_mean_exp", by="group")
def log_mean_exp(return_u: Tensor, peers: Segments, temperature: float = 1.0) -> Tensor:
    """temperature x log mean exp(return / temperature) over the peers (OPMD; arXiv 2509.24203).

    Raises:
        InputError: the temperature is not positive.
    """
    if temperature <= 0:
        raise InputError(f"temperature={temperature} of log_mean_exp must be positive.")
    highest = peers.shared_max(return_u)
    mean = peers.shared_mean(((return_u - highest) / temperature).exp())
    return highest + temperature * mean.log()


@baseline("virtual_best")
def virtual_best(return_u: Tensor, peers: Segments, best: float = 1.0) -> Tensor:
    """Mean of the group and one imagined sample of return ``best``, so that a group that failed throughout gets
    negative advantages (NGRPO, arXiv 2509.18851).
    """
    return (peers.shared_sum(return_u) + best) / (peers.shared_size(return_u) + 1)


@baseline("kalman")
def kalman(return_u: Tensor, peers: Segments, start: float = 0.0, variance: float = 1.0, noise: float = 0.01) -> Tensor:
    """Mean of a Kalman filter over the group's returns, from a prior of mean ``start`` and ``variance`` with
    measurements of variance ``noise`` (KRPO, arXiv 2505.07527).

    The paper filters samples one after the other with a process noise of 1e-5 between them; here it is 0, which makes
    the result independent of their order.
    """
    precision = 1 / variance + peers.shared_size(return_u) / noise
    return (start / variance + peers.shared_sum(return_u) / noise) / precision
