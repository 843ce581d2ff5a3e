"""Drawing of tokens from logits, and statistics of the distributions that they are drawn from.

Nothing here waits for the device: temperatures and noise are tensors.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .sampler import Likeliest

_PART = 1024
"""Ids of a part, where the distribution function is searched in two steps."""


def draw_tokens(
    logits: Tensor, noise: Tensor, scale: Tensor | None = None, greedy: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Draw one token a row.

    Args:
        logits: [R, V].
        noise: uniform numbers in [0, 1 - 2**-52], float64 [R].
        scale: temperatures [R], above 0; None is 1 for all.
        greedy: bool [R], where the most likely token is taken; None is nowhere.

    Returns:
        (tokens int64 [R], log-probabilities [R, V] of the distributions that they were drawn from).
    """
    if scale is not None:
        logits = logits / scale[:, None]
    logps = logits.log_softmax(-1)
    tokens = invert(logps, noise)
    if greedy is not None:
        tokens = torch.where(greedy, logps.argmax(-1), tokens)
    return tokens, logps


def invert(logps: Tensor, noise: Tensor) -> Tensor:
    """The ids [R] at which the distribution functions of ``logps`` [R, V] first exceed ``noise`` [R].

    Sums are in double precision, for the sake of large vocabularies. There, sums over parts come first, so that only
    one part is summed up id by id.
    """
    rows, size = logps.shape
    if size <= 2 * _PART:
        total = logps.double().exp_().cumsum_(-1)
        # The product is below the sum, as noise is at most 1 - 2**-52: an id without probability is never found.
        return torch.searchsorted(total, noise[:, None] * total[:, -1:], right=True)[:, 0]
    parts = F.pad(logps.exp(), (0, -size % _PART)).view(rows, -1, _PART)
    sums = parts.sum(-1, dtype=torch.float64).cumsum_(-1)
    target = noise[:, None] * sums[:, -1:]
    part = torch.searchsorted(sums, target, right=True)
    before = F.pad(sums, (1, 0)).gather(1, part)
    inside = parts.gather(1, part[:, :, None].expand(-1, 1, _PART))[:, 0].double().cumsum_(-1)
    # Two sums of the same numbers in another order may differ in the last bit.
    rest = torch.minimum(target - before, torch.nextafter(inside[:, -1:], torch.zeros_like(target)))
    return part[:, 0] * _PART + torch.searchsorted(inside, rest, right=True)[:, 0]


def entropy_of(logps: Tensor) -> Tensor:
    """Entropy in nats [R] of distributions given by their log-probabilities [R, V]."""
    return -(logps.exp() * logps).sum(-1)


def likeliest(logps: Tensor, count: int) -> list[Likeliest]:
    """Return the ``count`` likeliest ids of each distribution [R, V] (at most V) with their log-probabilities."""
    values, ids = logps.topk(min(count, logps.shape[1]), dim=-1)
    return [tuple(zip(*row, strict=True)) for row in zip(ids.tolist(), values.tolist(), strict=True)]
