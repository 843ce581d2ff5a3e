"""Reductions: the weight of each token in the loss, computed once for the whole optimiser batch.

The loss is a plain sum of weight x value, so splitting, order and packing of micro-batches cannot change a gradient.
``keep`` marks the trained tokens; an episode without trained tokens still counts as an episode. "Tokens" below are
trained tokens.
"""

from __future__ import annotations

import torch
from torch import Tensor

from ..batch.batch import Batch
from ..batch.segments import segment_sum
from ..recipes.stages import REDUCTIONS


@REDUCTIONS.register("token_mean")
def token_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (tokens of the batch) (DAPO, arXiv 2503.14476, eq. 8)."""
    return keep / keep.sum().clamp(min=1)


@REDUCTIONS.register("sequence_mean")
def sequence_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (episodes x tokens of the episode) (GRPO, arXiv 2402.03300, eq. 3)."""
    tokens = batch.sum_by_episode(keep.float())
    return keep / batch.per_token(batch.episodes * tokens.clamp(min=1))


@REDUCTIONS.register("sequence_sum")
def sequence_sum(batch: Batch, keep: Tensor) -> Tensor:
    """1 / episodes: the policy gradient of the whole episode (RLOO, arXiv 2402.14740, eq. 4)."""
    return keep / max(batch.episodes, 1)


@REDUCTIONS.register("constant")
def constant(batch: Batch, keep: Tensor, length: int | None = None) -> Tensor:
    """1 / (episodes x length), ``length`` being by default the token budget (Dr. GRPO, arXiv 2503.20783, section 3)."""
    return keep / (max(batch.episodes, 1) * (length or batch.max_tokens))


@REDUCTIONS.register("prompt_mean")
def prompt_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (groups x tokens of the group): every task counts the same, and so does every token of a task (as SkyRL's
    prompt_mean)."""
    tokens = batch.sum_by_group(batch.sum_by_episode(keep.float()))
    groups = max(len(batch.group_of.unique()), 1)
    return keep / (groups * batch.per_token(tokens[batch.group_of]).clamp(min=1))


@REDUCTIONS.register("turn_mean")
def turn_mean(batch: Batch, keep: Tensor) -> Tensor:
    """1 / (episodes x turns of the episode x tokens of the turn) (M-GRPO, arXiv 2505.16421); turns without trained
    tokens do not count."""
    tokens = segment_sum(keep.float(), batch.turn_of, len(batch.episode_of_turn))
    turns = segment_sum((tokens > 0).float(), batch.episode_of_turn, batch.episodes)
    each = batch.episodes * turns[batch.episode_of_turn].clamp(min=1) * tokens.clamp(min=1)
    return keep / each[batch.turn_of]


@REDUCTIONS.register("delta_l")
def delta_l(batch: Batch, keep: Tensor, alpha: float = 1.0, length: int | None = None) -> Tensor:
    """n^-alpha / (sum of n^-alpha over the batch's episodes x length) for an episode of n tokens (Delta L, arXiv
    2509.07558, section 3).

    With alpha 1 it is the combination of least variance if the variance of an episode's gradient is proportional to n.
    If all episodes have the same length it equals "constant". ``length`` is the token budget by default.
    """
    tokens = batch.sum_by_episode(keep.float())
    power = torch.where(tokens > 0, tokens.clamp(min=1) ** -alpha, 0)
    return keep * batch.per_token(power / (power.sum().clamp(min=1e-30) * (length or batch.max_tokens)))
