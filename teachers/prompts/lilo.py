"""LILO: look at a pool several times the batch, train on what is most learnable in it (arXiv 2502.12272).

Learnability is p (1 - p), the variance of success. The pool is looked at with rollouts that are not learned from, which
the budget of a comparison must count: `train` is False in those proposals, and `metrics` gives their share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_count
from ..protocol import Common
from ..registration import register
from ..sampling import lowest
from .screening import StreamTeacher

ROUNDS = 3  # through the list, after which the pool no longer waits for prompts that never answered


def learnability(rate: Any) -> Any:
    """p (1 - p), for a success rate or an array of them."""
    return rate * (1 - rate)


@register("lilo")
class LILO(StreamTeacher):
    """Looks at ``factor`` times as many prompts as it trains on, and trains on those with the largest p (1 - p).

    Proposals are to look, in turn through the list, until ``factor * batch`` prompts have rates; then the first
    ``batch`` by learnability are proposed to train on, ties in random order, and all these rates are forgotten: nothing
    is chosen by a rate from before the last batch. A prompt may never give a valid episode: once another was rated
    three times, the pool is what has rates. While outcomes are awaited, more prompts are looked at. So a learner asks
    for proposals until it has a batch of ``train=True``. ``meta["joins"]`` of those holds the ids of the proposals that
    looked at the prompt.

    Args:
        batch: prompts trained on from each pool (the papers' batches depend on the data set; 64 is our choice). In a
            short list the pool is the whole list.
        factor: size of the pool over that of the batch (4 in the paper).
        screen: rollouts to look at a prompt (8 in the paper); single outcomes are collected until they are so many.
        n: rollouts asked for to train on one.
        space, bins, seed, return_range, max_in_flight: see `PromptTeacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2502.12272"

    def __init__(
        self,
        space: Any,
        *,
        batch: int = 64,
        factor: int = 4,
        screen: int = 8,
        n: int = 8,
        bins: int | Sequence[int] | None = None,
        **common: Unpack[Common],
    ):
        check_count("batch", batch, low=1)
        check_count("factor", factor, low=1)
        settings = {"batch": int(batch), "factor": int(factor)}
        super().__init__(space, screen=screen, n=n, bins=bins, settings=settings, **common)
        self._pool_size = min(int(factor) * int(batch), self.pool.n)
        self._batch_size = max(self._pool_size // int(factor), 1)
        self._candidates: dict[int, tuple[float, list[int], int]] = {}  # learnability, ids, how often rated
        self._learnability = [0.0, 0.0]  # means over the last pool and over what was chosen of it

    def _rated(self, task: int, rate: float, ids: list[int]) -> None:
        times = self._candidates[task][2] if task in self._candidates else 0
        times += bool(ids)  # what nobody proposed says nothing of how often the list was gone through
        self._candidates[task] = (learnability(rate), ids, times)
        if len(self._candidates) < self._pool_size and times < ROUNDS:
            return
        tasks = list(self._candidates)
        scores = np.array([self._candidates[task][0] for task in tasks])
        best = lowest(-scores, self._batch_size, self._rng)
        self.queue |= {tasks[i]: self._candidates[tasks[i]][1] for i in best.tolist()}
        self._learnability = [float(scores.mean()), float(scores[best].mean())]
        self._candidates = {}

    def _metrics(self) -> dict[str, float]:
        pool, chosen = self._learnability
        return {**super()._metrics(), "learnability_pool": pool, "learnability_chosen": chosen}

    def _save(self) -> dict[str, Any]:
        candidates = [[task, *entry] for task, entry in self._candidates.items()]
        return {**super()._save(), "candidates": candidates, "learnability": list(self._learnability)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._candidates = {
            int(task): (float(score), [int(id) for id in ids], int(times))
            for task, score, ids, times in own["candidates"]
        }
        self._learnability = [float(value) for value in own["learnability"]]
