"""Supervised learning as surrogates: log-likelihood of tokens of any origin, and distillation; sg: stop-gradient."""

from __future__ import annotations

from torch import Tensor

from ...batch.scored import needs
from ..loss_arrays import Statistics, surrogate
from .ratios import probability_ratio


@surrogate("likelihood")
@needs("every_row")
def log_likelihood(logp_t: Tensor) -> tuple[Tensor, Statistics]:
    """log pi, without the advantage: maximum likelihood, supervised fine-tuning."""
    return logp_t, {"nll": (-logp_t.detach().sum(), logp_t.numel())}


@surrogate("sft_is")
@needs("every_row")
def expert_weighted_likelihood(logp_t: Tensor) -> Tensor:
    """sg(pi) log pi, without the advantage: supervised learning with the importance weight pi / 1, as if the expert
    were certain of every token (CHORD, arXiv 2508.11408; DFT, arXiv 2508.05629). The weight is detached."""
    return logp_t.detach().exp() * logp_t


@surrogate("sft_phi")
@needs("every_row")
def uncertain_token_likelihood(logp_t: Tensor) -> Tensor:
    """sg(pi (1 - pi)) log pi, without the advantage: tokens of which the policy is uncertain count most (CHORD, arXiv
    2508.11408). The weight is detached."""
    p = logp_t.detach().exp()
    return p * (1 - p) * logp_t


@surrogate("entropy_weighted_likelihood")
@needs("batch", "every_row")
def entropy_weighted_likelihood(
    logp_t: Tensor, entropy_t: Tensor, trained_t: Tensor, scale: float = 0.5, power: float = -1.0
) -> Tensor:
    """scale x exp(power x H) log pi, without the advantage, H being the mean entropy of the policy at the trained
    tokens, detached: an uncertain policy imitates less (SRFT, arXiv 2506.19767: 0.5 exp(-H) on demonstrations)."""
    mean = (entropy_t.detach() * trained_t).sum() / trained_t.sum().clamp(min=1)
    return scale * (power * mean).exp() * logp_t


@surrogate("distill")
@needs("every_row")
def distill(logp_t: Tensor, logp_old_t: Tensor, logp_teacher_t: Tensor) -> tuple[Tensor, Statistics]:
    """r sg(log teacher - log pi), without the advantage: the policy gradient of -KL(pi || teacher) at each token of the
    policy's samples (on-policy distillation; arXiv 2306.13649). Only r has a gradient."""
    gap = (logp_teacher_t - logp_t).detach()
    return probability_ratio(logp_t, logp_old_t) * gap, {"teacher_gap": -gap}
