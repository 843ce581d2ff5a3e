"""Sampling of tokens from logits, and statistics of their distributions.

Sampling does not wait for the device, as noise and the choice of greedy rows are tensors.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from .sampler import Likeliest

_PART = 256
"""Number of ids in a part, if the distribution function is searched in two steps."""
_LARGE = 2048
"""Vocabulary size above which the distribution function is searched in two steps."""


def draw_tokens(logits: Tensor, noise: Tensor, greedy: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Draw one token per row.

    Args:
        logits: [R, V], divided by the temperature; -inf at ids that are not to be drawn.
        noise: uniform numbers in [0, 1 - 2**-52], float64 [R].
        greedy: bool [R], True takes the most likely token; None samples in every row.

    Returns:
        (tokens int64 [R], their log-probabilities [R]).
    """
    # One kernel, and the only copy of the logits: log-probabilities of all ids would be a second pass of exponentials.
    probabilities = logits.softmax(-1)
    tokens = invert(probabilities, noise)
    if greedy is not None:
        tokens = torch.where(greedy, logits.argmax(-1), tokens)
    return tokens, probabilities.gather(-1, tokens[:, None])[:, 0].log()


def invert(probabilities: Tensor, noise: Tensor) -> Tensor:
    """Return the ids [R] at which the distribution functions of ``probabilities`` [R, V] first exceed ``noise`` [R].
    For a large vocabulary, the part that holds the id is found from sums over parts, and the id within that part from a
    cumulative sum in double precision."""
    size = probabilities.shape[1]
    if size <= _LARGE:
        total = probabilities.double().cumsum_(-1)
        # The product is below the sum, as noise is at most 1 - 2**-52: an id without probability is never found.
        return torch.searchsorted(total, noise[:, None] * total[:, -1:], right=True)[:, 0]
    whole = size // _PART * _PART
    sums = probabilities[:, :whole].unflatten(1, (-1, _PART)).sum(-1)
    if whole < size:
        sums = torch.cat((sums, probabilities[:, whole:].sum(-1, keepdim=True)), 1)
    sums = sums.double().cumsum_(-1)
    target = noise[:, None] * sums[:, -1:]
    part = torch.searchsorted(sums, target, right=True)
    before = F.pad(sums, (1, 0)).gather(1, part)
    ids = part * _PART + torch.arange(_PART, device=noise.device)
    inside = probabilities.gather(1, ids.clamp(max=size - 1)).double().mul_(ids < size).cumsum_(-1)
    # Two sums of the same numbers in another order may differ in the last bits.
    rest = torch.minimum(target - before, torch.nextafter(inside[:, -1:], torch.zeros_like(target)))
    return part[:, 0] * _PART + torch.searchsorted(inside, rest, right=True)[:, 0]


def entropy_of(logps: Tensor) -> Tensor:
    """Return the entropies in nats [R] of distributions given by log-probabilities [R, V]."""
    return -(logps.exp() * logps).sum(-1)


def likeliest(logps: Tensor, count: int) -> list[Likeliest]:
    """Return the ``count`` (at most V) likeliest ids of each distribution [R, V] with their log-probabilities."""
    values, ids = logps.topk(min(count, logps.shape[1]), dim=-1)
    return [tuple(zip(*row, strict=True)) for row in zip(ids.tolist(), values.tolist(), strict=True)]
