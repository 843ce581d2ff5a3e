"""Clips whose bounds or weights depend on a token's probability or on the balance of the batch; r = pi / pi_old."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import needs
from ..loss_arrays import Statistics, surrogate
from .clip import clipped_surrogate, pessimistic
from .ratios import bounded_exp, probability_ratio


@surrogate("dcpo")
def dcpo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.16, high: float = 0.2, largest: float = 10.0
) -> tuple[Tensor, Statistics]:
    """PPO's clip with bounds that depend on q = pi_old: (1 + sqrt(max(1 - 4 low / q, 0))) / 2 and min((1 + sqrt(1 + 4
    high / q)) / 2, largest), the solutions of |r - 1| r = eps / q (DCPO, arXiv 2509.02333)."""
    r = probability_ratio(logp_t, logp_old_t)
    q = logp_old_t.exp().clamp(min=torch.finfo(r.dtype).tiny)
    lower = (1 + (1 - 4 * low / q).clamp(min=0).sqrt()) / 2
    upper = ((1 + (1 + 4 * high / q).sqrt()) / 2).clamp(max=largest)
    return pessimistic(r, torch.minimum(torch.maximum(r, lower), upper), adv_t)


@surrogate("aspo")
def aspo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.2, high: float = 0.2, cap: float = 3.0
) -> tuple[Tensor, Statistics]:
    """PPO's clip with an inverted ratio at positive advantages: for A > 0 the gradient is A / r instead of A r, so that
    tokens that have become likely learn less (ASPO, arXiv 2510.06062).

    With sg for stop-gradient: for A > 0, sg(min(1 / r, cap)) A log pi while r <= 1 + high; for A < 0, sg(min(r, cap)) A
    log pi while r >= 1 - low. As the factor is detached, a token with a factor at its cap still has a gradient (soft
    dual clipping).
    """
    check_number("cap", cap, 1)
    positive = adv_t > 0
    with torch.no_grad():
        r = probability_ratio(logp_t, logp_old_t)
        inside = torch.where(positive, r <= 1 + high, r >= 1 - low)
        factor = torch.where(positive, bounded_exp(logp_old_t - logp_t), r).clamp(max=cap)
    return factor * inside * adv_t * logp_t, {"clip_fraction": ~inside & (adv_t != 0)}


@surrogate("tr_grpo")
def tr_grpo(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    low: float = 0.2,
    high: float = 0.2,
    scale: float = 2.0,
    steepness: float = 9.0,
    centre: float = 0.25,
    factors: tuple[float, float] = (1.0, 1.4),
) -> tuple[Tensor, Statistics]:
    """PPO's clip times w = scale (sigmoid(steepness pi) - centre), detached and limited to ``factors``: unlikely
    tokens, whose gradients are large, count less than likely ones (TR-GRPO, later GRPO-SG, arXiv 2511.00066).

    The form is the paper's, the constants are ours.
    """
    value, statistics = clipped_surrogate(logp_t, logp_old_t, adv_t, low, high)
    weight = scale * (torch.sigmoid(steepness * logp_t.detach().exp()) - centre)
    return weight.clamp(*factors) * value, statistics


@surrogate("lp_reg")
def lp_reg(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, largest: float = 10.0) -> tuple[Tensor, Statistics]:
    """clip(r, 0, largest) A with r = pi / pi_old: no lower bound, and no gradient above ``largest`` whatever the sign
    of A (Lp-Reg, arXiv 2510.03222). Use with the regulariser "low_prob_shield"."""
    r = probability_ratio(logp_t, logp_old_t)
    return r.clamp(max=largest) * adv_t, {"clip_fraction": r > largest}


@surrogate("bapo")
@needs("batch", "every_row")
def bapo(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    trained_t: Tensor,
    share: float = 0.4,
    low: tuple[float, float] = (0.6, 0.9),
    high: tuple[float, float] = (1.2, 3.0),
    low_step: float = 0.02,
    high_step: float = 0.05,
) -> tuple[Tensor, Statistics]:
    """PPO's clip with bounds [b_low, b_high] that are raised until tokens with A > 0 contribute ``share`` of the
    batch's surrogate (BAPO, arXiv 2510.18927, eq. 8 and algorithm 1; see `balanced_bounds`). Bounds are detached."""
    r = probability_ratio(logp_t, logp_old_t)
    size = logp_old_t.exp() * adv_t.abs() * trained_t
    b_low, b_high = balanced_bounds(r.detach(), size, adv_t, share, low, high, low_step, high_step)
    value, statistics = pessimistic(r, r.clamp(b_low, b_high), adv_t)
    return value, {**statistics, "bapo_low": (b_low, 1), "bapo_high": (b_high, 1)}


def balanced_bounds(
    r_t: Tensor,
    size_t: Tensor,
    adv_t: Tensor,
    share: float,
    low: tuple[float, float],
    high: tuple[float, float],
    low_step: float,
    high_step: float,
) -> tuple[float, float]:
    """Return the first pair of bounds on BAPO's path at which positive tokens contribute ``share``, or the last pair.

    Both bounds start at the first number of their range. While the share is too small, b_high grows by ``high_step``
    and, once it has reached the end of its range, b_low by ``low_step``. A token contributes ``size_t`` (pi_old x |A|)
    x its clipped ratio.
    """
    check_number("share of bapo", share, 0, 1)
    check_number("low_step", low_step, 1e-4)
    check_number("high_step", high_step, 1e-4)
    positive, negative = adv_t > 0, adv_t < 0
    b_low, b_high = low[0], high[0]
    while True:
        gain = (size_t * r_t.clamp(max=b_high))[positive].sum().item()
        loss = (size_t * r_t.clamp(min=b_low))[negative].sum().item()
        if gain >= share * (gain + loss):
            return b_low, b_high
        if b_high + high_step <= high[1] + 1e-9:
            b_high += high_step
        elif b_low + low_step <= low[1] + 1e-9:
            b_low += low_step
        else:
            return b_low, b_high
