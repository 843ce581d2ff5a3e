"""Penalties towards other distributions than the reference: a teacher, the policy that rehearsed, the policy's own
unlikely tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import REGULARISERS
from ..surrogates.ratios import bounded_exp, group_sum
from .kl import k2, k3, penalty


@REGULARISERS.register("kdrl")
@needs("batch", "logp_teacher", "every_row")
def kdrl(scored: Scored, coefficient: float = 5e-3, unless: str = "none", threshold: float = 0.5) -> LossTerm:
    """coefficient x (log pi - log teacher)^2 / 2, k2 of KL(pi || teacher) (KDRL, arXiv 2506.02208; anneal 5e-3 ->
    1e-3).

    ``unless``: "none"; "response", no penalty on episodes with an outcome above ``threshold``; "group", none on all
    episodes of a group in which any has.
    """
    assert scored.logp_teacher is not None
    check_choice("unless", unless, ("none", "response", "group"))
    distance = k2(scored.logp_teacher - scored.logp)
    if unless != "none":
        right = (scored.outcome > threshold).to(distance.dtype)
        solved = right if unless == "response" else group_sum(scored, right)
        distance = distance * (scored.per_token(solved) == 0)
    return penalty(distance, coefficient, "kl_teacher")


@REGULARISERS.register("rehearsal_divergence")
@needs("every_row")
def rehearsal_divergence(
    scored: Scored, coefficient: float = 0.01, kind: str = "forward_kl", alpha: float = 0.2
) -> LossTerm:
    """coefficient x f(u), u = pi / pi_0 on tokens that the base policy pi_0 sampled, whose log-probabilities are
    ``logp_mu`` (DPH-RL, arXiv 2509.07430). For a stream of rehearsed solutions; no reference model is needed.

    ``kind``: "forward_kl", f = u - 1 - log u (coefficient 0.01-0.05); "js", f = u log u - (u + 1) log((u + 1) / 2)
    (0.05-0.2); "alpha", f = (u^(1 - alpha) - (1 - alpha) u - alpha) / (alpha (alpha - 1)) (0.01). All are 0, with slope
    0, at u = 1.
    """
    log_u = scored.logp - scored.logp_mu
    return penalty(divergence(log_u, kind, alpha), coefficient, "rehearsal")


def divergence(log_u: Tensor, kind: str, alpha: float) -> Tensor:
    """f(u) of `rehearsal_divergence`, [A] -> [A]."""
    check_choice("kind", kind, ("forward_kl", "js", "alpha"))
    if kind == "forward_kl":
        return k3(log_u)
    u = bounded_exp(log_u)
    if kind == "js":
        # log((u + 1) / 2), in a form that neither end of u spoils
        return u * log_u - (u + 1) * (torch.nn.functional.softplus(log_u) - torch.log(torch.full_like(u, 2.0)))
    check_number("alpha", alpha, 1e-3, 1 - 1e-3)
    return (bounded_exp((1 - alpha) * log_u) - (1 - alpha) * u - alpha) / (alpha * (alpha - 1))


@REGULARISERS.register("low_prob_shield")
@needs("batch", "every_row")
def low_prob_shield(
    scored: Scored, coefficient: float = 1.0, share: float = 0.01, floor: float = 0.02, among: str = "negative"
) -> LossTerm:
    """k3 of log pi_old - log pi at unlikely tokens that are about to become unlikelier: A < 0, log pi < log pi_old,
    pi_old > floor, and pi among the lowest ``share`` (Lp-Reg, arXiv 2510.03222).

    The proxy that shields is pi_old without its noise, the tokens of at most ``floor``: the paper's fixed threshold
    (its min-p form needs the largest probability at each position). The proxy's renormalisation, a few per cent, is
    left out.

    ``among``: whose lowest share, that of the "negative" tokens (A < 0; released code) or of "all" (paper). Candidates
    are detached, ties at the edge are all in.
    """
    check_choice("among", among, ("negative", "all"))
    check_number("share", share, 0, 1)
    check_number("floor", floor, 0, 1)
    logp = scored.logp.detach()
    negative = (scored.advantage < 0) & scored.trained
    pool = negative if among == "negative" else scored.trained
    shielded = torch.zeros_like(negative)
    if pool.any():
        wanted = max(int(share * int(pool.sum())), 1)
        edge = logp[pool].sort().values[wanted - 1]
        falling = (logp < scored.logp_old) & (scored.logp_old.exp() > floor)
        shielded = negative & falling & (logp <= edge)
    value = torch.where(shielded, k3(scored.logp_old - scored.logp), 0.0)
    return LossTerm(coefficient * value, {"shielded": (shielded.sum().item(), scored.trained.sum().item())})
