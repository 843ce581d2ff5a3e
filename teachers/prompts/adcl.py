"""ADCL: a curriculum from easy to hard in chunks, where only the next chunk is sorted anew (arXiv 2505.08364).

Difficulty shifts as the model learns, and estimating all prompts anew is expensive. The list is therefore sorted once
and cut into chunks. After each chunk, the difficulties of the next chunk's prompts are estimated again and the chunk is
sorted by them; no prompt changes its chunk. `inversion_ratio` measures how far an order has changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ...checks import option
from ...errors import InputError
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import Kept, restore_array
from ..signals import success_rate
from .screening import ScreeningTeacher


def inversion_ratio(reference: Sequence[int], current: Sequence[int]) -> float:
    """Return the share of inverted pairs, in O(n log^2 n): 0 for the same order, 1 for the reverse (NIR in the paper).

    Args:
        reference, current: two orders of the same distinct items; fewer than two items give 0.

    Raises:
        InputError: the items differ.
    """
    before, after = np.asarray(reference), np.asarray(current)
    by_item = np.argsort(before, kind="stable")
    at = np.searchsorted(before[by_item], after)
    same = before.shape == after.shape and not (np.sort(after) != before[by_item]).any()
    if not same or len(np.unique(before)) < len(before):
        raise InputError(f"the orders {reference!r} and {current!r} must hold the same distinct items.")
    ranks, inverted, n = by_item[at], 0, len(before)
    if n < 2:
        return 0.0
    # The order of two ranks is decided by their highest differing bit. Group the ranks by the bits above it, keeping
    # the order within a group. The pairs inverted by this bit are then a 1 before a 0 of the same group.
    for bit in reversed(range(int(n).bit_length())):
        group, ones = ranks >> (bit + 1), (ranks >> bit) & 1
        ones_before = np.cumsum(ones) - ones
        inverted += int(((ones_before - ones_before[np.searchsorted(group, group)]) * (1 - ones)).sum())
        ranks = ranks[np.argsort(ranks >> bit, kind="stable")]
    return inverted / (n * (n - 1) / 2)


@register("adcl")
class ADCL(ScreeningTeacher):
    """Adaptive difficulty curriculum: chunks from easy to hard, the next chunk sorted anew before it starts.

    After the last prompt of a chunk, all prompts of the next chunk are proposed with ``train=False``. Whenever a prompt
    is due, the remaining prompts of its chunk are sorted by the pass rates received so far. The teacher does not wait
    for rates: the paper's exact order needs a learner whose batch size divides the chunks and which plays the screening
    proposals before it asks for more. After the last chunk the first one follows, screened again.

    A prompt's initial difficulty is ``pool.difficulty``; the paper takes 1 - pass rate of the base model.
    """

    paper = "2505.08364"
    when = "Prompts whose given order of difficulty is only roughly right: each chunk is sorted anew before it starts."
    kept = (
        "difficulty",
        Kept(("_chunk", "_passes"), key="at"),
        Kept("_to_screen", list[int]),
        "_moved",
        Kept("_done", list[int]),
    )
    chunks: int = option(
        default=8,
        low=1,
        says="number of chunks; at most one per prompt (we found no published number; 8 is our choice).",
    )
    probe: bool = option(
        default=True,
        says="estimate the next chunk by screening rollouts. If False, the pass rates in training are used, which "
        "first have an effect in the second pass.",
    )
    screen: int = option(
        default=8,
        low=1,
        says="number of rollouts by which a prompt's difficulty, 1 - pass rate, is estimated. An outcome with a "
        "single return moves the estimate by 1 / screen of the difference.",
    )

    def setup(self) -> None:
        super().setup()
        self.difficulty = self.pool.difficulty.copy()
        order = argsmallest(self.difficulty, self.pool.n, self._rng)
        self.pieces = np.array_split(order, min(self.chunks, self.pool.n))
        self._chunk, self._passes = 0, 0
        self._to_screen: list[int] = []
        self._to_train = self.pieces[0].copy()
        self._moved = 0.0  # inversion ratio of the last trained chunk against its initial order
        self._done: list[int] = []  # prompts of the present chunk in the order of training

    def _choose(self, k: int) -> tuple[np.ndarray, float, list[str] | str]:
        if self._to_screen:
            screened, self._to_screen = self._to_screen[:k], self._to_screen[k:]
            self._screening = set(screened)
            return np.array(screened), np.nan, "explore"
        self._screening = set()
        order = self._to_train[np.argsort(self.difficulty[self._to_train], kind="stable")]
        chosen, self._to_train = order[:k], order[k:]
        self._done += chosen.tolist()
        if not len(self._to_train):
            self._advance()
        return chosen, np.nan, "exploit"

    def _advance(self) -> None:
        self._moved = inversion_ratio(self.pieces[self._chunk].tolist(), self._done)
        self._done = []
        self._chunk = (self._chunk + 1) % len(self.pieces)
        self._passes += self._chunk == 0
        self._to_train = self.pieces[self._chunk].copy()
        self._to_screen = self._to_train.tolist() if self.probe else []

    def _learn_outcome(self, item: Evidence, screened: bool) -> None:
        step = 1.0 if len(item.returns) > 1 else 1 / self.screen
        self.difficulty[item.record] += step * (1 - success_rate(item) - self.difficulty[item.record])

    def _metrics(self) -> dict[str, float]:
        own = {"chunk": self._chunk, "passes": self._passes, "inversion_ratio": self._moved}
        return {**super()._metrics(), **own}

    def _save(self) -> dict[str, Any]:
        order = np.concatenate(self.pieces).tolist()
        return {**super()._save(), "order": order, "to_train": self._to_train.tolist()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        order = restore_array(own["order"], np.concatenate(self.pieces))
        if not np.array_equal(np.sort(order), np.arange(self.pool.n)):
            raise ValueError("the order is none of all prompts")
        self.pieces = np.array_split(order, len(self.pieces))
        self._to_train = np.array(own["to_train"], dtype=np.int64)
