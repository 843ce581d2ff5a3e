"""Trust regions other than a clipped ratio: differences of probability, divergences, soft gates; r = pi / pi_old."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ..loss_arrays import Statistics, surrogate
from .ratios import probability_ratio


@surrogate("sapo")
def sapo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, tau_positive: float = 1.0, tau_negative: float = 1.05
) -> Tensor:
    """A (4 / tau) sigmoid(tau (r - 1)), with tau by the sign of A: at r = 1 its gradient is the policy gradient, which
    fades out on both sides (SAPO, arXiv 2511.20347). The gradient flows through r = pi / pi_old."""
    check_number("tau_positive", tau_positive, 1e-6)
    check_number("tau_negative", tau_negative, 1e-6)
    tau = torch.full_like(adv_t, tau_negative)
    tau[adv_t > 0] = tau_positive
    return torch.sigmoid(tau * (probability_ratio(logp_t, logp_old_t) - 1)) * 4 / tau * adv_t


@surrogate("dppo_tv")
def dppo_tv(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    low: float = 0.15,
    high: float = 0.15,
    cap: float = 20.0,
    form: str = "weighted",
) -> tuple[Tensor, Statistics]:
    """Policy gradient without tokens whose probability has moved too far already: pi - pi_old > high with A > 0, or <
    -low with A < 0 (DPPO with binary total variation, arXiv 2602.04879). The selection is detached. Use with the anchor
    "sampler".

    Args:
        form: "weighted": sg(min(r, cap)) A log pi; "ratio": r A with the gradient through r. Below the cap both have
            the same gradient.
    """
    moved = (logp_t.exp() - logp_old_t.exp()).detach()
    dropped = torch.where(adv_t > 0, moved > high, moved < -low)
    return _drop(logp_t, logp_old_t, adv_t, dropped, cap, form)


@surrogate("dppo_kl")
def dppo_kl(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    low: float = 0.05,
    high: float = 0.05,
    cap: float = 20.0,
    form: str = "weighted",
) -> tuple[Tensor, Statistics]:
    """Variant of "dppo_tv" whose distance is KL((q, 1 - q) || (p, 1 - p)) with p = pi and q = pi_old of the token; a
    token that moves back is never dropped (DPPO with binary KL, arXiv 2602.04879)."""
    with torch.no_grad():
        p, q = logp_t.exp(), logp_old_t.exp()
        tiny = torch.finfo(p.dtype).eps
        rest = (1 - q) * (torch.log(1 - q + tiny) - torch.log(1 - p + tiny))
        divergence = q * (logp_old_t - logp_t) + rest
        dropped = torch.where(adv_t > 0, (divergence > high) & (p > q), (divergence > low) & (p < q))
    return _drop(logp_t, logp_old_t, adv_t, dropped, cap, form)


def _drop(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, dropped_t: Tensor, cap: float, form: str
) -> tuple[Tensor, Statistics]:
    check_choice("form", form, ("weighted", "ratio"))
    r = probability_ratio(logp_t, logp_old_t)
    free = r if form == "ratio" else r.detach().clamp(max=cap) * logp_t
    return ~dropped_t * free * adv_t, {"clip_fraction": dropped_t}


@surrogate("ipo")
def ipo(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, threshold: float = 0.2) -> tuple[Tensor, Statistics]:
    """r A where |pi - pi_old| <= threshold, else 0, whatever the sign of A (prime-rl's loss "ipo"). The selection is
    detached. Use with the regulariser "log_ratio_square"."""
    check_number("threshold", threshold, 0, 1)
    dropped = (logp_t.exp() - logp_old_t.exp()).detach().abs() > threshold
    return ~dropped * probability_ratio(logp_t, logp_old_t) * adv_t, {"clip_fraction": dropped}


@surrogate("rollout_is")
def rollout_is(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, low: float = 0.5, high: float = 2.0
) -> tuple[Tensor, Statistics]:
    """r A where low <= r <= high, else 0: importance sampling that drops tokens outside the band instead of truncating.
    The gradient flows through r = pi / pi_old."""
    check_number("low of rollout_is", low, 0, 1)
    check_number("high of rollout_is", high, 1)
    r = probability_ratio(logp_t, logp_old_t)
    dropped = ((r < low) | (r > high)).detach()
    return ~dropped * r * adv_t, {"clip_fraction": dropped}
