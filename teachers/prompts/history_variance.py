"""History variance: after a pilot, train on the prompts whose pass rate varied most (1-shot RLVR, arXiv 2504.20571).

The pilot visits every prompt several times while training; the standard deviation of a prompt's pass rates is its
score. Afterwards only the `top` prompts by score are practised, repeated as needed to fill the batch, down to a single
prompt.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..signals import success_rate
from .prompt_teacher import PromptTeacher
from .screening import Pilot


@register("history-variance")
class HistoryVariance(PromptTeacher):
    """Repeats the prompts whose success rate varied most over a pilot.

    If outcomes carry single returns, each return is a rate of the history, and the score becomes about sqrt(p (1 - p)).
    """

    paper = "2504.20571"
    when = "A handful of prompts, or one, is to be trained on again and again, and a pilot can be run to choose them."
    kept = ("_pilot", "_mean", "_squares", "_next")
    top: int = option(
        default=16,
        low=1,
        says="number of prompts kept after the pilot; a number above the pool's size keeps all. The paper studies "
        "1, 2, 4, 16, up to 1,209; 16 here is our choice.",
    )
    pilot: int = option(
        default=5,
        low=2,
        says="number of rates of each prompt before the choice (the paper's pilot is a full run of 500 steps).",
    )

    def setup(self) -> None:
        super().setup()
        self._pilot = Pilot(self.pool.n, self.pilot)
        self._mean, self._squares = np.zeros(self.pool.n), np.zeros(self.pool.n)  # running, by Welford
        self.chosen: np.ndarray | None = None
        self._next = 0  # index among the chosen prompts of the next one

    @property
    def scores(self) -> np.ndarray:
        """float64[n], the standard deviation of each prompt's rates so far; 0 for fewer than two rates."""
        return np.sqrt(self._squares / np.maximum(self._pilot.seen, 1))

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        if self.chosen is None and self._pilot.over:
            self.chosen = argsmallest(-self.scores, self.top, self._rng)
        if self.chosen is None:
            return self._pilot.take(k, self._rng), np.nan, "warmup"
        turns = (self._next + np.arange(k)) % len(self.chosen)
        self._next = int(turns[-1] + 1) % len(self.chosen)
        return self.chosen[turns], np.nan, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        if self.chosen is not None:
            return
        self._pilot.answered += len(evidence)
        for item in evidence:
            task, rate = int(item.record), success_rate(item)
            self._pilot.seen[task] += 1
            away = rate - self._mean[task]
            self._mean[task] += away / self._pilot.seen[task]
            self._squares[task] += away * (rate - self._mean[task])

    def _metrics(self) -> dict[str, float]:
        scores = self.scores
        return {
            "piloting": float(self.chosen is None),
            "score_mean": float(scores.mean()),
            "score_chosen": float(scores[self.chosen].mean()) if self.chosen is not None else 0.0,
        }

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "chosen": None if self.chosen is None else self.chosen.tolist()}

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        chosen = own["chosen"]
        self.chosen = None if chosen is None else np.array(chosen, dtype=np.int64)
        if self.chosen is not None and not ((self.chosen >= 0) & (self.chosen < self.pool.n)).all():
            raise ValueError(f"chosen prompts {chosen}")
