"""Rejection: tokens or episodes are kept whole (factor 1) or dropped (factor 0); c = pi_old / mu, nothing has a
gradient.

The first group judges the gap between sampler and anchor and takes the anchor "policy"; `opsm` and `m2po` compare the
policy being trained with the sampler.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import Scored, needs
from ...recipes.stages import CORRECTORS
from ..surrogates.ratios import episode_mean, episode_sum
from .truncated import _checked_band, anchor_gap, none, sampled


@CORRECTORS.register("geometric_band")
@needs("anchor")
def geometric_band(scored: Scored, low: float = 0.99, high: float = 1.01) -> Tensor:
    """1 in episodes whose geometric mean of c lies in [low, high], which does not depend on their length; else 0."""
    _checked_band(low, high)
    return _inside(scored, episode_mean(scored, anchor_gap(scored)), low, high)


@CORRECTORS.register("product_band")
@needs("anchor")
def product_band(scored: Scored, low: float = 0.5, high: float = 2.0) -> Tensor:
    """1 in episodes whose product of c lies in [low, high], else 0. Long episodes are dropped for their length."""
    _checked_band(low, high)
    return _inside(scored, episode_sum(scored, anchor_gap(scored)), low, high)


def _inside(scored: Scored, log_value: Tensor, low: float, high: float) -> Tensor:
    value = log_value.exp()
    return scored.per_token(((value >= low) & (value <= high)).to(scored.logp_old.dtype))


@CORRECTORS.register("outlier_token")
@needs("anchor")
def outlier_token(scored: Scored, floor: float = 1e-4) -> Tensor:
    """0 in episodes with any token of c < floor, which the trainer holds to be impossible; else 1."""
    check_number("floor", floor, 0, 1)
    out = episode_sum(scored, (anchor_gap(scored).exp() < floor).to(scored.logp_old.dtype))
    return scored.per_token((out == 0).to(scored.logp_old.dtype))


@CORRECTORS.register("opsm")
def opsm(scored: Scored, delta: float = 0.1) -> Tensor:
    """0 at tokens with A < 0 in episodes where the mean of log mu - log pi exceeds ``delta`` nats, else 1: what the
    policy has moved away from is not pushed further (off-policy sequence mask, DeepSeek-V3.2, arXiv 2512.02556, section
    3.1).

    The paper publishes no ``delta``; the default is ours.
    """
    check_number("delta", delta, 0)
    drift = episode_mean(scored, sampled(scored, scored.logp_mu - scored.logp))
    far = scored.per_token(drift) > delta
    return (~(far & (scored.advantage < 0))).to(scored.logp_old.dtype)


@CORRECTORS.register("m2po")
@needs("batch")
def m2po(scored: Scored, limit: float = 0.04) -> Tensor:
    """0 at the tokens with the largest (log pi - log mu)^2 among those that have moved the way A pushes them (A > 0 and
    pi > mu, or A < 0 and pi < mu), as many as it takes for the mean over the others of these to be at most ``limit``;
    1 everywhere else, as in a clip (M2PO, arXiv 2510.01161, algorithm 1).

    Of equal tokens at the edge all are dropped.
    """
    check_number("limit", limit, 0)
    gap = sampled(scored, scored.logp - scored.logp_mu)
    square, pushed = gap**2, (gap * scored.advantage > 0) & scored.trained
    kept = none(scored)
    if pushed.any():
        ordered = square[pushed].sort().values
        counts = torch.arange(1, len(ordered) + 1, dtype=ordered.dtype, device=ordered.device)
        too_far = ordered.cumsum(0) / counts > limit
        if too_far.any():
            kept = (~pushed | (square < ordered[too_far][0])).to(kept.dtype)
    return kept


@CORRECTORS.register("both")
def both(
    scored: Scored, first: Callable[[Scored], Tensor] = geometric_band, second: Callable[[Scored], Tensor] = none
) -> Tensor:
    """The product of two correctors: one that rejects and one that weighs, for instance. It needs what they need."""
    return first(scored) * second(scored)
