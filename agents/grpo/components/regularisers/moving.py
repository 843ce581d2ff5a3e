"""Penalties whose reference or coefficient moves: to the last policy too, or by how hard the task is."""

from __future__ import annotations

import torch

from .....checks import check_choice, check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import REGULARISERS
from ..surrogates.ratios import group_mean
from .kl import ESTIMATES, gap, penalty


@REGULARISERS.register("kl_convex")
@needs("logp_ref", "logp_old", "every_row")
def kl_convex(scored: Scored, coefficient: float = 0.1, share: float = 1.0, estimate: str = "k3") -> LossTerm:
    """coefficient x (share x KL(pi || ref) + (1 - share) x KL(pi || last policy)) (ReMix, arXiv 2507.06892).

    The last policy is the anchor; take the anchor "policy". ReMix's share falls from 1 to 0.5.
    """
    check_number("share", share, 0, 1)
    k = ESTIMATES[check_choice("estimate", estimate, ("k2", "k3"))]
    return penalty(share * k(gap(scored)) + (1 - share) * k(-scored.log_ratio), coefficient)


@REGULARISERS.register("kl_by_difficulty")
@needs("batch", "logp_ref", "every_row")
def kl_by_difficulty(
    scored: Scored, coefficient: float = 1e-3, hard: float = 0.5, border: float = 0.3, threshold: float = 0.5
) -> LossTerm:
    """k3 with ``hard`` x the coefficient in groups of which at most ``border`` reach an outcome above ``threshold``
    (CLPO, arXiv 2509.25004).
    """
    rate = group_mean(scored, (scored.outcome > threshold).to(scored.logp_old.dtype))
    factor = torch.where(scored.per_token(rate) <= border + 1e-6, hard, 1.0)
    return penalty(ESTIMATES["k3"](gap(scored)), coefficient * factor)


@REGULARISERS.register("log_ratio_square")
@needs("every_row")
def log_ratio_square(scored: Scored, coefficient: float = 1e-3) -> LossTerm:
    """coefficient x (log pi - log pi_old)^2: holds the policy near the anchor (prime-rl's default loss; OPMD in arXiv
    2509.24203 with 0.1).
    """
    return penalty(scored.log_ratio**2, coefficient, "log_ratio_square")


@REGULARISERS.register("imitation")
@needs("every_row")
def imitation(scored: Scored, coefficient: float = 0.1) -> LossTerm:
    """-coefficient x log pi: imitates every sample a little, which is a baseline lower by ``coefficient`` (AsymRE in
    arXiv 2509.24203).
    """
    return LossTerm(-coefficient * scored.logp)
