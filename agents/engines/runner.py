"""Forward passes of the in-process engine: pending tokens of sequences in, logits of their next tokens out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..language.decoder import hidden_states
from ..language.head import head_of
from .cache import KeyValueCache
from .drawing import entropy_of, likeliest
from .sequence import TokenSequence

_FORCED_BYTES = 1 << 27
"""Most bytes of logits alive at once while forced tokens are scored."""


class ModelRunner:
    """Runs ``model`` over the cached tokens of sequences and adds their pending ones to ``cache``.

    Args:
        model: transformers causal language model, read in place.
        cache: keys and values of all sequences, by row.
        vocabulary: logits are those of the first ``vocabulary`` ids.
        fp32_head: compute the logits of a half-precision model in single precision.
    """

    def __init__(self, model: Any, cache: KeyValueCache, vocabulary: int, fp32_head: bool):
        self._model = model
        self._cache = cache
        self.vocabulary = vocabulary
        self._fp32_head = fp32_head
        self._head_place: tuple[int, int | None] | None = None
        self.device = head_of(model).weight.device

    def encode(self, sequences: Sequence[TokenSequence]) -> Tensor:
        """Feed the pending tokens of ``sequences``, and score those that are forced.

        Equal prompts of new sequences are encoded once and copied.

        Returns:
            The logits after the last token of each sequence, [sequences, vocabulary].
        """
        leaders: dict[tuple[int, tuple[int, ...]], int] = {}
        source: list[int] = []  # index into `encoded` of the sequence whose encoding each sequence shares
        encoded: list[TokenSequence] = []
        for sequence in sequences:
            key = (sequence.forced, tuple(sequence.pending))
            index = leaders.get(key) if sequence.cached == 0 else None
            if index is None:
                index = len(encoded)
                encoded.append(sequence)
                if sequence.cached == 0:
                    leaders[key] = index
            source.append(index)
        tails = self._extend(encoded)
        followers: dict[int, list[TokenSequence]] = {}
        for sequence, index in zip(sequences, source, strict=True):
            if sequence is not encoded[index]:
                followers.setdefault(index, []).append(sequence)
        for index, copies in followers.items():
            leader = encoded[index]
            self._cache.share(leader.row, leader.cached, [sequence.row for sequence in copies])
            for sequence in copies:
                sequence.cached = leader.cached
        scored: dict[tuple[int, float, int], TokenSequence] = {}
        for sequence, index in zip(sequences, source, strict=True):
            if sequence.forced:
                self._score_forced(sequence, tails[index][:-1], scored, index)
        logits = self._logits(torch.stack([tail[-1] for tail in tails]))
        return logits[source] if len(encoded) < len(sequences) else logits

    def step(self, ids: Tensor, filled: Tensor, span: int, level: int | None = None) -> Tensor:
        """Feed one token to each of the first rows of the cache; see `KeyValueCache.prepare_step`.

        Args:
            ids: int64 [rows]; filled: their positions, int64 [rows].

        Returns:
            The logits after them, [rows, vocabulary].
        """
        return self._logits(hidden_states(self._model, ids, filled, self._cache.prepare_step(filled, span, level)))

    def reserve(self, length: int) -> None:
        """Make room for conversations of ``length`` tokens, before `step`."""
        self._cache.reserve(length)

    def addresses(self) -> tuple[int, ...]:
        """Where weights and cache lie: what graphs of `step` depend on."""
        tensors = (*self._model.parameters(), *self._model.buffers())
        return (*self._cache.addresses(), *(each.data_ptr() for each in tensors))

    def _extend(self, sequences: Sequence[TokenSequence]) -> list[Tensor]:
        """Append pending tokens of several rows to the cache in one pass, padded to the longest addition.

        Returns:
            For each sequence the hidden states [forced + 1, H] that predict its forced tokens and the one after.
        """
        pending = [sequence.pending for sequence in sequences]
        added = [len(ids) for ids in pending]
        width = max(added)
        padded = [ids + [0] * (width - len(ids)) for ids in pending]
        positions, attend = self._cache.prepare_extension(
            [s.row for s in sequences], [s.cached for s in sequences], added
        )
        hidden = hidden_states(self._model, torch.tensor(padded, device=self.device).flatten(), positions, attend)
        for sequence, count in zip(sequences, added, strict=True):
            sequence.cached += count
        tokens = hidden.unflatten(0, (len(sequences), width))
        return [tokens[i, count - 1 - s.forced : count] for i, (s, count) in enumerate(zip(sequences, added))]

    def _score_forced(
        self, sequence: TokenSequence, hidden: Tensor, scored: dict[tuple[int, float, int], TokenSequence], index: int
    ) -> None:
        """Open a sequence's answer with its forced ids, ``hidden`` [forced, H] being the states that predict them.

        Sequences that share encoding ``index``, temperature and ``top`` share the numbers, through ``scored``.
        """
        request = sequence.request
        assert request is not None
        sequence.ids = list(request.forced)
        temperature = request.temperature or 1.0
        twin = scored.setdefault((index, temperature, request.top), sequence)
        if twin is sequence:
            targets = torch.tensor(sequence.ids, device=self.device)[:, None]
            rows = max(1, _FORCED_BYTES // (4 * self.vocabulary))
            for part, target in zip(hidden.split(rows), targets.split(rows), strict=True):
                logps = (self._logits(part) / temperature).log_softmax(-1)
                sequence.logps += logps.gather(-1, target)[:, 0].tolist()
                sequence.entropies += entropy_of(logps).tolist()
                if request.top:
                    sequence.top += likeliest(logps, request.top)
        else:
            forced = len(sequence.ids)
            sequence.logps, sequence.entropies = twin.logps[:forced], twin.entropies[:forced]
            sequence.top = twin.top[:forced]

    def _logits(self, hidden: Tensor) -> Tensor:
        layer = getattr(self._model, "lm_head", None)
        # Reading the head takes a good part of a small model's step, so it is read when its weights have been replaced.
        weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
        place = None if weight is None else (weight.data_ptr(), None if bias is None else bias.data_ptr())
        if place is None or place != self._head_place:
            self._head = head_of(self._model, self._fp32_head).first(self.vocabulary)
            self._head_place = place
        return self._head.logits(hidden)
