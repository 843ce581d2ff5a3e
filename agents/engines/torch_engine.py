"""In-process engine, which samples from the learner's own weights on a CPU or a GPU.

`Scheduler` decides which sequences run, `ModelRunner` computes their logits, and `TorchEngine` draws the tokens.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal

import torch

from ...checks import check_number
from ...errors import InputError
from ..language.decoder import attention_shape, check_architecture, context_limit, has_own_forward
from ..language.gpu import free_memory
from ..language.head import head_of
from .cache import KeyValueCache, row_length, slots_within, token_bytes
from .decoding import BLOCK, DecodingRows
from .engine import ABILITIES, ENGINES, Engine
from .graphs import Capture, CudaCapture, NoCapture
from .joint import JointRunner, LogitRule
from .prompts import WORTH, SharedPrompts, places_for
from .runner import ModelRunner
from .sampler import Completion, Request
from .scheduler import Scheduler
from .sequence import TokenSequence
from .soft_thinking import SoftDecodingRows, SoftThinking
from .truncation import Truncation

_SHARE = 0.5
"""Largest fraction of a GPU's free memory for the cache."""
_STAYS = 0.05
"""Largest fraction of a GPU's free memory for a cache that is kept during training, so that graphs are captured once.
"""


def default_cache_gb(device: torch.device, spare: int = 0) -> float | None:
    """Return the default memory for keys and values in GB (1e9 bytes): half of a GPU's free memory less ``spare``
    bytes; None (no limit) on a CPU."""
    return _SHARE * max(0, free_memory(device) - spare) / 1e9 if device.type == "cuda" else None


def staying_bytes(device: torch.device) -> float:
    """Return the largest size in bytes of a cache that is kept while the engine sleeps; 0 on a CPU."""
    return _STAYS * free_memory(device) if device.type == "cuda" else 0.0


