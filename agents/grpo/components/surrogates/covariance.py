"""Entropy control through the covariance of advantage and log-probability (The Entropy Mechanism, arXiv 2505.22617).

cov = (A - mean A)(log pi - mean log pi) over the batch's trained tokens, detached; r = pi / pi_old.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import SURROGATES
from .clip import clip
from .ratios import counted, ratio_of


def covariance(scored: Scored) -> Tensor:
    """cov of each token, [A]; meaningful at trained tokens."""
    trained, logp = scored.trained, scored.logp.detach()
    if not trained.any():
        return torch.zeros_like(logp)
    return (scored.advantage - scored.advantage[trained].mean()) * (logp - logp[trained].mean())


@SURROGATES.register("clip_cov")
@needs("batch", "every_row")
def clip_cov(
    scored: Scored,
    low: float = 1.0,
    high: float = 1.0,
    share: float = 2e-4,
    smallest: float = 1.0,
    largest: float = 5.0,
) -> LossTerm:
    """The clip, without a random ``share`` of all tokens among those with smallest < cov < largest that are not clipped
    already; at least one (Clip-Cov, section 4.1; the bounds of the released code).
    """
    check_number("share", share, 0, 1)
    term = clip(scored, low, high)
    r, cov = ratio_of(scored).detach(), covariance(scored)
    clipped = torch.where(scored.advantage > 0, r > 1 + high, r < 1 - low)
    eligible = (cov > smallest) & (cov < largest) & scored.trained & ~clipped
    dropped = eligible & _drawn(scored, eligible, max(int(share * int(scored.trained.sum())), 1))
    stats = {**term.stats, "cov_dropped": counted(dropped, scored)}
    return LossTerm(torch.where(dropped, 0.0, term.value), stats)


def _drawn(scored: Scored, among: Tensor, count: int) -> Tensor:
    """``count`` of the tokens ``among``, bool [A]: random in effect, but a function of the tokens alone, so that it
    depends neither on a generator nor on the order of rows.
    """
    key = _hash(scored)
    return key <= key[among].sort().values[:count][-1] if among.any() else among


def _hash(scored: Scored) -> Tensor:
    """A number in [0, 2^31) from the bits of each token's behaviour log-probability, which no recomputation changes,
    int64 [A].
    """
    bits = scored.logp_mu.float().contiguous().view(torch.int32).long() * 2654435761
    mixed = (bits ^ (bits >> 15)) * 2246822519
    return (mixed ^ (mixed >> 13)) & 0x7FFFFFFF


@SURROGATES.register("kl_cov")
@needs("batch", "every_row")
def kl_cov(scored: Scored, share: float = 2e-4, coefficient: float = 1.0) -> LossTerm:
    """r A, less ``coefficient`` x |log r| at the ``share`` of tokens with the largest cov, at least one (KL-Cov,
    section 4.2). Ties at the edge are all penalised.
    """
    check_number("share", share, 0, 1)
    value = ratio_of(scored) * scored.advantage
    trained = scored.trained
    if not trained.any():
        return LossTerm(value)
    cov = covariance(scored)
    wanted = max(int(share * int(trained.sum())), 1)
    edge = cov[trained].sort(descending=True).values[wanted - 1]
    return LossTerm(value - coefficient * ((cov >= edge) & trained) * scored.log_ratio.abs())
