"""Preference losses within a group: every pair of episodes with unequal outcomes is a comparison of winner w and loser
l.

The value of a group, the mean over its pairs, is repeated at the tokens of its episodes, so "sequence_mean" weights
each group by its size. Gradients flow through log pi of both episodes. s = log pi - log reference, summed over the
trained tokens of an episode.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from .....checks import check_choice, check_number
from ...batch.scored import needs
from ...batch.segments import Segments, segment_sum
from ..loss_arrays import Statistics, surrogate


@surrogate("dpo")
@needs("batch", "every_row")
def dpo(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 0.1,
    normalised: bool = False,
    offset: float = 0.0,
) -> tuple[Tensor, Statistics]:
    """log sigmoid(beta (s_w - s_l)), s = log pi - log reference of the whole episode (DPO, arXiv 2305.18290, eq. 7).

    Args:
        normalised: s is divided by the number of tokens (TÜLU 3, arXiv 2411.15124, eq. 6, with beta 5).
        offset: lead that a pair must have, times the difference of its outcomes (ODPO, arXiv 2402.10571, section 3).
    """
    s = check_number("beta", beta, 0) * (episode.mean if normalised else episode.sum)(logp_t - logp_ref_t)
    better, worse = group.pairs(outcome_e)
    gap = s[better] - s[worse]
    lead = check_number("offset", offset, 0) * (outcome_e[better] - outcome_e[worse])
    value = episode.expand(group.shared_pair_mean(better, logsigmoid(gap - lead)))
    return value, {"pair_accuracy": ((gap > 0).sum().item(), len(gap))}


@surrogate("t_reg")
@needs("batch", "every_row")
def t_reg(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    adv_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 0.1,
    alpha: float = 0.25,
) -> tuple[Tensor, Statistics]:
    """DPO's value plus alpha w (R_w + R_l) of every pair, R = beta sum_t A_t log pi_t, w = sigmoid(beta (s_l - s_w))
    without gradient (T-REG, arXiv 2412.02685). The advantages are token rewards, see the adjustment "token_contrast".
    """
    s = check_number("beta", beta, 0) * episode.sum(logp_t - logp_ref_t)
    better, worse = group.pairs(outcome_e)
    gap = s[better] - s[worse]
    rewarded = beta * episode.sum(adv_t * logp_t)
    weight = check_number("alpha", alpha, 0) * torch.sigmoid(-gap).detach()
    value = logsigmoid(gap) + weight * (rewarded[better] + rewarded[worse])
    stats = {"pair_accuracy": ((gap > 0).sum().item(), len(gap))}
    return episode.expand(group.shared_pair_mean(better, value)), stats


@surrogate("ipo_pairs")
@needs("batch", "every_row")
def ipo_pairs(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 0.1,
    normalised: bool = False,
) -> Tensor:
    """-(s_w - s_l - 1 / (2 beta))^2, s = log pi - log reference of the episode (IPO, arXiv 2310.12036, eq. 17).

    Args:
        normalised: s is divided by the number of tokens, as in TRL, which has it from the paper's authors.
    """
    s = (episode.mean if normalised else episode.sum)(logp_t - logp_ref_t)
    better, worse = group.pairs(outcome_e)
    error = s[better] - s[worse] - 1 / (2 * check_number("beta", beta, 1e-6))
    return episode.expand(-group.shared_pair_mean(better, error**2))


@surrogate("kto")
@needs("batch", "every_row")
def kto(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    present_e: Tensor,
    beta: float = 0.1,
    desirable: float = 1.0,
    undesirable: float = 1.0,
    threshold: float = 0.5,
    shift: bool = True,
) -> Tensor:
    """desirable x sigmoid(s - z) for outcomes above ``threshold``, undesirable x sigmoid(z - s) for others, s = beta
    log(pi / reference) of the episode (KTO, arXiv 2402.01306).

    z, the policy's divergence from the reference, is the mean of s over the batch, at least 0, detached. The episodes
    are the policy's samples, so this mean estimates beta KL without mismatched pairs.

    Args:
        shift: False takes z = 0, for recorded replies, whose mean estimates no divergence (APO-zero of single replies,
            arXiv 2408.06266).
    """
    s = check_number("beta", beta, 0) * episode.sum(logp_t - logp_ref_t)
    present = present_e.to(s.dtype)
    z = shift * ((s * present).sum() / present.sum().clamp(min=1)).clamp(min=0).detach()
    good = outcome_e > threshold
    value = torch.where(good, desirable * torch.sigmoid(s - z), undesirable * torch.sigmoid(z - s))
    return episode.expand(value)


@surrogate("rrhf")
@needs("batch", "every_row")
def rrhf(
    logp_t: Tensor, outcome_e: Tensor, episode: Segments, group: Segments, present_e: Tensor, likelihood: float = 1.0
) -> Tensor:
    """-(sum over pairs of max(0, p_l - p_w) + ``likelihood`` x NLL of the best), p the mean log-probability of an
    episode's tokens, the NLL a sum over tokens (RRHF, arXiv 2304.05302, eq. 2-4; used in arXiv 2312.05657).

    Several episodes with the best outcome share the second term equally.
    """
    p = episode.mean(logp_t)
    better, worse = group.pairs(outcome_e)
    ranking = segment_sum((p[worse] - p[better]).clamp(min=0), group.of[better], group.count)
    best = present_e.clone()
    best[worse] = False
    nll = segment_sum(-episode.sum(logp_t)[best], group.of[best], group.count)
    share = segment_sum(torch.ones_like(p[best]), group.of[best], group.count).clamp(min=1)
    return episode.expand(group.expand(-(ranking + likelihood * nll / share)))


@surrogate("hinge_rank")
@needs("batch", "every_row")
def hinge_rank(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    taught_e: Tensor,
    episode: Segments,
    group: Segments,
    margin: float = 1e-3,
    expert: str = "teacher",
) -> Tensor:
    """-max(0, d_expert - d_policy + margin) for every pair of an expert's and a policy's episode, d being the rise of
    the episode's mean NLL above the reference's (Diffusion-DRO, arXiv 2510.18353, on tokens).

    Args:
        expert: "teacher": episodes with tokens that a teacher wrote are the expert's; "outcome": the better episode of
            each pair is.
    """
    check_choice("expert", expert, ("teacher", "outcome"))
    rise = episode.mean(logp_ref_t - logp_t)
    better, worse = group.pairs(taught_e if expert == "teacher" else outcome_e)
    return episode.expand(-group.shared_pair_mean(better, (rise[better] - rise[worse] + margin).clamp(min=0)))
