"""Ratios of whole episodes: one value an episode, repeated at its tokens (the reduction "sequence_mean" counts it
once).
"""

from __future__ import annotations

import math

import torch

from .....checks import check_number
from ...batch.scored import LossTerm, Scored
from ...recipes.stages import SURROGATES
from .clip import pessimistic
from .ratios import bounded_exp, counted, episode_mean, episode_sum


@SURROGATES.register("gspo")
def gspo(scored: Scored, low: float = 3e-4, high: float = 4e-4) -> LossTerm:
    """min(s A, clip(s, 1 - low, 1 + high) A), s = exp(mean over the episode of log r) (GSPO, arXiv 2507.18071, eq. 5).

    With the reduction "sequence_sum" it is LUSPO (each episode counts as often as it has tokens).
    """
    check_number("low of gspo", low, 0, 1)
    check_number("high of gspo", high, 0)
    s = scored.per_token(bounded_exp(episode_mean(scored, scored.log_ratio)))
    return pessimistic(s, s.clamp(1 - low, 1 + high), scored)


@SURROGATES.register("gspo_token")
def gspo_token(scored: Scored, low: float = 3e-4, high: float = 4e-4) -> LossTerm:
    """The clip on sg(s) pi / sg(pi): the episode's ratio, detached, with the token's own gradient, for advantages that
    differ within an episode (GSPO, arXiv 2507.18071, eq. 13).
    """
    check_number("low of gspo_token", low, 0, 1)
    s = scored.per_token(bounded_exp(episode_mean(scored, scored.log_ratio))).detach()
    free = s * (scored.logp - scored.logp.detach()).exp()
    return pessimistic(free, free.clamp(1 - low, 1 + high), scored)


@SURROGATES.register("gmpo")
def gmpo(scored: Scored, low: float = 0.4, high: float = 0.4) -> LossTerm:
    """A exp(mean over the episode of l), l = log r cut to [-low, high] on the side that A makes too good: the geometric
    mean of clipped token ratios (GMPO, arXiv 2507.20673). Bounds are logarithms: [e^-0.4, e^0.4].
    """
    log_ratio = scored.log_ratio
    bounded = log_ratio.clamp(-low, high)
    chosen = torch.where(scored.advantage > 0, torch.minimum(log_ratio, bounded), torch.maximum(log_ratio, bounded))
    chosen = torch.where(scored.advantage == 0, log_ratio, chosen)
    mean = scored.per_token(bounded_exp(episode_mean(scored, chosen)))
    return LossTerm(mean * scored.advantage, {"clip_fraction": counted(chosen != log_ratio, scored)})


@SURROGATES.register("vespo")
def vespo(
    scored: Scored,
    k_positive: float = 2.0,
    lambda_positive: float = 3.0,
    k_negative: float = 3.0,
    lambda_negative: float = 2.0,
) -> LossTerm:
    """sg(phi(W)) A log pi with phi(W) = exp(lambda) W^k exp(-lambda W), 1 at W = 1, and W = pi / mu of the whole
    episode (VESPO, arXiv 2602.10693).

    W is kept in [1e-8, e^20]; k and lambda go by the sign of A.
    """
    with torch.no_grad():
        gap = (scored.logp - scored.logp_mu).clamp(-20, 20)
        log_w = scored.per_token(episode_sum(scored, gap)).clamp(math.log(1e-8), 20)
        k = torch.where(scored.advantage >= 0, k_positive, k_negative)
        rate = torch.where(scored.advantage >= 0, lambda_positive, lambda_negative)
        phi = (rate + k * log_w - rate * log_w.exp()).exp()
    stats = {"vespo_weight": ((phi * scored.trained).sum().item(), scored.trained.sum().item())}
    return LossTerm(phi * scored.advantage * scored.logp, stats)
