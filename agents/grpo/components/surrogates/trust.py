"""Trust regions other than a clip of the ratio: gaps of probability, divergences, and soft gates; r = pi / pi_old."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ...batch.scored import LossTerm, Scored
from ...recipes.stages import SURROGATES
from .ratios import counted, ratio_of


@SURROGATES.register("sapo")
def sapo(scored: Scored, tau_positive: float = 1.0, tau_negative: float = 1.05) -> LossTerm:
    """A (4 / tau) sigmoid(tau (r - 1)), tau by the sign of A: at r = 1 the gradient of the policy gradient, fading out
    on both sides (SAPO, arXiv 2511.20347). The gradient flows through r.
    """
    check_number("tau_positive", tau_positive, 1e-6)
    check_number("tau_negative", tau_negative, 1e-6)
    tau = torch.full_like(scored.advantage, tau_negative)
    tau[scored.advantage > 0] = tau_positive
    gate = torch.sigmoid(tau * (ratio_of(scored) - 1)) * 4 / tau
    return LossTerm(gate * scored.advantage)


@SURROGATES.register("dppo_tv")
def dppo_tv(
    scored: Scored, low: float = 0.15, high: float = 0.15, cap: float = 20.0, form: str = "weighted"
) -> LossTerm:
    """Drop a token where its probability has moved too far already: pi - pi_old > high with A > 0, or < -low with A < 0
    (DPPO with binary total variation, arXiv 2602.04879). Which tokens are dropped is detached.

    ``form``: "weighted", sg(min(r, cap)) A log pi; "ratio", r A with the gradient through r. Below the cap both have
    the same gradient. Meant for the anchor "sampler".
    """
    moved = (scored.logp.exp() - scored.logp_old.exp()).detach()
    dropped = torch.where(scored.advantage > 0, moved > high, moved < -low)
    return _kept(scored, dropped, cap, form)


@SURROGATES.register("dppo_kl")
def dppo_kl(
    scored: Scored, low: float = 0.05, high: float = 0.05, cap: float = 20.0, form: str = "weighted"
) -> LossTerm:
    """`dppo_tv` with the KL divergence of (p, 1 - p) under pi_old from the same under pi as the distance; a token that
    moves back is never dropped (DPPO with binary KL, arXiv 2602.04879).
    """
    with torch.no_grad():
        p, q = scored.logp.exp(), scored.logp_old.exp()
        tiny = torch.finfo(p.dtype).eps
        rest = (1 - q) * (torch.log(1 - q + tiny) - torch.log(1 - p + tiny))
        divergence = q * (scored.logp_old - scored.logp) + rest
        positive = scored.advantage > 0
        dropped = torch.where(positive, (divergence > high) & (p > q), (divergence > low) & (p < q))
    return _kept(scored, dropped, cap, form)


def _kept(scored: Scored, dropped: Tensor, cap: float, form: str) -> LossTerm:
    check_choice("form", form, ("weighted", "ratio"))
    r = ratio_of(scored)
    free = r if form == "ratio" else r.detach().clamp(max=cap) * scored.logp
    return LossTerm(~dropped * free * scored.advantage, {"clip_fraction": counted(dropped, scored)})


@SURROGATES.register("ipo")
def ipo(scored: Scored, threshold: float = 0.2) -> LossTerm:
    """r A where |pi - pi_old| <= threshold, else 0, whatever the sign of A; goes with the regulariser
    "log_ratio_square" (prime-rl's loss "ipo"). Which tokens are dropped is detached.
    """
    check_number("threshold", threshold, 0, 1)
    dropped = (scored.logp.exp() - scored.logp_old.exp()).detach().abs() > threshold
    return LossTerm(~dropped * ratio_of(scored) * scored.advantage, {"clip_fraction": counted(dropped, scored)})


@SURROGATES.register("rollout_is")
def rollout_is(scored: Scored, low: float = 0.5, high: float = 2.0) -> LossTerm:
    """r A where low <= r <= high, else 0: importance sampling without truncation, samples outside the band are dropped.
    The gradient flows through r.
    """
    check_number("low of rollout_is", low, 0, 1)
    check_number("high of rollout_is", high, 1)
    r = ratio_of(scored)
    dropped = ((r < low) | (r > high)).detach()
    return LossTerm(~dropped * r * scored.advantage, {"clip_fraction": counted(dropped, scored)})
