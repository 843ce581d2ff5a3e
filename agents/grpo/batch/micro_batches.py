"""Recovery from out-of-memory errors: micro-batches are split and repeated, and every gradient is counted once.

If memory runs out before the backward pass, no gradient has changed. If it runs out during the backward pass, gradients
have been added to some weights already, and rounding forbids subtracting them again. So all gradients are reset to
their values before the first micro-batch, and the whole work is repeated with smaller micro-batches. The saved copy of
the gradients takes no memory if there were none before.
"""

from __future__ import annotations

import gc
import logging
from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import torch
from torch import Tensor

from ....errors import InputError
from .packing import MicroBatch

T = TypeVar("T")
_log = logging.getLogger(__name__)


class MemoryLimit:
    """Largest micro-batch that fits into memory, lowered each time a micro-batch ran out of memory.

    Args:
        splits: False if all processes of a run must make the same passes; running out of memory is then an error.

    Attributes:
        budget: most tokens of a micro-batch from now on; None as long as memory has not run out.
    """

    def __init__(self, splits: bool = True):
        self.splits = splits
        self.budget: int | None = None
        self._first: int | None = None
        self._said: list[str] = []

    def add_notice(self, sentence: str) -> None:
        """Add a sentence to the notices that `take_notices` returns."""
        self._said.append(sentence)

    def lower(self, micro: MicroBatch, checkpoint: bool, reason: str) -> None:
        """Lower the budget to half the tokens of a micro-batch that did not fit.

        Args:
            checkpoint: True if activations are recomputed already; the error message then does not advise it.
            reason: message of the allocator.

        Raises:
            InputError: the micro-batch is a single episode, which is never split.
        """
        tokens = len(micro.ids)
        if len(micro.episodes) == 1:
            remedy = "" if checkpoint else "recompute activations with --gradient-checkpointing, or "
            raise InputError(
                f"one episode of {tokens:,} tokens does not fit into memory even alone ({reason}); {remedy}shorten "
                "episodes with --context and --max-episode-tokens."
            )
        self._first = self._first or tokens
        self.budget = min(tokens // 2, self.budget or tokens)
        _log.info("memory ran out in a micro-batch of %d tokens: %s", tokens, reason)

    def take_notices(self) -> list[str]:
        """Return and clear the notices for the user, with one more if memory has run out since the last call."""
        sentences, self._said = self._said, []
        if self._first is not None:
            sentences.append(
                f"Memory ran out in a micro-batch of {self._first:,} tokens; it was computed again in smaller ones, "
                f"with the same gradient, and from here on they have at most {self.budget:,} tokens (--token-budget)."
            )
            self._first = None
        return sentences


def is_out_of_memory(error: BaseException) -> bool:
    """Return True for errors of torch's allocators (CPU and GPU) and for Python's MemoryError."""
    if isinstance(error, (torch.OutOfMemoryError, MemoryError)):
        return True
    text = str(error)
    return isinstance(error, RuntimeError) and any(sign in text for sign in _SIGNS)


_SIGNS = ("DefaultCPUAllocator", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")


def run_micro_batches(
    pack: Callable[[Sequence[int]], list[MicroBatch]],
    episodes: Sequence[int],
    compute: Callable[[MicroBatch], tuple[Tensor | None, T]],
    limit: MemoryLimit,
    *,
    checkpoint: bool = False,
    weights: Iterable[Tensor] = (),
    reset: Callable[[], None] | None = None,
) -> list[T]:
    """Compute a result for each micro-batch; if memory runs out, split the micro-batches and repeat.

    Args:
        pack: divides episodes into micro-batches of at most ``limit.budget`` tokens.
        compute: returns (scalar whose gradient is accumulated, or None; result).
        checkpoint: True if activations are recomputed already; only for the error message.
        weights: weights that receive gradients, accumulated over the micro-batches.
        reset: undoes side effects of ``compute`` before a repetition, if there are any.

    Returns:
        The results, in the order of the micro-batches.

    Raises:
        InputError: a single episode does not fit into memory.
    """
    weights = list(weights)
    before = [None if weight.grad is None else weight.grad.clone() for weight in weights]
    waiting, place = pack(episodes), 0
    results: list[T] = []
    while place < len(waiting):
        loss, differentiated, failure = None, False, None
        try:
            loss, result = compute(waiting[place])
            if loss is not None:
                differentiated = True
                loss.backward()
            results.append(result)
        except (RuntimeError, MemoryError) as error:
            if not limit.splits or not is_out_of_memory(error):
                raise
            failure = str(error).partition("\n")[0].strip().rstrip(".") or "MemoryError"
        if failure is None:
            place += 1
            continue
        # Not inside `except`: the error holds references to tensors of the failed pass.
        loss = result = None
        gc.collect(1)  # young objects only: a full collection takes long
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        limit.lower(waiting[place], checkpoint, failure)
        rest: Sequence[int] = [episode for micro in waiting[place:] for episode in micro.episodes.tolist()]
        if differentiated or reset is not None:
            for weight, gradient in zip(weights, before, strict=True):
                weight.grad = None if gradient is None else gradient.clone()
            if reset is not None:
                reset()
            results.clear()
            rest = episodes
        waiting, place = pack(rest), 0
    return results
