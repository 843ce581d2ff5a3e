"""Correctors by rejection: tokens or whole episodes are kept (factor 1) or dropped (factor 0), without gradient.

`geometric_band`, `product_band` and `outlier_token` act on c = pi_old / mu, the ratio of anchor to sampler (1 at tokens
that the policy did not sample), and require the anchor "policy". `opsm` and `m2po` compare the policy being trained
with the sampler.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import Scored, needs
from ...batch.segments import Segments
from ...recipes.stages import CORRECTORS
from ..loss_arrays import corrector
from .truncated import check_band, sampling_gap


@corrector("geometric_band")
@needs("anchor")
def geometric_band(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, low: float = 0.99, high: float = 1.01
) -> Tensor:
    """Drop episodes whose geometric mean of c = pi_old / mu, independent of length, lies outside [low, high]."""
    check_band(low, high)
    mean = episode.mean(sampling_gap(logp_old_t, logp_mu_t, sampled_t)).exp()
    return episode.expand(((mean >= low) & (mean <= high)).to(logp_old_t.dtype))


@corrector("product_band")
@needs("anchor")
def product_band(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, low: float = 0.5, high: float = 2.0
) -> Tensor:
    """Drop episodes whose product of c = pi_old / mu lies outside [low, high]; long episodes are dropped more often."""
    check_band(low, high)
    product = episode.sum(sampling_gap(logp_old_t, logp_mu_t, sampled_t)).exp()
    return episode.expand(((product >= low) & (product <= high)).to(logp_old_t.dtype))


@corrector("outlier_token")
@needs("anchor")
def outlier_token(
    logp_old_t: Tensor, logp_mu_t: Tensor, sampled_t: Tensor, episode: Segments, floor: float = 1e-4
) -> Tensor:
    """Drop episodes with a token of c = pi_old / mu < floor, almost impossible under the trainer's policy."""
    check_number("floor", floor, 0, 1)
    c = sampling_gap(logp_old_t, logp_mu_t, sampled_t).exp()
    outliers = episode.sum((c < floor).to(logp_old_t.dtype))
    return episode.expand((outliers == 0).to(logp_old_t.dtype))


@corrector("opsm")
def opsm(
    logp_t: Tensor, logp_mu_t: Tensor, adv_t: Tensor, sampled_t: Tensor, episode: Segments, delta: float = 0.1
) -> Tensor:
    """Drop tokens with A < 0 in episodes where the mean of log mu - log pi exceeds ``delta`` nats, so that failures
    which the policy already avoids are not made less likely still (off-policy sequence mask, DeepSeek-V3.2, arXiv
    2512.02556, section 3.1).

    The paper publishes no ``delta``; the default is ours.
    """
    check_number("delta", delta, 0)
    drift = episode.mean(-sampling_gap(logp_t, logp_mu_t, sampled_t))
    far = episode.expand(drift) > delta
    return (~(far & (adv_t < 0))).to(logp_mu_t.dtype)


@corrector("m2po")
@needs("batch")
def m2po(
    logp_t: Tensor, logp_mu_t: Tensor, adv_t: Tensor, sampled_t: Tensor, trained_t: Tensor, limit: float = 0.04
) -> Tensor:
    """Drop the tokens with the largest (log pi - log mu)^2 among those that moved the way A pushes them (A > 0 and pi >
    mu, or A < 0 and pi < mu), until the mean square of the remaining ones is at most ``limit`` (M2PO, arXiv 2510.01161,
    algorithm 1).

    Of tokens with equal squares at the limit, all are dropped.
    """
    check_number("limit", limit, 0)
    gap = sampling_gap(logp_t, logp_mu_t, sampled_t)
    square, pushed = gap**2, (gap * adv_t > 0) & trained_t
    kept = torch.ones_like(logp_mu_t)
    if pushed.any():
        ordered = square[pushed].sort().values
        counts = torch.arange(1, len(ordered) + 1, dtype=ordered.dtype, device=ordered.device)
        too_far = ordered.cumsum(0) / counts > limit
        if too_far.any():
            kept = (~pushed | (square < ordered[too_far][0])).to(kept.dtype)
    return kept


@CORRECTORS.register("both")
def both(
    scored: Scored,
    first: Callable[[Scored], Tensor] = CORRECTORS["geometric_band"],
    second: Callable[[Scored], Tensor] = CORRECTORS["none"],
) -> Tensor:
    """Multiply two correctors, such as one that rejects and one that weights; inputs of both are needed."""
    return first(scored) * second(scored)
