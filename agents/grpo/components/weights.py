"""Weights multiply what a token counts, without changing any denominator."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from ....errors import InputError
from ..batch.batch import Batch
from ..batch.scored import needs
from ..recipes.stages import WEIGHTS
from . import masks
from .credit.peers import answer_entropy
from .credit.units import place_of_turn


@WEIGHTS.register("top_entropy")
@needs("entropy")
def top_entropy(batch: Batch, advantage: Tensor, share: float = 0.2, scope: str = "batch") -> Tensor:
    """0 for tokens that the mask "top_entropy" leaves out, which still count in denominators (Beyond the 80/20 rule,
    arXiv 2506.01939, as its formula reads: a factor ``share`` smaller than the released code).
    """
    return masks.top_entropy(batch, advantage, share, scope).to(advantage.dtype)


@WEIGHTS.register("signs")
def signs(batch: Batch, advantage: Tensor, positive: float = 1.0, negative: float = 1.0) -> Tensor:
    """One weight for tokens of positive advantage and one for those of negative."""
    return torch.where(advantage > 0, positive, torch.where(advantage < 0, negative, 1.0)).to(advantage.dtype)


@WEIGHTS.register("mid_difficulty")
def mid_difficulty(
    batch: Batch, advantage: Tensor, factor: float = 4.0, diversity: float = 0.0, choices: int = 2
) -> Tensor:
    """factor x d (1 - d) x (answer entropy / ln choices)^diversity for each group, d its mean outcome within [0, 1]
    (PC-GRPO, arXiv 2512.14944, which has diversity 0.5).

    Raises:
        InputError: fewer than two choices.
    """
    if choices < 2:
        raise InputError(f"choices={choices} of an answer must be at least 2.")
    count = batch.sum_by_group(torch.ones_like(batch.outcome)).clamp(min=1)
    level = (batch.sum_by_group(batch.outcome) / count).clamp(0, 1)
    spread = (answer_entropy(batch) / torch.tensor(float(choices)).log()).clamp(0, 1).to(level.dtype)
    return batch.per_token((factor * level * (1 - level) * spread**diversity)[batch.group_of])


@WEIGHTS.register("pass_rate")
def pass_rate(batch: Batch, advantage: Tensor, power: float = 1.0) -> Tensor:
    """(1 - success rate of the group)^power: hard tasks count more, solved ones nothing."""
    won = torch.tensor([float(t.success) for t in batch.trajectories], dtype=advantage.dtype)
    rate = batch.sum_by_group(won) / batch.sum_by_group(torch.ones_like(won)).clamp(min=1)
    return batch.per_token(((1 - rate) ** power)[batch.group_of])


@WEIGHTS.register("length_power")
def length_power(batch: Batch, advantage: Tensor, alpha: float = 0.5) -> Tensor:
    """(action tokens of the episode)^-alpha over the mean of that: mean 1 over the episodes of the batch."""
    power = batch.action_count.clamp(min=1).to(advantage.dtype) ** -alpha
    return batch.per_token(power / power.mean())


@WEIGHTS.register("length_preference")
def length_preference(batch: Batch, advantage: Tensor, power: float = 0.0, spread: float = 1 / 9) -> Tensor:
    """G x softmax over the group of (1 + spread z)^power, z the episode's standardised length; power 0 prefers none,
    positive ones long and negative ones short episodes (lambda-GRPO, arXiv 2510.06870, which learns the power).

    Raises:
        InputError: ``spread`` is not in [0, 0.2], which keeps the base positive for groups of up to 26 samples.
    """
    if not 0 <= spread <= 0.2:
        raise InputError(f"spread={spread} of the length preference must be in [0, 0.2].")
    length = batch.action_count.to(advantage.dtype)
    size = batch.sum_by_group(torch.ones_like(length)).clamp(min=1)
    mean = (batch.sum_by_group(length) / size)[batch.group_of]
    deviation = (batch.sum_by_group((length - mean) ** 2) / size).sqrt()[batch.group_of]
    z = (length - mean) / (deviation + 1e-6)
    share = ((1 + spread * z).clamp(min=1e-3) ** power).exp()
    return batch.per_token(share * (size / batch.sum_by_group(share).clamp(min=1e-30))[batch.group_of])


@WEIGHTS.register("roles")
def roles(batch: Batch, advantage: Tensor, factors: Mapping[str, float]) -> Tensor:
    """A factor for each role, 1 for roles that are not named."""
    return batch.per_token(
        torch.tensor([float(factors.get(t.role, 1.0)) for t in batch.trajectories], dtype=advantage.dtype)
    )


@WEIGHTS.register("turn_discount")
def turn_discount(batch: Batch, advantage: Tensor, discount: float = 0.9) -> Tensor:
    """discount^(turns of the episode before this one): what is decided first counts most."""
    return (discount ** place_of_turn(batch).to(advantage.dtype))[batch.turn_of]
