"""Penalties relative to other distributions than the reference: a teacher, the base policy on rehearsed solutions, and
the policy without its unlikely tokens."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ...batch.scored import needs
from ...batch.segments import Segments
from ..loss_arrays import Statistics, regulariser
from ..surrogates.ratios import bounded_exp
from .kl import k2, k3, penalty


@regulariser("kdrl")
@needs("batch", "every_row")
def kdrl(
    logp_t: Tensor,
    logp_teacher_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    coefficient: float = 5e-3,
    unless: str = "none",
    threshold: float = 0.5,
) -> tuple[Tensor, Statistics]:
    """coefficient x (log pi - log teacher)^2 / 2, the k2 estimate of KL(pi || teacher) (KDRL, arXiv 2506.02208, which
    anneals the coefficient from 5e-3 to 1e-3).

    Args:
        unless: "none": all episodes are penalised; "response": episodes with an outcome above ``threshold`` are not;
            "group": groups that contain such an episode are not.
    """
    check_choice("unless", unless, ("none", "response", "group"))
    distance = k2(logp_teacher_t - logp_t)
    if unless != "none":
        right = (outcome_e > threshold).to(distance.dtype)
        solved = right if unless == "response" else group.shared_sum(right)
        distance = distance * (episode.expand(solved) == 0)
    return penalty(distance, coefficient, "kl_teacher")


@regulariser("rehearsal_divergence")
@needs("every_row")
def rehearsal_divergence(
    logp_t: Tensor, logp_mu_t: Tensor, coefficient: float = 0.01, kind: str = "forward_kl", alpha: float = 0.2
) -> tuple[Tensor, Statistics]:
    """coefficient x f(u), u = pi / pi_0 at tokens that the base policy pi_0 sampled, whose log-probabilities are
    ``logp_mu_t`` (DPH-RL, arXiv 2509.07430). For a stream of rehearsed solutions; no reference model is needed.

    Args:
        kind: "forward_kl": f = u - 1 - log u (coefficient 0.01-0.05); "js": f = u log u - (u + 1) log((u + 1) / 2)
            (0.05-0.2); "alpha": f = (u^(1 - alpha) - (1 - alpha) u - alpha) / (alpha (alpha - 1)) (0.01). All are 0,
            with slope 0, at u = 1.
    """
    return penalty(rehearsal_distance(logp_t - logp_mu_t, kind, alpha), coefficient, "rehearsal")


def rehearsal_distance(log_u: Tensor, kind: str, alpha: float) -> Tensor:
    """Return f(u) of `rehearsal_divergence`, [A] -> [A]; the argument is log u."""
    check_choice("kind", kind, ("forward_kl", "js", "alpha"))
    if kind == "forward_kl":
        return k3(log_u)
    u = bounded_exp(log_u)
    if kind == "js":
        # log((u + 1) / 2), in a form that is exact for very small and very large u
        return u * log_u - (u + 1) * (torch.nn.functional.softplus(log_u) - torch.log(torch.full_like(u, 2.0)))
    check_number("alpha", alpha, 1e-3, 1 - 1e-3)
    return (bounded_exp((1 - alpha) * log_u) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


@regulariser("low_prob_shield")
@needs("batch", "every_row")
def low_prob_shield(
    logp_t: Tensor,
    logp_old_t: Tensor,
    adv_t: Tensor,
    trained_t: Tensor,
    logp_top_tk: Tensor,
    logp_top_old_tk: Tensor,
    coefficient: float = 1.0,
    share: float = 0.01,
    kappa: float = 0.02,
    among: str = "all",
) -> tuple[Tensor, Statistics]:
    """coefficient x KL(proxy || pi) at tokens with A < 0 that are unlikely but not noise: pi is among the lowest
    ``share``, and pi_old at least ``kappa`` x its maximum at that position (Lp-Reg, arXiv 2510.03222).

    The proxy is pi_old without the tokens below kappa x maximum, renormalised. It is computed from the `forward.TOP`
    likeliest tokens, so a very flat distribution loses its tail. At pi = pi_old the divergence is -log(kept mass), and
    its gradient moves mass from noise to the kept tokens.

    Args:
        among: tokens of which the lowest share is taken: "all" (paper) or "negative" (A < 0; released code, which also
            replaces the divergence by k3 at the sampled token). The selection is detached; tokens that tie at the limit
            are all included.
    """
    check_choice("among", among, ("negative", "all"))
    check_number("share", share, 0, 1)
    check_number("kappa", kappa, 1e-9, 1)
    threshold = logp_top_old_tk[:, 0] + math.log(kappa)
    kept = logp_top_old_tk >= threshold[:, None]
    proxy = torch.where(kept, logp_top_old_tk, -math.inf).log_softmax(-1)
    divergence = torch.where(kept, proxy.exp() * (proxy - logp_top_tk), 0.0).sum(-1)
    logp = logp_t.detach()
    negative = (adv_t < 0) & trained_t
    pool = negative if among == "negative" else trained_t
    shielded = torch.zeros_like(negative)
    if pool.any():
        wanted = max(int(share * int(pool.sum())), 1)
        edge = logp[pool].sort().values[wanted - 1]
        shielded = negative & (logp <= edge) & (logp_old_t >= threshold)
    penalties = torch.where(shielded, divergence, 0.0)
    total = (penalties.sum().item(), max(int(shielded.sum()), 1))
    return coefficient * penalties, {"shielded": shielded, "shield_kl": total}
