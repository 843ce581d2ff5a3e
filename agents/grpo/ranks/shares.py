"""Shares of a batch: which episodes each process computes, and the part of a batch that it needs for that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import torch

from ..batch.batch import Batch
from ..objective.loss import WeightedBatch


def split_episodes(batch: Batch, episodes: Sequence[int], count: int) -> list[list[int]]:
    """Cut episodes, in order, into ``count`` shares with nearly equal numbers of tokens; a share may be empty.

    Neighbours stay together, so that most prompts are still encoded once.
    """
    length = torch.bincount(batch.episode_of, minlength=batch.episodes)
    tokens = length[torch.tensor(list(episodes), dtype=torch.int64)].double()
    middle = tokens.cumsum(0) - tokens / 2
    owner = (middle * count / tokens.sum().clamp(min=1)).long().clamp(max=count - 1).tolist()
    shares: list[list[int]] = [[] for _ in range(count)]
    for episode, rank in zip(episodes, owner, strict=True):
        shares[rank].append(episode)
    return shares


def strip(batch: Batch) -> Batch:
    """Return the batch without the parts that forward passes and losses do not read: episodes and functions."""
    bare = replace(batch, trajectories=(), group_list=(), head=None, hidden=None)
    bare.__dict__["kl_scale"] = batch.kl_scale  # worked out from the episodes
    return bare


def without_loss(weighted: WeightedBatch) -> tuple[WeightedBatch, tuple[int, int]]:
    """Return the part of a weighted batch that another process lacks, which has the loss itself, and the loss's clock.

    Returns:
        (the batch without its loss, (step, steps)).
    """
    clock = weighted.loss.surrogate.clock
    bare = replace(weighted, batch=strip(weighted.batch), loss=None)  # type: ignore[arg-type]
    return bare, (clock.step, clock.steps)
