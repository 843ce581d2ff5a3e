"""LILO: screen a pool several times as large as the batch and train on its most learnable prompts (arXiv 2502.12272).

Learnability is p (1 - p), the variance of success at the pass rate p. Rollouts that screen a prompt which is not chosen
are not trained on, but cost compute: screening proposals have ``train=False``, and `metrics` gives their share.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..registration import register
from ..sampling import argsmallest
from ..saved_state import Kept
from .screening import StreamTeacher

ROUNDS = 3  # passes through the list after which the pool no longer waits for prompts without a valid outcome


def success_variance(rate: Any) -> Any:
    """Return p (1 - p), the variance of success, for a success rate p in [0, 1] or an array of them."""
    return rate * (1 - rate)


@register("lilo")
class LILO(StreamTeacher):
    """Screens ``factor`` times as many prompts as it trains on, and trains on those with the largest p (1 - p).

    Screening proposals go through the list in turn until ``factor * batch`` prompts, the pool, have a pass rate. The
    ``batch`` most learnable prompts of the pool are then proposed for training, ties in random order, and all rates are
    forgotten, so that only rates of the current pool count. A prompt may never give a valid episode: once any other
    prompt was rated three times, the pool consists of the prompts that have a rate. While outcomes are outstanding,
    further prompts are screened; a learner therefore asks for proposals until it has a batch with ``train=True``.
    ``meta["joins"]`` of a training proposal holds the ids of its screening proposals, whose rollouts join its group.
    """

    paper = "2502.12272"
    when = "Rollouts are cheaper than updates: many prompts are screened for each that is trained on."
    kept = (Kept("_learnability", list[float]),)
    batch: int = option(
        default=64,
        low=1,
        says="number of prompts trained on from each pool (the papers' batches depend on the data set; 64 is our "
        "choice). In a short list the pool is the whole list.",
    )
    factor: int = option(default=4, low=1, says="ratio of pool size to batch size (4 in the paper).")

    def setup(self) -> None:
        super().setup()
        self._pool_size = min(self.factor * self.batch, self.pool.n)
        self._batch_size = max(self._pool_size // self.factor, 1)
        self._candidates: dict[int, tuple[float, list[int], int]] = {}  # learnability, ids, number of ratings
        self._learnability = [0.0, 0.0]  # means over the last pool and over its chosen prompts

    def _take_rate(self, task: int, rate: float, ids: list[int]) -> None:
        times = self._candidates[task][2] if task in self._candidates else 0
        times += bool(ids)  # outcomes from `update` have no ids and do not count as a pass through the list
        self._candidates[task] = (success_variance(rate), ids, times)
        if len(self._candidates) < self._pool_size and times < ROUNDS:
            return
        tasks = list(self._candidates)
        scores = np.array([self._candidates[task][0] for task in tasks])
        best = argsmallest(-scores, self._batch_size, self._rng)
        self.queue |= {tasks[i]: self._candidates[tasks[i]][1] for i in best.tolist()}
        self._learnability = [float(scores.mean()), float(scores[best].mean())]
        self._candidates = {}

    def joinable(self) -> frozenset[int]:
        return super().joinable().union(*(ids for _, ids, _ in self._candidates.values()))

    def _metrics(self) -> dict[str, float]:
        pool, chosen = self._learnability
        return {**super()._metrics(), "learnability_pool": pool, "learnability_chosen": chosen}

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "candidates": [[task, *entry] for task, entry in self._candidates.items()]}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self._candidates = {
            int(task): (float(score), [int(id) for id in ids], int(times))
            for task, score, ids, times in own["candidates"]
        }