@ENGINES.register("torch")
class TorchEngine(Engine):
    """Engine that samples from the learner's own weights, in batches whose rows are refilled as answers finish.

    Args:
        model: transformers causal language model (see `agents.language.decoder.check_model`); read in place, never
            copied or cast.
        stop_ids: ids that end an answer; the stop id is part of the completion, so that it is trained.
        vocabulary: number of ids that the tokenizer has; rows of the output matrix beyond it are never sampled.
        slots: number of conversations held at the same time; further ones wait.
        max_length: longest conversation in tokens; `submit` raises ValueError for longer ones.
        fp32_head: compute the logits of a half-precision model in single precision.
        cache_gb: memory for keys and values in GB (1e9 bytes), which may reduce ``slots``. None: half of a GPU's free
            memory; no limit on a CPU, where memory grows with use.
        capture: makes the function that captures decoding steps (see `graphs.StepGraphs`); None: no capture; "auto":
            CUDA graphs on a GPU, none on a CPU. With capture the cache has its full size from the first use on.
        share_above: bytes of keys and values per layer. If sharing the common prompts of several conversations saves at
            least so many bytes per decoding step, prompts are stored and read once; otherwise they are copied (see
            `prompts`). None: `prompts.WORTH`.
        spare: bytes of GPU memory that the cache leaves free for later allocations if ``cache_gb`` is None.

    GPU-only code (CUDA graphs, fused attention in half precision and the choice of memory) has not been run on a GPU
    yet.
    """

    abilities = frozenset(ABILITIES)
    interruptible = True

    @classmethod
    def check(cls, cache_gb: float | None = None) -> None:
        if cache_gb is not None:
            check_number("the engine option cache_gb", cache_gb, above=0)

    @classmethod
    def measure_held(cls, weights: int, free: int, ahead: bool, cache_gb: float | None = None) -> int:
        share = (_SHARE if ahead else _STAYS) * free  # see `sleep`
        if cache_gb is None:
            return int(share)
        return int(min(cache_gb * 1e9, free if ahead else share))

    @classmethod
    def serve(
        cls,
        language: Any,
        slots: int,
        max_length: int,
        fp32_head: bool = False,
        cache_gb: float | None = None,
        spare: int = 0,
    ) -> TorchEngine:
        """Make an engine that samples from a model; see `Engine.serve`.

        Args:
            cache_gb: memory for keys and values in GB (1e9 bytes); conversations that do not fit wait. None:
                `default_cache_gb`.
        """
        vocabulary, stop_ids = len(language.tokenizer), language.renderer.stop_ids
        return cls(language.model, stop_ids, vocabulary, slots, max_length, fp32_head, cache_gb, spare=spare)

    def __init__(
        self,
        model: Any,
        stop_ids: Sequence[int],
        vocabulary: int,
        slots: int = 128,
        max_length: int = 4096,
        fp32_head: bool = False,
        cache_gb: float | None = None,
        capture: Callable[[], Capture] | Literal["auto"] | None = "auto",
        share_above: float | None = None,
        spare: int = 0,
    ):
        if slots < 1:
            raise InputError(f"slots must be at least 1, got {slots}.")
        check_architecture(model.config)
        self._model, self._fp32_head, self._worth = model, fp32_head, share_above
        weight = head_of(model).weight
        self._stop_ids = frozenset(stop_ids)
        self._vocabulary = min(vocabulary, len(weight))
        self._max_length = min(max_length, context_limit(model))
        self._capture, self._slots = capture, slots
        self._cache_gb = default_cache_gb(weight.device, spare) if cache_gb is None else cache_gb
        self._sequences: dict[int, TokenSequence] = {}
        self._rule: LogitRule | None = None
        self._thinking: SoftThinking | None = None
        self._assemble()

    def _assemble(self) -> None:
        """Make cache, runner and scheduler for the model, or for the models whose logits the rule joins."""
        models = [self._model, *(self._rule.models if self._rule else ())]
        weight = head_of(self._model).weight
        capture: Callable[[], Capture] | None
        if not isinstance(self._capture, str):
            capture = self._capture
        elif weight.device.type == "cpu":
            capture = None
        else:
            capture = partial(CudaCapture, weight.device) if all(map(has_own_forward, models)) else NoCapture
        shapes, fixed = [attention_shape(model) for model in models], capture is not None
        likes = [head_of(model).weight.detach() for model in models]
        shape, like, slots = shapes[0], likes[0], self._slots
        worth = WORTH.get(weight.device.type, math.inf) if self._worth is None else self._worth
        if len(models) > 1:
            worth = math.inf  # prompts are not shared between the caches of several models

        def places(slots: int) -> int:
            most = (slots - 1) * self._max_length * token_bytes(shape, like) / shape.layers
            return places_for(slots, fixed or self._cache_gb is not None) if most >= worth else 0

        sizes = [token_bytes(*pair) for pair in zip(shapes, likes, strict=True)]
        if self._cache_gb is not None:
            share = self._cache_gb * sizes[0] / sum(sizes)
            slots = slots_within(shape, self._max_length, weight, slots, share, places)
        caches = [
            KeyValueCache(own, slots, self._max_length, one, fixed) for own, one in zip(shapes, likes, strict=True)
        ]
        self._prompts = SharedPrompts(shape, places(slots), slots, self._max_length, like, fixed, worth)
        size = (slots + places(slots)) * row_length(self._max_length) * sum(sizes)
        self._stays = fixed and size <= staying_bytes(weight.device)
        if self._rule is None:
            self._cache: Any = caches[0]
            self._runner = ModelRunner(self._model, self._cache, self._prompts, self._vocabulary, self._fp32_head)
        else:
            what = self._prompts, self._vocabulary, self._fp32_head, self._rule
            self._runner = JointRunner(models, caches, *what)
            self._cache = self._runner.joint
        parts = self._runner, self._cache, self._stop_ids, self._max_length, capture
        self._decoding = DecodingRows(*parts) if self._thinking is None else SoftDecodingRows(self._thinking, *parts)
        self._scheduler = Scheduler(slots, self._decoding)
        self.block = 1 if capture is None else BLOCK
        """Number of tokens between two calls of ``interrupt``."""

    @property
    def rule(self) -> LogitRule | None:  # type: ignore[override]
        return self._rule

    @rule.setter
    def rule(self, rule: LogitRule | None) -> None:
        self._rule = rule
        self._assemble_again()

    @property
    def thinking(self) -> SoftThinking | None:  # type: ignore[override]
        return self._thinking

    @thinking.setter
    def thinking(self, thinking: SoftThinking | None) -> None:
        self._thinking = thinking
        self._assemble_again()

    def _assemble_again(self) -> None:
        assert not self._sequences, "the engine's parts are set before the first request."
        truncation = self.truncation
        self._assemble()
        self.truncation = truncation

    def submit(self, request: Request) -> None:
        """Queue a request. Raises ValueError as in `Request.check`."""
        sequence = self._sequences.get(request.session) or TokenSequence(request.session)
        request.check(self._vocabulary, self._max_length, len(sequence.tokens), sequence.request is not None)
        self._sequences[request.session] = sequence
        if self._scheduler.idle:
            self._prompts.forget()  # the weights may have changed
        sequence.start(request, self._seed)
        self._scheduler.enqueue(sequence)

    @property
    def truncation(self) -> Truncation | None:  # type: ignore[override]
        return self._decoding.truncation

    @truncation.setter
    def truncation(self, truncation: Truncation | None) -> None:
        self._decoding.truncation = truncation

    def load_weights(self, version: int) -> None:
        """Stop sharing prompts that earlier weights have encoded. The weights themselves are read in place."""
        self._prompts.forget()

    @torch.inference_mode()
    def close(self, session: int) -> None:
        """Free the session's row. A request in flight is cancelled."""
        sequence = self._sequences.pop(session, None)
        if sequence is not None:
            if sequence.row >= 0:
                self._decoding.leave(sequence.row)
            self._scheduler.remove(sequence)

    @torch.inference_mode()
    def sleep(self) -> None:
        """Free the memory of a fixed-size cache and of graphs, unless they are a small part of the GPU's memory. Open
        conversations are encoded again when they continue. Nothing is freed while a request is in flight."""
        if self._cache.fixed and all(each.request is None for each in self._sequences.values()):
            self._scheduler.evict_all()
            self._prompts.forget()
            if self._stays:
                return
            self._decoding.release()
            self._cache.release()
            self._prompts.release()
            if self._cache.device.type == "cuda":
                torch.cuda.empty_cache()

    @torch.inference_mode()
    def step(self, interrupt: Callable[[], bool] = lambda: False) -> list[Completion]:
        """Decode until at least one request finishes, or until ``interrupt``, called every ``block`` tokens, returns
        True. Return the finished requests; [] if no request is in flight."""
        while True:
            if admitted := self._scheduler.admit():
                complete, interrupted = self._begin(admitted), False
            elif active := self._scheduler.active:
                complete, interrupted = self._decoding.decode(active, self._scheduler.paused, interrupt)
            else:
                return []
            if complete or interrupted or interrupt():
                return self._finish(complete)

    def _begin(self, admitted: list[TokenSequence]) -> list[TokenSequence]:
        """Encode requests and sample their first tokens, except for requests whose answer the forced ids complete.

        Returns:
            The sequences whose answers are complete.
        """
        logits = self._runner.encode(admitted, self._scheduler.waiting)
        scored = [sequence for sequence in admitted if sequence.is_complete(self._stop_ids)]
        if not scored:
            return self._decoding.begin(admitted, logits)
        place = {id(sequence): index for index, sequence in enumerate(admitted)}
        for sequence in reversed(scored):
            self._scheduler.pause(sequence)
        # The other sequences have the last of the decoding rows.
        others = sorted((each for each in admitted if each not in scored), key=lambda each: each.row)
        if not others:
            return scored
        return scored + self._decoding.begin(others, logits[[place[id(sequence)] for sequence in others]])

    def _finish(self, complete: list[TokenSequence]) -> list[Completion]:
        """End the requests of complete sequences."""
        # From the back, so that adjacent rows that finish together need no swaps.
        complete.sort(key=lambda sequence: -sequence.row)
        for sequence in complete:
            self._scheduler.pause(sequence)
        return [sequence.finish(self._stop_ids) for sequence in complete]
