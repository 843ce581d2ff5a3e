"""Regressions: a squared (or logistic) error between log-ratios and rewards in place of a policy gradient.

l = log pi - log pi_old, or against the reference where said so. The value is minus the loss. Where an episode or a
turn is one datum, its value is repeated at its tokens. Everything is differentiated through log pi; rewards, advantages
and whatever carries no gradient in `Scored` are constants.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

from .....checks import check_choice, check_number
from ...batch.scored import LossTerm, Scored, needs
from ...recipes.stages import SURROGATES
from .ratios import bounded_exp, episode_mean, episode_sum, group_mean, group_size, group_sum, pair_mean, pairs, spread


@SURROGATES.register("dro")
@needs("every_row")
def dro(scored: Scored, beta: float = 1.0) -> LossTerm:
    """A log pi - (beta / 2) l^2 at each token (DRO, arXiv 2405.19107, with the advantage in place of r - V)."""
    return LossTerm(scored.advantage * scored.logp - beta / 2 * scored.log_ratio**2)


@SURROGATES.register("kimi")
@needs("every_row")
def kimi(scored: Scored, tau: float = 0.1) -> LossTerm:
    """A log pi - (tau / 2) l^2, both summed over the episode before l is squared (Kimi k1.5, arXiv 2501.12599, section
    2.3.2). Public implementations square at each token, which is "dro" with beta = tau.
    """
    gain = episode_sum(scored, scored.advantage * scored.logp)
    return spread(scored, gain - tau / 2 * episode_sum(scored, scored.log_ratio) ** 2)


@SURROGATES.register("rpg")
@needs("every_row")
def rpg(scored: Scored, divergence: str = "urkl", beta: float = 1e-3) -> LossTerm:
    """r A - beta f(r), the regularised policy gradient towards the old policy, differentiated through r (RPG, arXiv
    2505.17508, table 1).

    ``divergence``: "rkl", f = r log r; "urkl", r log r - r + 1; "fkl", -log r; "ufkl", r - 1 - log r (reverse and
    forward KL, of normalised and of unnormalised distributions).
    """
    check_choice("divergence", divergence, ("rkl", "urkl", "fkl", "ufkl"))
    log_r = scored.log_ratio
    r = bounded_exp(log_r)
    f = {"rkl": r * log_r, "urkl": r * log_r - r + 1, "fkl": -log_r, "ufkl": r - 1 - log_r}[divergence]
    return LossTerm(r * scored.advantage - beta * f)


@SURROGATES.register("sppo")
@needs("batch", "every_row")
def sppo(scored: Scored, eta: float = 1000.0) -> LossTerm:
    """-(l - eta (P - 1/2))^2, l summed over the episode and P the share of its group that the episode beats, a tie (and
    the episode itself) counting half (SPPO, arXiv 2405.00675).
    """
    same = scored.group[:, None] == scored.group[None, :]
    ahead = (scored.outcome[:, None] > scored.outcome[None, :]).to(scored.outcome.dtype)
    level = (scored.outcome[:, None] == scored.outcome[None, :]).to(scored.outcome.dtype)
    win = ((ahead + level / 2) * same).sum(1) / same.sum(1)
    return spread(scored, -((episode_sum(scored, scored.log_ratio) - eta * (win - 0.5)) ** 2))


@SURROGATES.register("gvpo")
@needs("batch", "every_row")
def gvpo(scored: Scored, beta: float = 0.1) -> LossTerm:
    """-((beta l - its group mean) - (A - its group mean))^2 / (2 beta), l summed over the episode and A the episode's
    mean advantage, which is the centred return where the recipe does not scale (GVPO, arXiv 2504.19599).

    Divided by beta, so that at l = 0 the gradient is the policy gradient of the group.
    """
    implied = beta * episode_sum(scored, scored.log_ratio)
    reward = episode_mean(scored, scored.advantage)
    gap = (implied - group_mean(scored, implied)) - (reward - group_mean(scored, reward))
    return spread(scored, -(gap**2) / (2 * check_number("beta", beta, 1e-9)))


@SURROGATES.register("prdp")
@needs("batch", "logp_ref", "every_row")
def prdp(scored: Scored, beta: float = 0.1, window: float = 0.0) -> LossTerm:
    """-mean over the group's pairs of ((R_a - R_b) - beta (s_a - s_b))^2, s = log pi - log reference summed over the
    episode (PRDP, arXiv 2402.08714).

    ``window`` > 0 is the proximal form: the larger of this square and the one with each s kept within ``window`` of its
    value under the old policy (section 3.4).
    """
    assert scored.logp_ref is not None
    s = episode_sum(scored, scored.logp - scored.logp_ref)
    better, worse = pairs(scored, _numbered(scored))
    reward = scored.outcome[better] - scored.outcome[worse]
    square = (reward - beta * (s[better] - s[worse])) ** 2
    if check_number("window", window, 0):
        old = episode_sum(scored, scored.logp_old - scored.logp_ref)
        kept = torch.minimum(torch.maximum(s, old - window), old + window)
        square = torch.maximum(square, (reward - beta * (kept[better] - kept[worse])) ** 2)
    return spread(scored, -pair_mean(scored, better, square))


def _numbered(scored: Scored) -> Tensor:
    """A number for each episode, so that every two of a group make one pair, ties too."""
    return torch.arange(scored.episodes, device=scored.group.device)


@SURROGATES.register("log_ratio_regression")
@needs("logp_ref", "every_row")
def log_ratio_regression(scored: Scored, beta: float = 1.0, level: str = "turn") -> LossTerm:
    """-(beta s - A)^2, s = log pi - log reference summed over a "turn", a "token" or an "episode", and A the mean
    advantage there; stationary at log(pi / reference) = A / beta (WebRL, arXiv 2411.02337).
    """
    assert scored.logp_ref is not None
    check_choice("level", level, ("turn", "token", "episode"))
    gap = scored.logp - scored.logp_ref
    if level == "token":
        return LossTerm(-((beta * gap - scored.advantage) ** 2))
    part = scored.turn if level == "turn" else scored.episode
    unit = part - part.min() if len(part) else part
    here = scored.trained.to(gap.dtype)

    def total(value: Tensor) -> Tensor:
        return value.new_zeros(int(unit.max()) + 1 if len(unit) else 0).index_add(0, unit, value * here)

    advantage = total(scored.advantage) / total(torch.ones_like(gap)).clamp(min=1)
    return LossTerm((-((beta * total(gap) - advantage) ** 2))[unit])


@SURROGATES.register("flow_rl")
@needs("batch", "logp_ref", "every_row")
def flow_rl(scored: Scored, beta: float = 15.0, low: float = 0.2, high: float = 0.2) -> LossTerm:
    """-w (log Z + mean log pi - beta A - mean log reference)^2, means over the episode's tokens, A its mean advantage
    and w = sg(clip(s, 1 - low, 1 + high)) with s the geometric mean of r (FlowRL, arXiv 2509.15207).

    log Z is the group's mean of beta A - mean log(pi / reference), the constant that fits best, in place of a learned
    head (VarGrad, arXiv 2010.10436); its gradient is zero at the optimum and it is detached.
    """
    assert scored.logp_ref is not None
    gap = episode_mean(scored, scored.logp - scored.logp_ref) - beta * episode_mean(scored, scored.advantage)
    log_z = -group_mean(scored, gap).detach()
    s = bounded_exp(episode_mean(scored, scored.log_ratio)).detach()
    return spread(scored, -s.clamp(1 - low, 1 + high) * (log_z + gap) ** 2)


@SURROGATES.register("pacs")
@needs("batch", "every_row")
def pacs(scored: Scored, beta: float = 1.0, threshold: float = 0.5, score: str = "ratio") -> LossTerm:
    """Minus the weighted cross-entropy of "is it right?" with the logit q - mean of the others' q, q = beta l summed
    over the episode (PACS, arXiv 2509.02522).

    Right is an outcome above ``threshold``. Weights balance the classes within a group, n / (2 n_class), where both
    occur; a group of one has no gradient. ``score="likelihood"``: q = beta x mean log pi instead.
    """
    check_choice("score", score, ("ratio", "likelihood"))
    ratio = score == "ratio"
    q = beta * (episode_sum(scored, scored.log_ratio) if ratio else episode_mean(scored, scored.logp))
    size = group_size(scored)
    others = (group_sum(scored, q) - q) / (size - 1).clamp(min=1)
    logit = torch.where(size > 1, q - others, 0.0)
    right = (scored.outcome > threshold).to(q.dtype)
    rights = group_sum(scored, right)
    mine = torch.where(right > 0, rights, size - rights)
    weight = torch.where((rights > 0) & (rights < size), size / (2 * mine.clamp(min=1)), 1.0)
    return spread(scored, -weight * binary_cross_entropy_with_logits(logit, right, reduction="none"))
