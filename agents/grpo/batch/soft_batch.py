"""Soft tokens of a batch, and of a micro-batch: what the model reads in their place, and what is scored.

A soft token is both: the input of the forward pass at its position, and a target of the state before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import torch
from torch import Tensor

from ...language.soft_tokens import SoftInputs, SoftToken, gumbel_logp, pad


@dataclass(frozen=True, eq=False)
class SoftTargets:
    """Perturbed log-probabilities of S of the scored tokens of a micro-batch.

    Attributes:
        at: index of each among the scored tokens, int64 [S].
        ids: candidates, int64 [S, k].
        values: perturbed log-probabilities, nats, [S, k].
        present, kept: candidates that exist, and those whose values count in the score, bool [S, k].
    """

    at: Tensor
    ids: Tensor
    values: Tensor
    present: Tensor
    kept: Tensor

    def to(self, device: torch.device) -> SoftTargets:
        return SoftTargets(*(getattr(self, item.name).to(device) for item in fields(self)))

    def replace_in(self, logp: Tensor, candidates: Tensor) -> Tensor:
        """Return log-probabilities [A] of scored tokens, with the scores of soft ones in their places.

        Args:
            logp: log-probabilities of the tokens, [A].
            candidates: log-probabilities of the candidates ``ids``, with gradient, [S, k].
        """
        logps = candidates.masked_fill(~self.present, -torch.inf).log_softmax(-1)
        return logp.index_copy(0, self.at, gumbel_logp(self.values, logps, self.kept).to(logp))


@dataclass(frozen=True, eq=False)
class SoftTokens:
    """Soft tokens of a batch of N tokens.

    Attributes:
        of: row of each token in the tables, int64 [N]; -1 for tokens that are not soft.
        ids, weights, values, present, kept: see `SoftTargets` and `SoftInputs`, [S, k].
    """

    of: Tensor
    ids: Tensor
    weights: Tensor
    values: Tensor
    present: Tensor
    kept: Tensor

    @classmethod
    def of_tokens(cls, tokens: Mapping[int, SoftToken], count: int) -> SoftTokens:
        """Make the tables of soft tokens, given by their indices among ``count`` tokens."""
        of = torch.full((count,), -1)
        of[list(tokens)] = torch.arange(len(tokens))
        ids, weights, values = (pad([t[part] for t in tokens.values()]) for part in range(3))
        column = torch.arange(ids.shape[1])
        values = torch.nn.functional.pad(values.float(), (0, ids.shape[1] - values.shape[1]))
        present, kept = (column < torch.tensor([len(t[part]) for t in tokens.values()])[:, None] for part in (0, 2))
        return cls(of, ids, weights.float(), values, present, kept)

    def inputs(self, places: Tensor) -> SoftInputs | None:
        """Return what is read at the tokens ``places`` of the batch; None if none of them is soft."""
        at, rows = self._find(places)
        return SoftInputs(at, self.ids[rows], self.weights[rows]) if len(at) else None

    def targets(self, places: Tensor) -> SoftTargets | None:
        """Return what is scored at the tokens ``places`` of the batch; None if none of them is soft."""
        at, rows = self._find(places)
        tables = (self.ids, self.values, self.present, self.kept)
        return SoftTargets(at, *(table[rows] for table in tables)) if len(at) else None

    def _find(self, places: Tensor) -> tuple[Tensor, Tensor]:
        """Return the indices in ``places`` of the soft tokens, and their rows in the tables."""
        rows = self.of[places]
        at = (rows >= 0).nonzero()[:, 0]
        return at, rows[at]
