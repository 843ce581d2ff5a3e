"""Entropy control through the covariance of advantage and log-probability (The Entropy Mechanism, arXiv 2505.22617).

cov = (A - mean A)(log pi - mean log pi) over the batch's trained tokens, detached; r = pi / pi_old.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import needs
from ..loss_arrays import Statistics, surrogate
from .clip import clipped_surrogate
from .ratios import probability_ratio


def covariance(logp_t: Tensor, adv_t: Tensor, trained_t: Tensor) -> Tensor:
    """Return cov of each token, [A]; defined for trained tokens only."""
    logp_t = logp_t.detach()
    if not trained_t.any():
        return torch.zeros_like(logp_t)
    return (adv_t - adv_t[trained_t].mean()) * (logp_t - logp_t[trained_t].mean())


@surrogate("clip_cov")
@needs("batch", "every_row")
def clip_cov(
    logp_t: Tensor,
    logp_old_t: Tensor,
    logp_mu_t: Tensor,
    adv_t: Tensor,
    trained_t: Tensor,
    low: float = 1.0,
    high: float = 1.0,
    share: float = 2e-4,
    smallest: float = 1.0,
    largest: float = 5.0,
) -> tuple[Tensor, Statistics]:
    """PPO's clip without a random ``share`` of all tokens, at least one, drawn from those that are not clipped and have
    smallest < cov < largest (Clip-Cov, section 4.1; the bounds of the released code)."""
    check_number("share", share, 0, 1)
    value, statistics = clipped_surrogate(logp_t, logp_old_t, adv_t, low, high)
    r, cov = probability_ratio(logp_t, logp_old_t).detach(), covariance(logp_t, adv_t, trained_t)
    clipped = torch.where(adv_t > 0, r > 1 + high, r < 1 - low)
    eligible = (cov > smallest) & (cov < largest) & trained_t & ~clipped
    dropped = eligible & _draw(logp_mu_t, eligible, max(int(share * int(trained_t.sum())), 1))
    return torch.where(dropped, 0.0, value), {**statistics, "cov_dropped": dropped}


def _draw(logp_mu_t: Tensor, among_t: Tensor, count: int) -> Tensor:
    """Select ``count`` of the tokens ``among_t`` pseudo-randomly, bool [A].

    The draw is a function of the tokens alone, so that it depends neither on a generator nor on the order of rows.
    """
    if not among_t.any():
        return among_t
    # A hash in [0, 2^31) of the bits of the behaviour log-probability, which is never recomputed.
    bits = logp_mu_t.float().contiguous().view(torch.int32).long() * 2654435761
    mixed = (bits ^ (bits >> 15)) * 2246822519
    key = (mixed ^ (mixed >> 13)) & 0x7FFFFFFF
    return key <= key[among_t].sort().values[:count][-1]


@surrogate("kl_cov")
@needs("batch", "every_row")
def kl_cov(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, trained_t: Tensor, share: float = 2e-4, coefficient: float = 1.0
) -> Tensor:
    """r A, minus ``coefficient`` x |log r| at the ``share`` of tokens with the largest cov, at least one (KL-Cov,
    section 4.2). Tokens that tie at the limit are all penalised."""
    check_number("share", share, 0, 1)
    check_number("coefficient of kl_cov", coefficient, 0)
    value = probability_ratio(logp_t, logp_old_t) * adv_t
    if not trained_t.any():
        return value
    cov = covariance(logp_t, adv_t, trained_t)
    wanted = max(int(share * int(trained_t.sum())), 1)
    edge = cov[trained_t].sort(descending=True).values[wanted - 1]
    return value - coefficient * ((cov >= edge) & trained_t) * (logp_t - logp_old_t).abs()
