"""What streams are weighed by: how uncertain the policy is, and how far it has moved from what it replays."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .....checks import check_choice, check_number
from ...batch.batch import Batch
from ...batch.scored import LossTerm, Scored, needs
from ...batch.trajectory import Origin
from ...recipes.stages import SURROGATES, WEIGHTS


@WEIGHTS.register("entropy_factor")
@needs("entropy")
def entropy_factor(
    batch: Batch,
    advantage: Tensor,
    scale: float = 0.1,
    power: float = 1.0,
    sign: str = "any",
    origin: str = "any",
) -> Tensor:
    """scale x exp(power x H), H the mean entropy at the batch's action tokens under the policy before the update (SRFT,
    arXiv 2506.19767: 0.1 exp(H) on successful rollouts).

    Args:
        sign: the tokens that it acts on: "any", or those with "positive" advantage; the others keep weight 1.
        origin: likewise: "any", or those that the "policy" wrote.
    """
    check_choice("sign", sign, ("any", "positive"))
    check_choice("origin", origin, ("any", "policy"))
    entropy = batch.measured("entropy")[batch.action]
    mean = entropy.mean() if len(entropy) else torch.zeros(())
    reached = batch.action if origin == "any" else batch.written_by(Origin.POLICY)
    if sign == "positive":
        reached = reached & (advantage > 0)
    return torch.where(reached, (scale * (power * mean).exp()).to(advantage), torch.ones_like(advantage))


@SURROGATES.register("entropy_weighted_likelihood")
@needs("batch", "every_row")
def entropy_weighted_likelihood(scored: Scored, scale: float = 0.5, power: float = -1.0) -> LossTerm:
    """scale x exp(power x H) log pi, whatever the advantage, H the mean entropy of the policy at the tokens that are
    trained, detached: an uncertain policy imitates less (SRFT, arXiv 2506.19767: 0.5 exp(-H) on demonstrations).
    """
    trained = scored.trained
    entropy = scored.entropy.detach()
    mean = (entropy * trained).sum() / trained.sum().clamp(min=1)
    return LossTerm(scale * (power * mean).exp() * scored.logp)


@SURROGATES.register("shaped_importance")
def shaped_importance(scored: Scored, gamma: float = 0.1) -> LossTerm:
    """A r / (r + gamma), r = pi / pi_old, for tokens of an earlier policy: bounded however far the policies are apart,
    and steepest where the policy has come to find a token unlikely (ExGRPO, arXiv 2510.02245, section 4.2). Nothing
    is detached.
    """
    check_number("gamma", gamma, 1e-9)
    return LossTerm(scored.advantage * (scored.log_ratio - math.log(gamma)).sigmoid())
