"""Objectives of reward models: what one optimiser step minimises on a batch of preference pairs. Needs torch.

An objective is a function of a model and a batch that accumulates the gradient of the mean loss in the model's weights
and returns the sum of the losses of the pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout

from ...registry import Registry
from .losses import contrast, lead_regression_loss, pointwise_loss, view_contrast_loss
from .preferences import Preference

DROPOUT = 0.1
VIEW_WEIGHT = 0.01
"""Weight of the loss between views; the paper's is not published. With 0.1 a head of 8 units learns no order."""
META_RATE = 0.01


class PairModel(Protocol):
    """Model that scores pairs, such as a `RewardModel`."""

    def parameters(self) -> Iterator[nn.Parameter]: ...
    def losses(self, pairs: Sequence[Preference]) -> Tensor: ...
    def score_pairs(self, pairs: Sequence[Preference]) -> tuple[Tensor, Tensor]: ...
    def embed_pairs(self, pairs: Sequence[Preference]) -> Tensor: ...


Objective = Callable[[PairModel, Sequence[Preference]], float]
OBJECTIVES: Registry[Objective] = Registry("objective of a reward model")


def _accumulate(loss: Tensor, count: int) -> float:
    """Accumulate the gradient of the mean over ``count`` pairs, and return the sum ``loss`` as a number."""
    (loss / count).backward()
    return float(loss.detach())


@OBJECTIVES.register("bradley-terry")
def bradley_terry(model: PairModel, pairs: Sequence[Preference]) -> float:
    """Minimise the Bradley-Terry loss with the margin and the smoothing of each pair."""
    return _accumulate(model.losses(pairs).sum(), len(pairs))


@OBJECTIVES.register("pointwise")
def pointwise(model: PairModel, pairs: Sequence[Preference]) -> float:
    """Minimise the cross-entropy of each score as the log-odds that its response is the better one: chosen ones 1 minus
    smoothing, rejected ones the smoothing."""
    chosen, rejected = model.score_pairs(pairs)
    wrong = torch.tensor([pair.smoothing for pair in pairs], dtype=chosen.dtype, device=chosen.device)
    return _accumulate((pointwise_loss(chosen, 1 - wrong) + pointwise_loss(rejected, wrong)).sum(), len(pairs))


@OBJECTIVES.register("regression")
def regression(model: PairModel, pairs: Sequence[Preference]) -> float:
    """Minimise the squared distance of each lead from the pair's margin, or from 1 for a pair without margin."""
    chosen, rejected = model.score_pairs(pairs)
    wanted = torch.tensor([pair.margin or 1.0 for pair in pairs], dtype=chosen.dtype, device=chosen.device)
    return _accumulate(lead_regression_loss(chosen, rejected, wanted).sum(), len(pairs))


@OBJECTIVES.register("contrastive")
def contrastive(model: PairModel, pairs: Sequence[Preference]) -> float:
    """Minimise the Bradley-Terry loss plus SimCSE's loss between two draws of dropout of the pairs' differences."""
    embedded = model.embed_pairs(pairs)
    views = view_contrast_loss(dropout(embedded, DROPOUT), dropout(embedded, DROPOUT))
    return _accumulate(model.losses(pairs).sum() + VIEW_WEIGHT * len(pairs) * views, len(pairs))


@OBJECTIVES.register("meta")
def meta(model: PairModel, pairs: Sequence[Preference]) -> float:
    """Take the gradient of the Bradley-Terry loss where one step up `losses.contrast` leads, MetaRM's first-order step.

    Secrets of RLHF II, arXiv 2401.06080, section 4: theta' = theta + eta grad J(theta); the gradient of L at theta' is
    applied to theta. Here J is of the batch's own responses, as there is no shifted policy to sample from.
    """
    weights = [weight for weight in model.parameters() if weight.requires_grad]
    away = torch.autograd.grad(contrast(torch.cat(model.score_pairs(pairs))), weights, allow_unused=True)
    before = [weight.detach().clone() for weight in weights]
    with torch.no_grad():
        for weight, step in zip(weights, away):
            if step is not None:
                weight.add_(step, alpha=META_RATE)
    total = _accumulate(model.losses(pairs).sum(), len(pairs))
    with torch.no_grad():
        for weight, old in zip(weights, before):
            weight.copy_(old)
    return total
