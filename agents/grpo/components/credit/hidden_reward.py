"""Advantages shaped by how much an update on one token raises the likelihood of the group's correct answers.

A step along the gradient of log pi(y_t), as far as it changes the output matrix, raises the log-likelihood of a token c
by (g_t . g_c)(h_t . h_c), with h the last hidden state and g = e_y - pi the derivative of log pi with respect to the
logits. Summed over the tokens of correct answers this is g_t M h_t with M = sum of g_c h_c: two matrix products per
group, over the ids that occur in the group.
"""

from __future__ import annotations

import torch
from torch import Tensor

from .....checks import check_number
from ...batch.batch import Batch
from ...batch.scored import needs
from ...batch.segments import segment_min
from ...batch.trajectory import Origin
from ...recipes.stages import ADJUSTMENTS

_ELEMENTS = 1 << 24
"""Most logits held at once."""


def influence_on_correct(batch: Batch, groups: Tensor) -> Tensor:
    """Return s_t = g_t M h_t for the tokens that the policy sampled, [N]: the effect of raising log pi of the token on
    the log-likelihood of its group's successful episodes.

    s_t is 0 at other tokens and in groups without a success.

    Args:
        groups: mask of the groups to compute, bool [G]; s_t is 0 in the others.
    """
    influence = torch.zeros(len(batch.ids), dtype=batch.measurement("logp_old").dtype)
    mine = batch.written_by(Origin.POLICY)
    won = batch.per_token(torch.tensor([t.success for t in batch.trajectories], dtype=torch.bool))
    group = batch.group_of[batch.episode_of]
    for number in groups.nonzero()[:, 0].tolist():
        place = (mine & (group == number)).nonzero()[:, 0]
        if not won[place].any():
            continue
        ids = batch.ids[place].unique()
        parts = place.split(max(1, _ELEMENTS // len(ids)))
        products = []
        for part in parts:
            gradient, hidden = _gradients_and_states(batch, part[won[part]], ids)
            products.append(gradient.T @ hidden)
        matrix = torch.stack(products).sum(0)
        for part in parts:
            gradient, hidden = _gradients_and_states(batch, part, ids)
            influence[part] = ((gradient @ matrix) * hidden).sum(1).to(influence)
    return influence


def _gradients_and_states(batch: Batch, place: Tensor, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return g = e_y - pi over ``ids`` [A, U] and the hidden states [A, H] of the tokens with indices ``place``."""
    assert batch.head is not None
    hidden = batch.measurement("hidden")[place]
    logits = batch.head(hidden, ids)
    own = torch.searchsorted(ids, batch.ids[place]).to(logits.device)[:, None]
    # The logarithm of the normaliser follows from the sampled token's logit and log-probability.
    known = batch.measurement("logp_old")[place].to(logits)[:, None]
    gradient = -(logits - logits.gather(1, own) + known).clamp(max=0).exp()
    return gradient.scatter_add(1, own, torch.ones_like(known)), hidden.to(logits)


def _groups_with_advantage(advantage: Tensor, batch: Batch) -> Tensor:
    """Mark the groups in which at least one token has a nonzero advantage, bool [G]."""
    return batch.sum_by_group(batch.sum_by_episode(advantage.abs())) > 0


@ADJUSTMENTS.register("hidden_reward")
@needs("hidden", "head", "logp_old")
def hidden_reward(advantage: Tensor, batch: Batch, p: float = 0.1, tau: float = 0.0) -> Tensor:
    """Multiply the advantages of the policy's tokens by 1 + p sign(THR), or by 0 where |THR| < tau; THR = s sign(A) is
    positive if the update on a token makes the group's correct answers likelier (Token Hidden Reward, arXiv
    2510.03669).

    Args:
        p: strength in [-1, 1]: positive exploits, negative explores.
        tau: smallest |THR| of a trained token, at least 0; in units of squared hidden states.
    """
    check_number("p", p, -1, 1)
    check_number("tau", tau, 0)
    thr = (influence_on_correct(batch, _groups_with_advantage(advantage, batch)) * advantage.sign()).to(advantage.dtype)
    shaped = torch.where(thr.abs() >= tau, (1 + p * thr.sign()) * advantage, 0)
    return torch.where(batch.written_by(Origin.POLICY), shaped, advantage)


@ADJUSTMENTS.register("negative_hidden_reward")
@needs("hidden", "head", "logp_old")
def negative_hidden_reward(advantage: Tensor, batch: Batch, beta: float = 1.0) -> Tensor:
    """Multiply by 2 |1/2 - success rate| the negative advantages of tokens of failed episodes that also make correct
    answers likelier, so that what both share is punished less (NTHR, arXiv 2505.18830).

    The tokens concerned have s (see `influence_on_correct`) above beta times the smallest mean s of a successful
    episode of the group.
    """
    check_number("beta", beta, 0)
    influence = influence_on_correct(batch, _groups_with_advantage(advantage, batch)).to(advantage.dtype)
    mine = batch.written_by(Origin.POLICY)
    count = batch.sum_by_episode(mine.to(advantage.dtype))
    mean = batch.sum_by_episode(influence) / count.clamp(min=1)
    won = torch.tensor([t.success for t in batch.trajectories], dtype=torch.bool)
    counted = won & (count > 0)
    least = segment_min(mean[counted], batch.group_of[counted], batch.groups)
    size = batch.sum_by_group(torch.ones_like(count)).clamp(min=1)
    eta = 2 * (0.5 - batch.sum_by_group(won.to(advantage.dtype)) / size).abs()
    group = batch.group_of[batch.episode_of]
    shared = mine & ~batch.per_token(won) & (advantage < 0) & (influence > beta * least[group])
    return torch.where(shared, eta[group] * advantage, advantage)
