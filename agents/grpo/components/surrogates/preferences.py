"""Preferences within a group: every pair of episodes with unequal outcomes is one comparison.

A group's value, the mean over its pairs, is repeated at the tokens of its episodes, so that "sequence_mean" gives each
group a weight in proportion to its size. Gradients flow through log pi of both episodes.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .....checks import check_choice, check_number
from ...batch.scored import LossTerm, Scored, needs
from ...batch.trajectory import Origin
from ...recipes.stages import SURROGATES
from .ratios import episode_mean, episode_sum, pair_mean, pairs, spread, tokens_of


def _margin(scored: Scored, beta: float) -> Tensor:
    """beta x log(pi / reference) of each episode, [R]."""
    assert scored.logp_ref is not None
    return check_number("beta", beta, 0) * episode_sum(scored, scored.logp - scored.logp_ref)


@SURROGATES.register("dpo")
@needs("batch", "logp_ref", "every_row")
def dpo(scored: Scored, beta: float = 0.1) -> LossTerm:
    """log sigmoid(beta (s_w - s_l)), s = log pi - log reference of the whole episode (DPO, arXiv 2305.18290, eq. 7)."""
    s = _margin(scored, beta)
    better, worse = pairs(scored, scored.outcome)
    gap = s[better] - s[worse]
    value = spread(scored, pair_mean(scored, better, logsigmoid(gap))).value
    return LossTerm(value, {"pair_accuracy": ((gap > 0).sum().item(), len(gap))})


@SURROGATES.register("ipo_pairs")
@needs("batch", "logp_ref", "every_row")
def ipo_pairs(scored: Scored, beta: float = 0.1) -> LossTerm:
    """-(s_w - s_l - 1 / (2 beta))^2, s as in `dpo` (IPO, arXiv 2310.12036, eq. 17)."""
    s = _margin(scored, 1.0)
    better, worse = pairs(scored, scored.outcome)
    error = s[better] - s[worse] - 1 / (2 * check_number("beta", beta, 1e-6))
    return spread(scored, -pair_mean(scored, better, error**2))


@SURROGATES.register("kto")
@needs("batch", "logp_ref", "every_row")
def kto(
    scored: Scored, beta: float = 0.1, desirable: float = 1.0, undesirable: float = 1.0, threshold: float = 0.5
) -> LossTerm:
    """desirable x sigmoid(s - z) for an outcome above ``threshold``, undesirable x sigmoid(z - s) for another, s = beta
    log(pi / reference) of the episode (KTO, arXiv 2402.01306).

    z, the policy's divergence from the reference, is the mean of s over the batch, at least 0, detached: the episodes
    are the policy's own samples, so the mean estimates beta KL without mismatched pairs.
    """
    s = _margin(scored, beta)
    present = (tokens_of(scored) > 0).to(s.dtype)
    z = ((s * present).sum() / present.sum().clamp(min=1)).clamp(min=0).detach()
    good = scored.outcome > threshold
    return spread(scored, torch.where(good, desirable * torch.sigmoid(s - z), undesirable * torch.sigmoid(z - s)))


@SURROGATES.register("rrhf")
@needs("batch", "every_row")
def rrhf(scored: Scored, likelihood: float = 1.0) -> LossTerm:
    """-(sum over pairs of max(0, p_l - p_w) + ``likelihood`` x NLL of the best), p the mean log-probability of an
    episode's tokens, the NLL a sum over tokens (RRHF, arXiv 2304.05302, eq. 2-4; used in arXiv 2312.05657).

    Episodes that share the best outcome share the second term equally.
    """
    p = episode_mean(scored, scored.logp)
    better, worse = pairs(scored, scored.outcome)
    groups = int(scored.group.max()) + 1 if len(scored.group) else 0
    ranking = p.new_zeros(groups).index_add(0, scored.group[better], (p[worse] - p[better]).clamp(min=0))
    beaten = torch.zeros(scored.episodes, dtype=torch.bool, device=p.device)
    beaten[worse] = True
    best = ~beaten & (tokens_of(scored) > 0)
    nll = p.new_zeros(groups).index_add(0, scored.group[best], -episode_sum(scored, scored.logp)[best])
    share = p.new_zeros(groups).index_add(0, scored.group[best], torch.ones_like(p[best])).clamp(min=1)
    return spread(scored, -(ranking + likelihood * nll / share)[scored.group])


@SURROGATES.register("hinge_rank")
@needs("batch", "logp_ref", "every_row")
def hinge_rank(scored: Scored, margin: float = 1e-3, expert: str = "teacher") -> LossTerm:
    """-max(0, d_expert - d_own + margin) for every pair of an expert's episode and one of the policy, d = how much the
    mean NLL of its tokens rose above the reference's (Diffusion-DRO, arXiv 2510.18353, on tokens).

    ``expert``: "teacher", episodes with tokens that a teacher wrote; "outcome", the better episode of each pair.
    """
    assert scored.logp_ref is not None
    check_choice("expert", expert, ("teacher", "outcome"))
    rise = episode_mean(scored, scored.logp_ref - scored.logp)
    taught = scored.sum_by_episode((scored.origin == Origin.TEACHER).to(rise.dtype)) > 0
    better, worse = pairs(scored, taught if expert == "teacher" else scored.outcome)
    return spread(scored, -pair_mean(scored, better, (rise[better] - rise[worse] + margin).clamp(min=0)))
