"""Meters: regularisers of value 0 that report a statistic of the loss, for logs and guards."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.scored import needs
from ..loss_arrays import Statistics, regulariser
from ..surrogates.ratios import probability_ratio


@regulariser("clip_bias")
@needs("batch")
def clip_bias(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, trained_t: Tensor, high: float = 0.2
) -> tuple[Tensor, Statistics]:
    """0; reports how much of the surrogate PPO's upper clip removes ("Clipping, Entropy and Spurious Reward", arXiv
    2512.16912).

    With r = pi / pi_old, "clip_correction" is |C+|, C+ = sum of (1 + high - r) A over tokens with r > 1 + high;
    "raw_surrogate" is |N|, N = sum of r A. Both sums are over the trained tokens of an optimiser batch. For random
    rewards the paper shows E|N| / E|C+| >= 17: the bias of the clip is too small to learn from.
    """
    r = probability_ratio(logp_t.detach(), logp_old_t)
    taken = torch.where(r > 1 + check_number("high", high, 0), (1 + high - r) * adv_t, 0.0)
    totals = {"clip_correction": taken, "raw_surrogate": r * adv_t}
    return torch.zeros_like(logp_t), {
        name: (abs((value * trained_t).sum().item()), 1.0) for name, value in totals.items()
    }
