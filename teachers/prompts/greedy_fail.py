"""Training on unsolved prompts only: prompts whose latest greedy answer was wrong (SELF, arXiv 2510.02230).

Reinforcing prompts that a model already solves sharpens its answers to these and reduces coverage on others. The paper
decodes each prompt of a step greedily and drops solved prompts. Here an attempt is a proposal of one evaluation
episode, and only failed prompts are proposed for training.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..registration import register
from .screening import StreamTeacher


@register("greedy-fail")
class GreedyFail(StreamTeacher):
    """Probes prompts with one greedy attempt each and trains on the failed prompts.

    A probe is a proposal of n=1 with ``train=False`` and ``meta={"greedy": True}``, in shuffled passes over the list. A
    failed prompt waits for its turn, is proposed once for training, and is then probed again with the others: samples
    drawn in training are no evidence about the greedy answer. Failed prompts come first in a batch and probes fill the
    rest, so that a student who solves everything is only evaluated.

    Repeated probes of a prompt show the effect of practice on the others. The metric "lost" is the share of prompts
    solved at the last probe but one that failed at the last; "gained" is the share of failed prompts that were solved
    at the last (see also `teachers.interference`).
    """

    paper = "2510.02230"
    when = "Coverage counts (pass@k): prompts that the model already solves greedily are left alone."
    asks = frozenset({"greedy"})
    screen: int = option(default=1, init=False)
    solved: float = option(
        default=1.0,
        above=0,
        high=1,
        says="threshold of success: an attempt failed if its success (or its return mapped to [0, 1], if the "
        "environment does not report success) is below it.",
    )

    def setup(self) -> None:
        super().setup()
        self._last: dict[int, bool] = {}  # prompt -> True if its last probe was solved
        self._before: dict[int, bool] = {}  # the same for the last probe but one

    def _take_rate(self, task: int, rate: float, ids: list[int]) -> None:
        self.queue.pop(task, None)
        if task in self._last:
            self._before[task] = self._last[task]
        self._last[task] = rate >= self.solved
        if rate < self.solved:
            self.queue[task] = ids

    def _draw_fields(self, index: int) -> dict[str, Any]:
        advice = super()._draw_fields(index)
        return {**advice, "meta": {}} if advice["train"] else {**advice, "meta": {"greedy": True}}

    def joinable(self) -> frozenset[int]:
        return frozenset()  # greedy attempts are no samples to train on

    def _metrics(self) -> dict[str, float]:
        kept = {solved: [self._last[t] for t, before in self._before.items() if before == solved] for solved in (0, 1)}
        return {
            **super()._metrics(),
            "waiting": len(self.queue),
            "lost": 1 - float(np.mean(kept[1])) if kept[1] else 0.0,
            "gained": float(np.mean(kept[0])) if kept[0] else 0.0,
        }

    def _save(self) -> dict[str, Any]:
        probes = [[task, self._before.get(task), solved] for task, solved in self._last.items()]
        return {**super()._save(), "probes": probes}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        probes = own.get("probes", [])
        self._last = {int(task): bool(last) for task, _, last in probes}
        self._before = {int(task): bool(before) for task, before, _ in probes if before is not None}
