"""Probability ratios and sums over episodes and groups, as all surrogates, correctors and regularisers use them.

In: `Scored`. Out: tensors over tokens [A] or episodes [R]. Only tokens that carry weight count in the sum or mean of an
episode, and no exponential can overflow: a gradient of zero times infinity would be NaN.
"""

from __future__ import annotations

from dataclasses import fields, replace

import torch
from torch import Tensor

from ...batch.scored import LossTerm, Scored

LARGEST = 30.0
"""Logarithm of the largest ratio, 10^13; beyond it a ratio is constant and has no gradient."""


def bounded_exp(log_value: Tensor) -> Tensor:
    """exp, constant above exp(LARGEST)."""
    return log_value.clamp(max=LARGEST).exp()


def ratio_of(scored: Scored) -> Tensor:
    """pi / pi_old of each token, [A], with gradient."""
    return bounded_exp(scored.log_ratio)


def episode_sum(scored: Scored, token_value: Tensor) -> Tensor:
    """Sum over each episode's trained tokens, [A] -> [R]; differentiable."""
    return scored.sum_by_episode(torch.where(scored.trained, token_value, 0.0))


def episode_mean(scored: Scored, token_value: Tensor) -> Tensor:
    """Mean over each episode's trained tokens, [A] -> [R]; 0 for an episode without any; differentiable."""
    return episode_sum(scored, token_value) / tokens_of(scored).clamp(min=1)


def tokens_of(scored: Scored) -> Tensor:
    """Trained tokens of each episode, [R]."""
    return scored.sum_by_episode(scored.trained.to(scored.logp_old.dtype))


def spread(scored: Scored, episode_value: Tensor) -> LossTerm:
    """A value per episode [R], repeated at its tokens."""
    return LossTerm(scored.per_token(episode_value))


def group_sum(scored: Scored, episode_value: Tensor) -> Tensor:
    """Sum over the episodes of each group that have trained tokens, spread back over episodes: [R] -> [R]."""
    groups = int(scored.group.max()) + 1 if len(scored.group) else 0
    present = torch.where(tokens_of(scored) > 0, episode_value, 0.0)
    return present.new_zeros(groups).index_add(0, scored.group, present)[scored.group]


def group_size(scored: Scored) -> Tensor:
    """Episodes with trained tokens in each episode's group, at least 1, [R]."""
    return group_sum(scored, torch.ones_like(scored.outcome)).clamp(min=1)


def group_mean(scored: Scored, episode_value: Tensor) -> Tensor:
    """Mean over the group's episodes that have trained tokens, [R] -> [R]; differentiable."""
    return group_sum(scored, episode_value) / group_size(scored)


def pairs(scored: Scored, rank: Tensor) -> tuple[Tensor, Tensor]:
    """All ordered pairs of a group's episodes with a higher and a lower ``rank`` [R].

    Returns:
        (better, worse): episodes, int64 [P] each. Episodes without trained tokens are in no pair.
    """
    present = tokens_of(scored) > 0
    together = (scored.group[:, None] == scored.group[None, :]) & present[:, None] & present[None, :]
    better, worse = (together & (rank[:, None] > rank[None, :])).nonzero(as_tuple=True)
    return better, worse


def pair_mean(scored: Scored, better: Tensor, pair_value: Tensor) -> Tensor:
    """Mean of a pair value [P] over the pairs of each group, at each of the group's episodes, [R]; 0 without pairs."""
    groups = int(scored.group.max()) + 1 if len(scored.group) else 0
    of_pair = scored.group[better]
    total = pair_value.new_zeros(groups).index_add(0, of_pair, pair_value)
    count = pair_value.new_zeros(groups).index_add(0, of_pair, torch.ones_like(pair_value))
    return (total / count.clamp(min=1))[scored.group]


def counted(flag: Tensor, scored: Scored) -> tuple[float, float]:
    """A statistic: how many of the trained tokens are flagged, out of how many."""
    return (flag & scored.trained).sum().item(), scored.trained.sum().item()


def restricted(scored: Scored, chosen: Tensor) -> Scored:
    """The tokens ``chosen`` (bool [A]) alone; episodes keep their numbers."""
    size = len(scored.logp)
    values = {item.name: getattr(scored, item.name) for item in fields(scored)}
    per_token = (*_PER_TOKEN, "logp_ref", "logp_teacher", "kl_ref")
    cut = {name: value[chosen] for name in per_token if (value := values[name]) is not None and len(value) == size}
    return replace(scored, **cut)


_PER_TOKEN = ("logp", "logp_old", "advantage", "episode", "logp_mu", "entropy", "weight", "origin", "turn")
