"""Clips whose bounds or weights depend on the token's probability, or on the balance of the batch; r = pi / pi_old."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import SURROGATES
from .clip import clip, pessimistic
from .ratios import counted, ratio_of


@SURROGATES.register("dcpo")
def dcpo(scored: Scored, low: float = 0.16, high: float = 0.2, largest: float = 10.0) -> LossTerm:
    """The clip with bounds from q = pi_old: (1 + sqrt(max(1 - 4 low / q, 0))) / 2 and min((1 + sqrt(1 + 4 high / q)) /
    2, largest), the solutions of |r - 1| r = eps / q (DCPO, arXiv 2509.02333).
    """
    free = ratio_of(scored)
    q = scored.logp_old.exp().clamp(min=torch.finfo(free.dtype).tiny)
    lower = (1 + (1 - 4 * low / q).clamp(min=0).sqrt()) / 2
    upper = ((1 + (1 + 4 * high / q).sqrt()) / 2).clamp(max=largest)
    return pessimistic(free, torch.minimum(torch.maximum(free, lower), upper), scored)


@SURROGATES.register("aspo")
def aspo(scored: Scored, low: float = 0.2, high: float = 0.2, cap: float = 3.0) -> LossTerm:
    """The clip with the ratio of positive advantages turned over: for A > 0 the gradient is A / r instead of A r, so
    that tokens that have become likely learn less (ASPO, arXiv 2510.06062).

    A > 0: sg(min(1 / r, cap)) A log pi while r <= 1 + high. A < 0: sg(min(r, cap)) A log pi while r >= 1 - low. The
    factor is detached, so a factor at its cap still has a gradient (soft dual clipping).
    """
    check_number("cap", cap, 1)
    with torch.no_grad():
        r = ratio_of(scored)
        positive = scored.advantage > 0
        inside = torch.where(positive, r <= 1 + high, r >= 1 - low)
        factor = torch.where(positive, (-scored.log_ratio).clamp(max=30).exp(), r).clamp(max=cap)
    stats = {"clip_fraction": counted(~inside & (scored.advantage != 0), scored)}
    return LossTerm(factor * inside * scored.advantage * scored.logp, stats)


@SURROGATES.register("tr_grpo")
def tr_grpo(
    scored: Scored,
    low: float = 0.2,
    high: float = 0.2,
    scale: float = 2.0,
    steepness: float = 9.0,
    centre: float = 0.25,
    factors: tuple[float, float] = (1.0, 1.4),
) -> LossTerm:
    """w x the clip, w = scale (sigmoid(steepness sg(pi)) - centre) cut to ``factors``: unlikely tokens, whose gradients
    are large, count less than likely ones (TR-GRPO, later GRPO-SG, arXiv 2511.00066).

    The form is the paper's, the constants are ours.
    """
    term = clip(scored, low, high)
    weight = scale * (torch.sigmoid(steepness * scored.logp.detach().exp()) - centre)
    return LossTerm(weight.clamp(*factors) * term.value, term.stats)


@SURROGATES.register("lp_reg")
def lp_reg(scored: Scored, largest: float = 10.0) -> LossTerm:
    """clip(r, 0, largest) A: no lower bound, and no gradient beyond ``largest`` whatever the sign of A (Lp-Reg, arXiv
    2510.03222); goes with the regulariser "low_prob_shield".
    """
    r = ratio_of(scored)
    return LossTerm(r.clamp(max=largest) * scored.advantage, {"clip_fraction": counted(r > largest, scored)})


@SURROGATES.register("bapo")
@needs("batch", "every_row")
def bapo(
    scored: Scored,
    share: float = 0.4,
    low: tuple[float, float] = (0.6, 0.9),
    high: tuple[float, float] = (1.2, 3.0),
    low_step: float = 0.02,
    high_step: float = 0.05,
) -> LossTerm:
    """The clip with bounds [b_low, b_high] that are raised until tokens with A > 0 make up ``share`` of what the batch
    contributes (BAPO, arXiv 2510.18927, eq. 8 and algorithm 1).

    Both start at the first number of their range; while the share is too small, b_high grows by ``high_step`` and, once
    it has arrived, b_low by ``low_step``. A token contributes pi_old x the magnitude of its clipped value. Bounds are
    detached.
    """
    free = ratio_of(scored)
    b_low, b_high = balanced_bounds(free.detach(), scored, share, low, high, low_step, high_step)
    term = pessimistic(free, free.clamp(b_low, b_high), scored)
    return LossTerm(term.value, {**term.stats, "bapo_low": (b_low, 1), "bapo_high": (b_high, 1)})


def balanced_bounds(
    r: Tensor,
    scored: Scored,
    share: float,
    low: tuple[float, float],
    high: tuple[float, float],
    low_step: float,
    high_step: float,
) -> tuple[float, float]:
    """The first pair of bounds on BAPO's path at which positive tokens contribute ``share``, or its end."""
    check_number("share of bapo", share, 0, 1)
    check_number("low_step", low_step, 1e-4)
    check_number("high_step", high_step, 1e-4)
    size = scored.logp_old.exp() * scored.advantage.abs() * scored.trained
    positive, negative = scored.advantage > 0, scored.advantage < 0
    b_low, b_high = low[0], high[0]
    while True:
        gain = (size * r.clamp(max=b_high))[positive].sum().item()
        loss = (size * r.clamp(min=b_low))[negative].sum().item()
        if gain >= share * (gain + loss):
            return b_low, b_high
        if b_high + high_step <= high[1] + 1e-9:
            b_high += high_step
        elif b_low + low_step <= low[1] + 1e-9:
            b_low += low_step
        else:
            return b_low, b_high
