"""Forward passes of the in-process engine: feed tokens of sequences, return the logits of their next tokens."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

import torch
from torch import Tensor

from ..language.attention import Attend
from ..language.decoder import hidden_states
from ..language.head import head_of
from ..language.soft_tokens import SoftInputs
from .buckets import padded_batches
from .drawing import entropy_of, likeliest
from .prompts import Reach, SharedPrompts
from .sequence import TokenSequence

_FORCED_BYTES = 1 << 27
"""Largest memory for logits at any time while forced tokens are scored, in bytes."""


class ModelRunner:
    """Runner of a model's forward passes over sequences, whose keys and values it adds to ``cache``.

    Args:
        model: transformers causal language model, read in place.
        cache: keys and values of all sequences, by row: a `KeyValueCache`, or several as one (`joint.JointCache`).
        prompts: keys and values of prompts that several sequences share.
        vocabulary: number V of ids to compute logits for: 0 to V - 1.
        fp32_head: compute the logits of a half-precision model in single precision.
    """

    def __init__(self, model: Any, cache: Any, prompts: SharedPrompts, vocabulary: int, fp32_head: bool):
        self._model = model
        self._cache = cache
        self.prompts = prompts
        self.vocabulary = vocabulary
        self._fp32_head = fp32_head
        self._head_place: tuple[int, int | None] | None = None
        self.device = head_of(model).weight.device

    def encode(self, sequences: Sequence[TokenSequence], waiting: Collection[TokenSequence] = ()) -> Tensor:
        """Feed the tokens of ``sequences`` that are not cached yet, and score their forced tokens.

        Equal prompts of new sequences are encoded once. They are also stored once if that saves time (see `prompts`);
        otherwise each row gets a copy.

        Args:
            waiting: sequences that will be encoded later.

        Returns:
            The logits after the last token of each sequence, [sequences, vocabulary].
        """
        self._share_prompts(sequences, waiting)
        leaders: dict[Hashable, int] = {}
        source: list[int] = []  # index into `encoded` of the sequence whose encoding each sequence shares
        encoded: list[TokenSequence] = []
        for sequence in sequences:
            key: Hashable = sequence.id
            if sequence.prompt is not None and not sequence.pending:
                key = sequence.prompt
            elif sequence.cached == 0 and not sequence.soft:
                key = sequence.forced, tuple(sequence.pending)
            if key not in leaders:
                leaders[key] = len(encoded)
                encoded.append(sequence)
            source.append(leaders[key])
        tails = self._extend(encoded)
        followers: dict[int, list[TokenSequence]] = {}
        for sequence, index in zip(sequences, source, strict=True):
            if sequence.pending:
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
        logits = self.logits(torch.stack([tail[-1] for tail in tails]))
        return logits[source] if len(encoded) < len(sequences) else logits

    def step(
        self,
        ids: Tensor,
        filled: Tensor,
        span: int,
        level: int | None = None,
        base: Tensor | None = None,
        reach: Reach | None = None,
        soft: SoftInputs | None = None,
    ) -> Tensor:
        """Feed one token to each of the first rows of the cache.

        Args:
            ids: the tokens, int64 [rows].
            filled: positions of the tokens, int64 [rows].
            span, level: see `KeyValueCache.prepare_step`.
            base: lengths of the shared prompts that the rows continue, int64 [rows]; None without shared prompts.
            reach: the result of `SharedPrompts.arrange`.
            soft: mixtures that are fed in place of some of the tokens.

        Returns:
            The logits of the next tokens, [rows, vocabulary].
        """
        merge = None if reach is None else self.prompts.prepare_step(reach, filled)
        attend = self._cache.prepare_step(filled if base is None else filled - base, span, level, merge)
        return self.logits(self.hidden(ids, filled, attend, soft))

    def addresses(self) -> tuple[int, ...]:
        """Return the memory addresses of weights and cache, on which captured graphs of `step` depend."""
        tensors = (*self._model.parameters(), *self._model.buffers())
        return (*self._cache.addresses(), *self.prompts.addresses(), *(each.data_ptr() for each in tensors))

    def weights(self) -> Hashable:
        """Return a key that changes whenever the weights change: their addresses and torch's version counters."""
        tensors = (*self._model.parameters(), *self._model.buffers())
        if any(each.is_inference() for each in tensors):
            return object()  # torch keeps no version counters for inference tensors
        return tuple((each.data_ptr(), each._version) for each in tensors)

    def _share_prompts(self, sequences: Sequence[TokenSequence], waiting: Collection[TokenSequence]) -> None:
        """Let sequences continue shared prompts, and encode the prompts that are not stored yet."""
        new = self.prompts.assign(sequences, waiting, self.weights)
        for batch in padded_batches([len(members[0].pending) for _, members in new]):
            some = [new[number] for number in batch]
            leaders = [members[0] for _, members in some]
            pending = [leader.pending for leader in leaders]
            positions, attend = self.prompts.memory.prepare_extension(
                [prompt.place for prompt, _ in some], [0] * len(some), [len(ids) for ids in pending]
            )
            tails = self._feed(pending, [leader.forced for leader in leaders], positions, attend)
            for (prompt, members), tail in zip(some, tails, strict=True):
                self.prompts.hold(prompt, members, tail)

    def _extend(self, sequences: Sequence[TokenSequence]) -> list[Tensor]:
        """Feed the pending tokens of sequences and append them to the cache.

        Returns:
            For each sequence the hidden states [forced + 1, H] that predict its forced tokens and the next token; for a
            sequence that consists of a shared prompt only, the states stored with the prompt.
        """
        fed = [sequence for sequence in sequences if sequence.pending]
        tails = {s: s.prompt.tail for s in sequences if s.prompt is not None and s.prompt.tail is not None}
        for batch in padded_batches([len(sequence.pending) for sequence in fed]):
            some = [fed[number] for number in batch]
            pending = [sequence.pending for sequence in some]
            positions, attend = self._cache.prepare_extension(
                [s.row for s in some],
                [s.own for s in some],
                [len(ids) for ids in pending],
                self.prompts.prefix_of(some),
            )
            soft = self._soft_inputs(some) if any(sequence.soft for sequence in some) else None
            tails |= zip(some, self._feed(pending, [s.forced for s in some], positions, attend, soft), strict=True)
            for sequence, ids in zip(some, pending, strict=True):
                sequence.cached += len(ids)
        return [tails[sequence] for sequence in sequences]

    def _soft_inputs(self, sequences: Sequence[TokenSequence]) -> SoftInputs | None:
        """Return the mixtures among the pending tokens of sequences that are padded to the longest; None if there are
        none."""
        width = max(len(sequence.pending) for sequence in sequences)
        found = {
            row * width + place - sequence.cached: token
            for row, sequence in enumerate(sequences)
            for place, token in sequence.soft.items()
            if place >= sequence.cached
        }
        return SoftInputs.of(list(found), list(found.values()), self.device) if found else None

    def _feed(
        self,
        pending: Sequence[Sequence[int]],
        forced: Sequence[int],
        positions: Tensor,
        attend: Attend,
        soft: SoftInputs | None = None,
    ) -> list[Tensor]:
        """Run the model over lists of tokens, padded to the longest. Return for each list the hidden states
        [forced + 1, H] of its last tokens."""
        width = max(map(len, pending))
        padded = [[*ids, *[0] * (width - len(ids))] for ids in pending]
        hidden = self.hidden(torch.tensor(padded, device=self.device).flatten(), positions, attend, soft)
        tokens = hidden.unflatten(0, (len(pending), width))
        return [tokens[i, len(ids) - 1 - count : len(ids)] for i, (ids, count) in enumerate(zip(pending, forced))]

    def _score_forced(
        self, sequence: TokenSequence, hidden: Tensor, scored: dict[tuple[int, float, int], TokenSequence], index: int
    ) -> None:
        """Put a sequence's forced ids at the start of its answer, with their log-probabilities.

        Args:
            hidden: states that predict the forced ids, [forced, H].
            scored: sequences that were scored before, by (index, temperature, top); equal ones copy their numbers.
            index: index of the encoding that the sequence shares with others.
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
                logps = (self.logits(part) / temperature).log_softmax(-1)
                sequence.logps += logps.gather(-1, target)[:, 0].tolist()
                sequence.entropies += entropy_of(logps).tolist()
                if request.top:
                    sequence.top += likeliest(logps, request.top)
        else:
            forced = len(sequence.ids)
            sequence.logps, sequence.entropies = twin.logps[:forced], twin.entropies[:forced]
            sequence.top = twin.top[:forced]

    def hidden(self, ids: Tensor, positions: Tensor, attend: Any, soft: SoftInputs | None = None) -> Tensor:
        """Return the final hidden states of flat tokens, [N, H]; ``attend`` is what the cache has prepared."""
        return hidden_states(self._model, ids, positions, attend, soft=soft)

    def logits(self, hidden: Tensor) -> Tensor:
        """Return the logits [N, vocabulary] of hidden states [N, H]."""
        layer = getattr(self._model, "lm_head", None)
        # Finding the head takes a good part of a small model's step, so it is repeated only for replaced weights.
        weight, bias = getattr(layer, "weight", None), getattr(layer, "bias", None)
        place = None if weight is None else (weight.data_ptr(), None if bias is None else bias.data_ptr())
        if place is None or place != self._head_place:
            self._head = head_of(self._model, self._fp32_head).first(self.vocabulary)
            self._head_place = place
        return self._head.logits(hidden)
