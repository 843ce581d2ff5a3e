"""Penalties that also depend on the previous policy or on the difficulty of the task, and imitation of all samples."""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ...batch.scored import needs
from ...batch.segments import Segments
from ..loss_arrays import Statistics, regulariser
from .kl import ESTIMATES, k3, penalty


@regulariser("kl_convex")
@needs("logp_old", "every_row")
def kl_convex(
    logp_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    coefficient: float = 0.1,
    share: float = 1.0,
    estimate: str = "k3",
) -> tuple[Tensor, Statistics]:
    """coefficient x (share x KL(pi || ref) + (1 - share) x KL(pi || pi_old)) (ReMix, arXiv 2507.06892).

    pi_old is the anchor, which must be "policy". ReMix lowers the share from 1 to 0.5.
    """
    check_number("share", share, 0, 1)
    k = ESTIMATES[check_choice("estimate", estimate, ("k2", "k3"))]
    return penalty(share * k(logp_ref_t - logp_t) + (1 - share) * k(logp_old_t - logp_t), coefficient)


@regulariser("kl_by_difficulty")
@needs("batch", "every_row")
def kl_by_difficulty(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    kl_scale_e: Tensor,
    episode: Segments,
    group: Segments,
    coefficient: float = 1e-3,
    hard: float = 0.5,
    border: float = 0.3,
    threshold: float = 0.5,
) -> tuple[Tensor, Statistics]:
    """k3 estimate of KL(pi || ref), with ``hard`` x the coefficient in groups where at most a share ``border`` of the
    episodes has an outcome above ``threshold`` (CLPO, arXiv 2509.25004). If the teacher set a factor
    (`Trajectory.kl_scale`), that factor is used instead of ``hard``."""
    rate = group.shared_mean((outcome_e > threshold).to(logp_t.dtype))
    graded = (rate <= border + 1e-6) & kl_scale_e.isnan()
    factor = torch.where(episode.expand(graded), hard, 1.0)
    return penalty(k3(logp_ref_t - logp_t), coefficient * factor)


@regulariser("log_ratio_square")
@needs("every_row")
def log_ratio_square(logp_t: Tensor, logp_old_t: Tensor, coefficient: float = 1e-3) -> tuple[Tensor, Statistics]:
    """coefficient x (log pi - log pi_old)^2: keeps the policy near the anchor (prime-rl's default loss; OPMD in arXiv
    2509.24203 with 0.1)."""
    return penalty((logp_t - logp_old_t) ** 2, coefficient, "log_ratio_square")


@regulariser("imitation")
@needs("every_row")
def imitation(logp_t: Tensor, coefficient: float = 0.1) -> Tensor:
    """-coefficient x log pi: imitates every sample a little, equivalent to a baseline lower by ``coefficient`` (AsymRE
    in arXiv 2509.24203)."""
    return -coefficient * logp_t
