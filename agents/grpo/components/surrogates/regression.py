"""Regression losses: a squared (or logistic) error between log-ratios and rewards in place of a policy gradient.

l = log pi - log pi_old; the value is minus the loss. If the error is that of an episode or a turn, it is repeated at
the tokens. Everything is differentiated through log pi; all other arrays are constants.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .....checks import check_choice, check_number
from ...batch.scored import needs
from ...batch.segments import Segments, segment_sum
from ..loss_arrays import surrogate
from .ratios import bounded_exp


@surrogate("dro")
@needs("every_row")
def dro(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, beta: float = 1.0) -> Tensor:
    """A log pi - (beta / 2) l^2 at each token, l = log(pi / pi_old) (DRO, arXiv 2405.19107, with A for r - V)."""
    return adv_t * logp_t - check_number("beta", beta, 0) / 2 * (logp_t - logp_old_t) ** 2


@surrogate("kimi")
@needs("every_row")
def kimi(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, episode: Segments, tau: float = 0.1) -> Tensor:
    """A log pi - (tau / 2) l^2, l = log(pi / pi_old), both summed over the episode before l is squared (Kimi k1.5,
    arXiv 2501.12599, section 2.3.2). Public implementations square at each token, which is "dro" with beta = tau."""
    gain = episode.sum(adv_t * logp_t)
    return episode.expand(gain - tau / 2 * episode.sum(logp_t - logp_old_t) ** 2)


@surrogate("rpg")
@needs("every_row")
def rpg(logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, divergence: str = "urkl", beta: float = 1e-3) -> Tensor:
    """r A - beta f(r), the policy gradient regularised towards the old policy, differentiated through r = pi / pi_old
    (RPG, arXiv 2505.17508, table 1).

    Args:
        divergence: f(r) is r log r for "rkl", r log r - r + 1 for "urkl", -log r for "fkl", r - 1 - log r for "ufkl"
            (reverse and forward KL, "u" for unnormalised distributions).
    """
    check_choice("divergence", divergence, ("rkl", "urkl", "fkl", "ufkl"))
    log_r = logp_t - logp_old_t
    r = bounded_exp(log_r)
    f = {"rkl": r * log_r, "urkl": r * log_r - r + 1, "fkl": -log_r, "ufkl": r - 1 - log_r}[divergence]
    return r * adv_t - check_number("beta", beta, 0) * f


@surrogate("sppo")
@needs("batch", "every_row")
def sppo(
    logp_t: Tensor, logp_old_t: Tensor, outcome_e: Tensor, episode: Segments, group: Segments, eta: float = 1000.0
) -> Tensor:
    """-(l - eta (P - 1/2))^2, l = log(pi / pi_old) summed over the episode, P the share of its group that the episode
    beats; a tie, also with itself, counts half (SPPO, arXiv 2405.00675)."""
    same = group.of[:, None] == group.of[None, :]
    ahead = (outcome_e[:, None] > outcome_e[None, :]).to(logp_t.dtype)
    level = (outcome_e[:, None] == outcome_e[None, :]).to(logp_t.dtype)
    win = ((ahead + level / 2) * same).sum(1) / same.sum(1)
    return episode.expand(-((episode.sum(logp_t - logp_old_t) - eta * (win - 0.5)) ** 2))


@surrogate("gvpo")
@needs("batch", "every_row")
def gvpo(
    logp_t: Tensor, logp_old_t: Tensor, adv_t: Tensor, episode: Segments, group: Segments, beta: float = 0.1
) -> Tensor:
    """-((beta l - group mean) - (A - group mean))^2 / (2 beta), l = log(pi / pi_old) summed over the episode and A the
    episode's mean advantage, which is the centred return if the recipe does not scale (GVPO, arXiv 2504.19599).

    Divided by beta, so that at l = 0 the gradient is the policy gradient of the group.
    """
    implied = beta * episode.sum(logp_t - logp_old_t)
    reward = episode.mean(adv_t)
    gap = (implied - group.shared_mean(implied)) - (reward - group.shared_mean(reward))
    return episode.expand(-(gap**2) / (2 * check_number("beta", beta, 1e-9)))


@surrogate("prdp")
@needs("batch", "every_row")
def prdp(
    logp_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 0.1,
    window: float = 0.0,
) -> Tensor:
    """-mean over the group's pairs of ((R_a - R_b) - beta (s_a - s_b))^2, s = log pi - log reference summed over the
    episode (PRDP, arXiv 2402.08714).

    Args:
        window: if above 0, the proximal form (section 3.4): the larger of this square and the same square with each s
            limited to within ``window`` of its value under the old policy.
    """
    s = episode.sum(logp_t - logp_ref_t)
    # Ranked by index, every two episodes of a group form one pair, including those of equal outcome.
    a, b = group.pairs(torch.arange(len(outcome_e), device=outcome_e.device))
    reward = (outcome_e[a] - outcome_e[b]).to(s.dtype)
    square = (reward - beta * (s[a] - s[b])) ** 2
    if check_number("window", window, 0):
        old = episode.sum(logp_old_t - logp_ref_t)
        kept = torch.minimum(torch.maximum(s, old - window), old + window)
        square = torch.maximum(square, (reward - beta * (kept[a] - kept[b])) ** 2)
    return episode.expand(-group.shared_pair_mean(a, square))


@surrogate("log_ratio_regression")
@needs("every_row")
def log_ratio_regression(
    logp_t: Tensor,
    logp_ref_t: Tensor,
    adv_t: Tensor,
    turn_t: Tensor,
    trained_t: Tensor,
    episode: Segments,
    beta: float = 1.0,
    level: str = "turn",
) -> Tensor:
    """-(beta s - A)^2, s = log pi - log reference summed over each "turn", "token" or "episode" (``level``), and A the
    mean advantage there; stationary at log(pi / reference) = A / beta (WebRL, arXiv 2411.02337)."""
    check_choice("level", level, ("turn", "token", "episode"))
    gap = logp_t - logp_ref_t
    if level == "token":
        return -((beta * gap - adv_t) ** 2)
    part = turn_t if level == "turn" else episode.of
    unit = part - part.min() if len(part) else part
    count = int(unit.max()) + 1 if len(unit) else 0
    here = trained_t.to(gap.dtype)
    size = segment_sum(here, unit, count).clamp(min=1)
    advantage = segment_sum(adv_t * here, unit, count) / size
    return (-((beta * segment_sum(gap * here, unit, count) - advantage) ** 2))[unit]


@surrogate("flow_rl")
@needs("batch", "every_row")
def flow_rl(
    logp_t: Tensor,
    logp_old_t: Tensor,
    logp_ref_t: Tensor,
    adv_t: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 15.0,
    low: float = 0.2,
    high: float = 0.2,
) -> Tensor:
    """-w (log Z + mean log pi - beta A - mean log reference)^2, means over the episode's tokens, A the episode's mean
    advantage and w = sg(clip(s, 1 - low, 1 + high)), s being the geometric mean of r (FlowRL, arXiv 2509.15207).

    log Z is the group's mean of beta A - mean log(pi / reference), the best-fitting constant, in place of a learned
    head (VarGrad, arXiv 2010.10436). It is detached; its gradient would be 0 at the optimum.
    """
    gap = episode.mean(logp_t - logp_ref_t) - beta * episode.mean(adv_t)
    log_z = -group.shared_mean(gap).detach()
    s = bounded_exp(episode.mean(logp_t - logp_old_t)).detach()
    return episode.expand(-s.clamp(1 - low, 1 + high) * (log_z + gap) ** 2)


@surrogate("pacs")
@needs("batch", "every_row")
def pacs(
    logp_t: Tensor,
    logp_old_t: Tensor,
    outcome_e: Tensor,
    episode: Segments,
    group: Segments,
    beta: float = 1.0,
    threshold: float = 0.5,
    score: str = "ratio",
) -> Tensor:
    """Minus the weighted cross-entropy of whether the outcome exceeds ``threshold``, with the logit q - mean q of the
    group's other episodes, q = beta log(pi / pi_old) summed over the episode (PACS, arXiv 2509.02522).

    If both classes occur in a group, weights balance them: n / (2 n_class). A group of one has no gradient.

    Args:
        score: "ratio": q as above; "likelihood": q = beta x mean log pi.
    """
    check_choice("score", score, ("ratio", "likelihood"))
    q = beta * (episode.sum(logp_t - logp_old_t) if score == "ratio" else episode.mean(logp_t))
    size = group.shared_size(q)
    others = (group.shared_sum(q) - q) / (size - 1).clamp(min=1)
    logit = torch.where(size > 1, q - others, 0.0)
    right = (outcome_e > threshold).to(q.dtype)
    rights = group.shared_sum(right)
    same_class = torch.where(right > 0, rights, size - rights)
    weight = torch.where((rights > 0) & (rights < size), size / (2 * same_class.clamp(min=1)), 1.0)
    return episode.expand(-weight * binary_cross_entropy_with_logits(logit, right, reduction="none"))
