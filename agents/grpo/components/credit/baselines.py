"""Baselines: the value subtracted from a unit's return, computed from its peers or from other samples of its task.

A baseline equal to the return gives advantage 0; so the baseline of a unit without peers is the unit's return.
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
    """Return 0 for every unit."""
    return torch.zeros_like(return_u)


@baseline("fixed")
def constant_baseline(return_u: Tensor, value: float = 0.5) -> Tensor:
    """Return the same number for every unit, such as the border between success and failure."""
    return torch.full_like(return_u, value)


@baseline("group_mean", by="group")
def group_mean(return_u: Tensor, peers: Segments) -> Tensor:
    """Mean return of the peers (GRPO, arXiv 2402.03300, section 4.1.2); a group of one gets advantage 0.

    See `peers.peers_by` for the values of ``by``.
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
    """Mean return of the peers without a teacher's tokens, subtracted from the teacher's rows too (RL-PLUS, arXiv
    2508.00222); mean of all peers if each has a teacher's tokens."""
    return peers.shared_mean(return_u, weight=(~taught_u).to(return_u.dtype))


@baseline("length_weighted", by="group")
def length_weighted(return_u: Tensor, tokens_u: Tensor, peers: Segments) -> Tensor:
    """Mean return of the peers weighted by their number n of action tokens, sum n R / sum n: the baseline of least
    variance if the gradients of tokens are independent (OPO, arXiv 2505.23585)."""
    return peers.shared_mean(return_u, weight=tokens_u)


@BASELINES.register("optimal_token")
@needs("logp_old")
def optimal_token(units: Units, batch: Batch) -> Tensor:
    """Weighted mean sum_i W_i R_i / sum_i W_i over the tokens with the same index in the group's episodes (optimal
    token baseline, arXiv 2602.07078).

    W is the sum of 1 - 2p + sum p^2 over the tokens up to this one, a proxy for the squared norm of the score function.
    The sum of squared probabilities is replaced by its unbiased estimate from the sampled token, p, so each token adds
    1 - p. Requires token units.
    """
    inside = units.of_token >= 0
    left = (1 - batch.measurement("logp_old").exp())[inside].to(units.value.dtype)
    energy = segment_sum(left, units.of_token[inside], len(units.value))
    weight = energy + _sum_before(energy, units.episode)
    place = _sum_before(torch.ones_like(energy), units.episode).long()
    peers = Units(units.value, number_combinations(units.group, place), units.episode, units.of_token).peers
    return peers.shared_mean(units.value, weight)


def _sum_before(value: Tensor, segment: Tensor) -> Tensor:
    """Return the sum of the units before each unit in its segment, [M] -> [M]; ``segment`` must be non-decreasing."""
    whole = suffix_sum(value, segment)
    start = torch.searchsorted(segment, segment)
    return whole[start] - whole


@BASELINES.register("token_rate")
def token_rate(units: Units, batch: Batch) -> Tensor:
    """Leave-one-out mean over the group's *episodes* of (return of the episode / its tokens), times the tokens from the
    unit to the end of the episode (PRIME, arXiv 2502.01456; PURE, arXiv 2504.15275).

    For returns-to-go of turns or tokens. An episode alone in its group gets advantage 0 at its first unit.
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
    """Outcome of the greedy episode that was played with the group (ReMax, arXiv 2310.10505); the group mean if that
    episode was lost."""
    return torch.where(greedy_u.isnan(), peers.shared_mean(return_u), greedy_u)


@baseline("drawn_mean")
def drawn_mean(return_u: Tensor, drawn_mean_u: Tensor, peers: Segments) -> Tensor:
    """Mean outcome of all episodes sampled for the task, if only some were kept, else the group mean (Reinforce-Ada,
    arXiv 2510.04996)."""
    return torch.where(drawn_mean_u.isnan(), peers.shared_mean(return_u), drawn_mean_u)


@baseline("quantile", by="group")
def peer_quantile(return_u: Tensor, peers: Segments, level: float = 0.4) -> Tensor:
    """Smallest return r such that at least the share ``level`` of the peers have a return of at most r (QAE, arXiv
    2509.22611).

    For rewards of 0 or 1 it is 0 on hard tasks, so that rare successes are reinforced, and 1 on easy ones, so that the
    remaining failures are punished.

    Raises:
        InputError: ``level`` is not in (0, 1].
    """
    if not 0 < level <= 1:
        raise InputError(f"level={level} of the quantile must be in (0, 1].")
    by_value = return_u.argsort(stable=True)
    order = by_value[peers.of[by_value].argsort(stable=True)]
    start = torch.searchsorted(peers.of[order], peers.of)
    # The margin keeps rounding of 0.4 x 5 from raising the rank from 2 to 3.
    rank = (level * peers.shared_size(return_u).double() - 1e-9).ceil().long().clamp(min=1) - 1
    return return_u[order[start + rank]]


@baseline("median", by="group")
def median(return_u: Tensor, peers: Segments) -> Tensor:
    """Median return of the peers; for an even number, the mean of the two middle ones."""
    return (peer_quantile(return_u, peers, 0.5) - peer_quantile(-return_u, peers, 0.5)) / 2


@BASELINES.register("shifted")
def shift_baseline(
    units: Units, batch: Batch, base: Callable[..., Tensor] = BASELINES["group_mean"], shift: float = -0.1
) -> Tensor:
    """Another baseline plus a constant; a negative constant favours successes when episodes are off-policy (AsymRE,
    arXiv 2506.20520)."""
    return base(units, batch) + shift


@baseline("log_mean_exp", by="group")
def log_mean_exp(return_u: Tensor, peers: Segments, temperature: float = 1.0) -> Tensor:
    """Soft maximum temperature x log mean exp(return / temperature) over the peers (OPMD; arXiv 2509.24203).

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
    """Mean of the group and one additional, imagined sample of return ``best``, so that a group without any success
    gets negative advantages (NGRPO, arXiv 2509.18851)."""
    return (peers.shared_sum(return_u) + best) / (peers.shared_size(return_u) + 1)


@baseline("kalman")
def kalman(return_u: Tensor, peers: Segments, start: float = 0.0, variance: float = 1.0, noise: float = 0.01) -> Tensor:
    """Mean of a Kalman filter over the group's returns, with prior mean ``start`` and ``variance`` and measurement
    variance ``noise`` (KRPO, arXiv 2505.07527).

    The paper filters the samples one after the other with a process noise of 1e-5 between them; here it is 0, so the
    result does not depend on the order of samples.
    """
    precision = 1 / variance + peers.shared_size(return_u) / noise
    return (start / variance + peers.shared_sum(return_u) / noise) / precision
