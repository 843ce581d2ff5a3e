"""Drawing of tokens from logits, and statistics of the distributions that they are drawn from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import torch
from torch import Tensor

from .sampler import Likeliest

NO_SOURCES: Mapping[int, np.random.Generator] = MappingProxyType({})


def draw_tokens(
    logits: Tensor,
    temperatures: Sequence[float],
    noise: torch.Generator,
    own: Mapping[int, np.random.Generator] = NO_SOURCES,
) -> tuple[Tensor, Tensor]:
    """Draw one token a row.

    Args:
        logits: [R, V].
        temperatures: R of them; at 0 the most likely token is taken, and log-probabilities are those at temperature 1.
        noise: source of the randomness, on the device of the logits.
        own: rows that have a source of their own, which makes their tokens independent of the other rows.

    Returns:
        (tokens int64 [R], log-probabilities [R, V] of the distributions that they were drawn from).
    """
    if any(t != 1.0 for t in temperatures):
        scale = torch.tensor([t if t > 0 else 1.0 for t in temperatures], device=logits.device)
        logits = logits / scale[:, None]
    logps = logits.log_softmax(-1)
    # Inversion of the distribution function, in double precision for the sake of large vocabularies.
    total = logps.double().exp_().cumsum_(-1)
    uniform = torch.rand((len(logits), 1), generator=noise, dtype=torch.float64, device=logits.device)
    if own:
        drawn = torch.tensor([[source.random()] for source in own.values()], dtype=torch.float64, device=logits.device)
        uniform[list(own)] = drawn
    tokens = torch.searchsorted(total, uniform.mul_(total[:, -1:]), right=True)[:, 0].clamp_(max=logps.shape[1] - 1)
    if 0.0 in temperatures:
        greedy = torch.tensor([t == 0 for t in temperatures], device=logits.device)
        tokens = torch.where(greedy, logps.argmax(-1), tokens)
    return tokens, logps


def entropy_of(logps: Tensor) -> Tensor:
    """Entropy in nats [R] of distributions given by their log-probabilities [R, V]."""
    return -(logps.exp() * logps).sum(-1)


def likeliest(logps: Tensor, count: int) -> list[Likeliest]:
    """Return the ``count`` likeliest ids of each distribution [R, V] (at most V) with their log-probabilities."""
    values, ids = logps.topk(min(count, logps.shape[1]), dim=-1)
    return [tuple(zip(*row, strict=True)) for row in zip(ids.tolist(), values.tolist(), strict=True)]
