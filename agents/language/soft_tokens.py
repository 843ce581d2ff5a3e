"""Soft tokens: mixtures of tokens, whose embedding is the weighted mean of the embeddings of several candidates.

`SoftToken` is the record of one, without tensors; `SoftInputs` puts the mixtures of many into a forward pass, the
engine's and the learner's alike; `gumbel_logp` is the log-density of their perturbed log-probabilities.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor


class SoftToken(NamedTuple):
    """Mixture of the likeliest tokens at a position, likeliest first.

    Attributes:
        ids: the candidates.
        weights: weight of each candidate's embedding; they sum to 1.
        values: perturbed log-probabilities (nats) of the first candidates: those that count in the score.
    """

    ids: tuple[int, ...]
    weights: tuple[float, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class SoftInputs:
    """Mixtures that replace the embeddings of S of the tokens of a forward pass.

    Attributes:
        at: index of each among the tokens, int64 [S].
        ids: candidates, int64 [S, k]; any id where the weight is 0.
        weights: float [S, k].
    """

    at: Tensor
    ids: Tensor
    weights: Tensor

    @classmethod
    def of(cls, places: Sequence[int], tokens: Sequence[SoftToken], device: torch.device) -> SoftInputs:
        """Make the inputs of a forward pass in which ``tokens`` stand at ``places``."""
        at = torch.tensor(places, dtype=torch.int64, device=device)
        return cls(at, pad([t.ids for t in tokens]).to(device), pad([t.weights for t in tokens]).float().to(device))

    def to(self, device: torch.device) -> SoftInputs:
        return SoftInputs(self.at.to(device), self.ids.to(device), self.weights.to(device))

    def put_into(self, x: Tensor, embed: Callable[[Tensor], Tensor]) -> Tensor:
        """Return the embeddings [N, H] of all tokens, with the mixtures in place of those at ``at``.

        Args:
            x: embeddings of the tokens' own ids, [N, H].
            embed: returns the embeddings of ids.
        """
        mixed = (embed(self.ids) * self.weights[..., None]).sum(1)
        return x.index_copy(0, self.at, mixed.to(x.dtype))


def pad(rows: Sequence[Sequence[float]]) -> Tensor:
    """Return rows of unequal lengths as a table, with 0 after their ends, int64 or float64."""
    width = max(map(len, rows), default=0)
    return torch.tensor([[*row, *[0] * (width - len(row))] for row in rows])


def gumbel_logp(values: Tensor, logps: Tensor, kept: Tensor) -> Tensor:
    """Return the mean log-density of perturbed log-probabilities (SofT-GRPO, arXiv 2511.06411, section 4.2).

    The density of value g = l + Gumbel noise is exp(-(g - l) - exp(-(g - l))).

    Args:
        values: [S, k].
        logps: the log-probabilities l of the candidates, which sum to 1 among them, [S, k]; -inf where there is none.
        kept: the candidates that count, bool [S, k]; at least one in each row.

    Returns:
        [S] nats.
    """
    # Selected before the exponential: the gradient of an infinite term would be NaN, though it does not count.
    noise = torch.where(kept, values.to(logps) - logps, 0.0)
    return torch.where(kept, -noise - torch.exp(-noise), 0.0).sum(-1) / kept.sum(-1)
