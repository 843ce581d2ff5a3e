"""The in-process engine: samples from the learner's own weights, on a CPU or a GPU.

`Scheduler` decides which sequences run, `ModelRunner` computes their logits, and `TorchEngine` draws the tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ..language.decoder import attention_shape, check_architecture, context_limit
from ..language.head import head_of
from .cache import KeyValueCache
from .drawing import draw_tokens, entropy_of, likeliest
from .engine import ABILITIES, ENGINES, Engine
from .runner import ModelRunner
from .sampler import Completion, Request
from .scheduler import Scheduler
from .sequence import TokenSequence


@ENGINES.register("torch")
class TorchEngine(Engine):
    """Samples from the learner's own weights, in batches whose rows are refilled as they finish.

    Args:
        model: transformers causal language model (see `agents.language.decoder.check_model`); read in place, never
            copied or cast.
        stop_ids: ids that end an answer; the stop id is part of the completion, so that it is trained.
        vocabulary: number of ids that the tokenizer has; rows of the output matrix beyond it are never sampled.
        slots: conversations held at once.
        max_length: longest conversation in tokens; a longer one is a ValueError. Memory grows with what is used.
        fp32_head: compute the logits of a half-precision model in single precision.
    """

    abilities = frozenset(ABILITIES)
    interruptible = True

    @classmethod
    def serve(cls, language: Any, slots: int, max_length: int, fp32_head: bool = False) -> TorchEngine:
        return cls(language.model, language.renderer.stop_ids, len(language.tokenizer), slots, max_length, fp32_head)

    def __init__(
        self,
        model: Any,
        stop_ids: Sequence[int],
        vocabulary: int,
        slots: int = 128,
        max_length: int = 4096,
        fp32_head: bool = False,
    ):
        if slots < 1:
            raise InputError(f"slots must be at least 1, got {slots}.")
        check_architecture(model.config)
        weight = head_of(model).weight
        self._stop_ids = frozenset(stop_ids)
        self._vocabulary = min(vocabulary, len(weight))
        self._max_length = min(max_length, context_limit(model))
        cache = KeyValueCache(attention_shape(model), slots, self._max_length, weight.detach())
        self._runner = ModelRunner(model, cache, self._vocabulary, fp32_head)
        self._scheduler = Scheduler(slots, cache)
        self._sequences: dict[int, TokenSequence] = {}
        self._noise = torch.Generator(device=weight.device)
        self._noise.manual_seed(0)

    def seed(self, seed: int) -> None:
        """Restart the noise of requests without a seed of their own."""
        self._noise.manual_seed(seed)

    def submit(self, request: Request) -> None:
        """Queue a request.

        Raises:
            ValueError: its session is busy or would outgrow ``max_length``, or it forces an id that cannot be sampled.
        """
        if request.forced and not 0 <= min(request.forced) <= max(request.forced) < self._vocabulary:
            raise ValueError(f"forced ids must lie in [0, {self._vocabulary}), got {list(request.forced)}.")
        sequence = self._sequences.get(request.session)
        if sequence is None:
            sequence = self._sequences[request.session] = TokenSequence(request.session)
        if sequence.request is not None:
            raise ValueError(f"session {request.session} already has a request in flight.")
        known = sequence.cached + len(sequence.pending)
        total = known + len(request.ids) + len(request.forced) + request.max_new_tokens
        if total > self._max_length:
            raise ValueError(f"session {request.session} would reach {total} tokens; the limit is {self._max_length}.")
        sequence.start(request)
        self._scheduler.enqueue(sequence)

    @torch.inference_mode()
    def close(self, session: int) -> None:
        """Free the session's row. Closing a session with a request in flight cancels the request."""
        sequence = self._sequences.pop(session, None)
        if sequence is not None:
            self._scheduler.remove(sequence)

    @torch.inference_mode()
    def step(self, interrupt: Callable[[], bool] = lambda: False) -> list[Completion]:
        """Decode until at least one request finishes, or ``interrupt`` returns True after a token of each; [] when none
        is in flight."""
        while True:
            if admitted := self._scheduler.admit():
                finished = self._begin(admitted)
            elif active := self._scheduler.active:
                finished = self._sample(active, self._runner.decode(active))
            else:
                return []
            if finished or interrupt():
                return finished

    def _begin(self, admitted: Sequence[TokenSequence]) -> list[Completion]:
        """Encode requests and sample their first tokens; those complete with their forced ids alone sample nothing."""
        logits = self._runner.encode(admitted)
        sampling = [i for i, sequence in enumerate(admitted) if not sequence.is_complete(self._stop_ids)]
        if len(sampling) == len(admitted):
            return self._sample(admitted, logits)
        finished = [self._finish(sequence) for sequence in admitted if sequence.is_complete(self._stop_ids)]
        return finished + self._sample([admitted[i] for i in sampling], logits[sampling])

    def _sample(self, sequences: Sequence[TokenSequence], logits: Tensor) -> list[Completion]:
        """Draw one token a sequence, record its log-probability, and return the answers that are complete."""
        if not sequences:
            return []
        requests = [sequence.request for sequence in sequences if sequence.request is not None]
        own = {row: sequence.noise for row, sequence in enumerate(sequences) if sequence.noise is not None}
        tokens, logps = draw_tokens(logits, [request.temperature for request in requests], self._noise, own)
        chosen = logps.gather(-1, tokens[:, None])[:, 0].tolist()
        if any(request.entropies for request in requests):
            for sequence, entropy in zip(sequences, entropy_of(logps).tolist(), strict=True):
                sequence.entropies.append(entropy)
        if most := max(request.top for request in requests):
            for sequence, request, several in zip(sequences, requests, likeliest(logps, most), strict=True):
                sequence.top.append(several[: request.top])
        finished: list[TokenSequence] = []
        for sequence, token, logp in zip(sequences, tokens.tolist(), chosen, strict=True):
            sequence.ids.append(token)
            sequence.logps.append(logp)
            sequence.pending = [token]
            if sequence.is_complete(self._stop_ids):
                finished.append(sequence)
        # From the back, so that rows which finish together leave without changing places.
        finished.sort(key=lambda sequence: -sequence.row)
        return [self._finish(sequence) for sequence in finished]

    def _finish(self, sequence: TokenSequence) -> Completion:
        self._scheduler.pause(sequence)
        return sequence.finish(self._stop_ids)
