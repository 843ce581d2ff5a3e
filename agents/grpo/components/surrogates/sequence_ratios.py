"""Surrogates with one ratio per episode; the value is repeated at the episode's tokens ("sequence_mean" counts it
once).

r = pi / pi_old of a token, A the advantage; sg: stop-gradient.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.segments import Segments
from ..loss_arrays import Statistics, surrogate
from .clip import pessimistic
from .ratios import bounded_exp


@surrogate("gspo")
def gspo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, episode: Segments, low: float = 3e-4, high: float = 4e-4
) -> tuple[Tensor, Statistics]:
    """min(s A, clip(s, 1 - low, 1 + high) A), s = exp(mean over the episode of log r), r = pi / pi_old (GSPO, arXiv
    2507.18071, eq. 5).

    With the reduction "sequence_sum" it is LUSPO (the weight of an episode is proportional to its number of tokens).
    """
    check_number("low of gspo", low, 0, 1)
    check_number("high of gspo", high, 0)
    s = episode.expand(bounded_exp(episode.mean(logp_t - logp_old_t)))
    return pessimistic(s, s.clamp(1 - low, 1 + high), adv_t)


@surrogate("gspo_token")
def gspo_token(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, episode: Segments, low: float = 3e-4, high: float = 4e-4
) -> tuple[Tensor, Statistics]:
    """PPO's clip on sg(s) pi / sg(pi): the episode's ratio s, detached, with the gradient of each token, for advantages
    that differ within an episode (GSPO, arXiv 2507.18071, eq. 13)."""
    check_number("low of gspo_token", low, 0, 1)
    s = episode.expand(bounded_exp(episode.mean(logp_t - logp_old_t))).detach()
    free = s * (logp_t - logp_t.detach()).exp()
    return pessimistic(free, free.clamp(1 - low, 1 + high), adv_t)


@surrogate("gmpo")
def gmpo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, episode: Segments, low: float = 0.4, high: float = 0.4
) -> tuple[Tensor, Statistics]:
    """A exp(mean over the episode of l), l = log(pi / pi_old) limited to at most ``high`` where A > 0 and at least
    -``low`` where A < 0: the geometric mean of clipped token ratios (GMPO, arXiv 2507.20673). Bounds are logarithms:
    [e^-0.4, e^0.4]."""
    log_r = logp_t - logp_old_t
    bounded = log_r.clamp(-low, high)
    chosen = torch.where(adv_t > 0, torch.minimum(log_r, bounded), torch.maximum(log_r, bounded))
    chosen = torch.where(adv_t == 0, log_r, chosen)
    mean = episode.expand(bounded_exp(episode.mean(chosen)))
    return mean * adv_t, {"clip_fraction": chosen != log_r}


@surrogate("vespo")
def vespo(
    logp_t: Tensor,
    logp_mu_t: Tensor,
    adv_t: Tensor,
    episode: Segments,
    k_positive: float = 2.0,
    lambda_positive: float = 3.0,
    k_negative: float = 3.0,
    lambda_negative: float = 2.0,
) -> tuple[Tensor, Statistics]:
    """sg(phi(W)) A log pi with phi(W) = exp(lambda) W^k exp(-lambda W), 1 at W = 1, and W = pi / mu of the whole
    episode (VESPO, arXiv 2602.10693).

    W is limited to [1e-8, e^20]; k and lambda depend on the sign of A.
    """
    with torch.no_grad():
        gap = (logp_t - logp_mu_t).clamp(-20, 20)
        log_w = episode.expand(episode.sum(gap)).clamp(math.log(1e-8), 20)
        k = torch.where(adv_t >= 0, k_positive, k_negative)
        rate = torch.where(adv_t >= 0, lambda_positive, lambda_negative)
        phi = (rate + k * log_w - rate * log_w.exp()).exp()
    return phi * adv_t * logp_t, {"vespo_weight": phi}
