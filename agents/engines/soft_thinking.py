"""Thoughts of soft tokens in the in-process engine: the answer begins with mixtures of tokens, then tokens are drawn.

`SoftThinking` holds the settings and perturbs distributions; `SoftDecodingRows` decodes rows of which some think. The
last mixture of every row is on the device; a token that was drawn is the mixture of that token alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..language.soft_tokens import SoftInputs, SoftToken, gumbel_logp
from .decoding import ALIVE, LANE, DecodingRows
from .noise import uniforms
from .sequence import TokenSequence


@dataclass(frozen=True, eq=False)
class SoftDraw:
    """Soft tokens of R rows, with k candidates each, likeliest first.

    Attributes:
        token: candidate with the largest perturbed log-probability, int64 [R].
        logp: score of the perturbed log-probabilities, nats [R]; see `soft_tokens.gumbel_logp`.
        ids, weights, values: see `soft_tokens.SoftToken`, [R, k].
        candidates, kept: number of candidates, and of those whose values count in the score, int64 [R].
    """

    token: Tensor
    logp: Tensor
    ids: Tensor
    weights: Tensor
    values: Tensor
    candidates: Tensor
    kept: Tensor


@dataclass(frozen=True)
class SoftThinking:
    """Settings of soft tokens (SofT-GRPO, arXiv 2511.06411, section 4.1).

    Attributes:
        top_k, top_p: candidates of a token: of the ``top_k`` likeliest, the fewest with the share ``top_p``.
        temperature: temperature of the softmax over perturbed log-probabilities; towards 0 the mixture is one token.
        noise_low, noise_high: bounds that the Gumbel noise is clamped to.
        least: log-probability among the candidates (nats) above which a candidate counts in the score.
        tokens: most soft tokens of a thought; None: no limit besides that of the answer.
        end_ids: ids that end the thought, in sequence; (): only ``tokens`` ends it.
    """

    top_k: int = 5
    top_p: float = 0.95
    temperature: float = 0.1
    noise_low: float = -1.5
    noise_high: float = 3.0
    least: float = -3.0
    tokens: int | None = None
    end_ids: tuple[int, ...] = ()

    def draw(self, logits: Tensor, noise: Tensor, greedy: Tensor) -> SoftDraw:
        """Perturb distributions by Gumbel noise and mix their likeliest tokens.

        Args:
            logits: [R, V], divided by the sampling temperature.
            noise: uniform numbers in [0, 1), multiples of 2**-52, float64 [R]; a row's Gumbel noise is derived from it.
            greedy: bool [R], True adds no noise.
        """
        logps, ids = logits.topk(min(self.top_k, logits.shape[-1]), dim=-1)
        share = logps.softmax(-1)
        present = share.cumsum(-1) - share < self.top_p
        present[:, 0] = True
        logps = logps.masked_fill(~present, -torch.inf).log_softmax(-1)
        places = torch.arange(ids.shape[1], device=noise.device)[:, None].expand(-1, len(noise))
        bits = (noise * 2.0**52).long()
        uniform = uniforms(torch.stack((bits >> 20, bits & 0xFFFFFFFF)), places).T
        gumbel = -(-uniform.log()).log()
        gumbel = gumbel.clamp(self.noise_low, self.noise_high).masked_fill(greedy[:, None], 0.0)
        values = logps + gumbel.to(logps)
        kept = present & (logps > self.least)
        kept[:, 0] = True
        best = values.argmax(-1, keepdim=True)
        return SoftDraw(
            ids.gather(-1, best)[:, 0],
            gumbel_logp(values, logps, kept),
            ids,
            (values / self.temperature).softmax(-1),
            values,
            present.sum(-1),
            kept.sum(-1),
        )


class SoftDecodingRows(DecodingRows):
    """Decoder whose rows begin answers with thoughts of soft tokens where requests ask for them (`Request.thinks`).

    Args:
        thinking: settings of the soft tokens.
        places: arguments of `DecodingRows`.
    """

    def __init__(self, thinking: SoftThinking, *places: Any):
        super().__init__(*places)
        self._thinking = thinking
        width = min(thinking.top_k, self._runner.vocabulary)
        self._further = 2 + 3 * width
        slots, device = self._cache.rows, self._table.device
        # By lane, so that rows can change places: the last mixture, the soft tokens that are left to a thought, and its
        # last tokens, of which the end is recognised.
        self._ids = torch.zeros((slots, width), dtype=torch.int64, device=device)
        self._weights = torch.zeros((slots, width), device=device)
        self._left = torch.zeros(slots, dtype=torch.int64, device=device)
        self._end = torch.tensor(thinking.end_ids, dtype=torch.int64, device=device)
        self._latest = torch.full((slots, len(thinking.end_ids)), -1, dtype=torch.int64, device=device)
        self._all = torch.arange(slots, device=device)

    def begin(self, sequences: Sequence[TokenSequence], logits: Tensor) -> list[TokenSequence]:
        most = self._thinking.tokens
        lanes = torch.from_numpy(self._rows[LANE, sequences[0].row : sequences[-1].row + 1]).to(self._table.device)
        budgets = [
            (s.request.max_new_tokens if most is None else most) if s.request is not None and s.thinks else 0
            for s in sequences
        ]
        self._left[lanes] = torch.tensor(budgets, device=self._table.device)
        self._latest[lanes] = -1
        return super().begin(sequences, logits)

    def _mixtures(self, rows: int) -> SoftInputs:
        lanes = self._table[LANE, :rows]
        return SoftInputs(self._all[:rows], self._ids[lanes], self._weights[lanes])

    def _draw(self, rows: slice, logits: Tensor, noise: Tensor) -> list[Tensor]:
        drawn = super()._draw(rows, logits, noise)
        scale = self._scale[rows].to(logits.dtype)
        greedy = scale == 0
        soft = self._thinking.draw(logits / scale.masked_fill(greedy, 1.0)[:, None], noise, greedy)
        lanes, alive = self._table[LANE, rows], self._table[ALIVE, rows] > 0
        left, latest = self._left[lanes], self._latest[lanes]
        thinks = left > 0
        one, column = thinks[:, None], torch.arange(soft.ids.shape[1], device=lanes.device)
        drawn[0] = torch.where(thinks, soft.token, drawn[0])
        drawn[1] = torch.where(thinks, soft.logp, drawn[1])
        ids = torch.where(one, soft.ids, drawn[0][:, None])
        weights = torch.where(one, soft.weights.float(), (column == 0).float())
        latest = torch.cat((latest, drawn[0][:, None]), 1)[:, 1:]
        ended = (latest == self._end).all(-1) if len(self._end) else torch.zeros_like(thinks)
        kept = alive[:, None]
        self._ids[lanes] = torch.where(kept, ids, self._ids[lanes])
        self._weights[lanes] = torch.where(kept, weights, self._weights[lanes])
        self._latest[lanes] = torch.where(kept, latest, self._latest[lanes])
        self._left[lanes] = torch.where(alive, torch.where(ended, 0, (left - 1).clamp(min=0)), left)
        numbers = (torch.where(thinks, soft.candidates, 0), torch.where(thinks, soft.kept, 0))
        return [*drawn, *numbers, *(line for part in (ids, weights, soft.values) for line in part.unbind(1))]

    def _hand_out(self, sequence: TokenSequence, length: int, answer: np.ndarray) -> None:
        first = len(sequence.tokens)
        sequence.soft |= self._read(first, answer[-self._further :, len(sequence.ids) :], length + 1 - first)
        super()._hand_out(sequence, length, answer[: len(answer) - self._further])

    def _read(self, first: int, lines: np.ndarray, tokens: int) -> dict[int, SoftToken]:
        """Return the soft tokens of an answer [lines, tokens], by their positions in the conversation.

        Args:
            first: position of the answer's first token.
            tokens: number of tokens of the answer; further columns are not read.
        """
        candidates, kept = lines[:2, :tokens].astype(int)
        ids, weights, values = np.split(lines[2:, :tokens], 3)
        return {
            first + place: SoftToken(
                tuple(ids[:count, place].astype(int).tolist()),
                tuple(weights[:count, place].tolist()),
                tuple(values[: kept[place], place].tolist()),
            )
            for place, count in enumerate(candidates.tolist())
            if count
        }
