"""Train on the hardest share: the tenth of the prompts that a base model solves least often (arXiv 2508.14094).

The paper's explanation is that hard prompts stay learnable longest: a larger share of their groups has a spread of
rewards. `metrics` reports that share as "learnable_share".
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..sampling import argsmallest
from ..signals import Groups, is_flat
from .screening import Pilot, ScreeningTeacher, Tallies, Turns

WINDOW = 256  # number of latest groups over which the learnable share is taken


@register("hardest")
class Hardest(ScreeningTeacher):
    """Screens every prompt once, then trains only on the share with the lowest success rates.

    Chosen prompts take turns. Ties in the choice are broken at random, and the choice is final, as in the paper.
    A prompt that never gave a valid outcome is not chosen.
    """

    paper = "2508.14094"
    when = "A budget for a tenth of the data, and rollouts to screen all of it once."
    kept = ("rates", "_pilot", "_turns", "_tallies", "_groups")
    part: Literal["hardest", "medium", "easiest"] = option(
        default="hardest",
        says='"hardest", or for comparison "easiest" or "medium" (nearest to the median success rate, our reading).',
    )
    fraction: float = option(
        default=0.1, above=0, high=1, says="share of the prompts that is trained on; at least one prompt."
    )

    def setup(self) -> None:
        super().setup()
        self.rates = np.zeros(self.pool.n)
        self.chosen: np.ndarray | None = None  # bool[n], once the choice is made
        self._pilot, self._turns = Pilot(self.pool.n, 1), Turns(self.pool.n)
        self._tallies, self._groups = Tallies(self.screen), Groups(max(self.n, 2))
        self._spread: deque[bool] = deque(maxlen=WINDOW)

    def _choose(self, k: int) -> tuple[np.ndarray, float, str]:
        if self.chosen is None and self._pilot.over:
            self._select()
        if self.chosen is None:
            tasks = self._pilot.take(k, self._rng)
            self._screening = set(tasks.tolist())
            return tasks, np.nan, "warmup"
        self._screening = set()
        return self._turns.take(k, self._rng, allowed=self.chosen), np.nan, "exploit"

    def _select(self) -> None:
        seen = np.flatnonzero(self._pilot.seen)
        rates = self.rates[seen]
        costs = {"hardest": rates, "easiest": -rates, "medium": np.abs(rates - np.median(rates))}
        count = max(round(self.fraction * self.pool.n), 1)
        self.chosen = np.zeros(self.pool.n, dtype=bool)
        self.chosen[seen[argsmallest(costs[self.part], count, self._rng)]] = True

    def _learn_outcome(self, item: Evidence, screened: bool) -> None:
        if self.chosen is not None:
            group = self._groups.add(item.record, item.returns)
            if group is not None:
                self._spread.append(not is_flat(group))
            return
        self._pilot.answered += 1
        done = self._tallies.add(item)
        if done is not None:
            self.rates[item.record] = done[0]
            self._pilot.seen[item.record] += 1

    def _metrics(self) -> dict[str, float]:
        learnable = sum(self._spread) / len(self._spread) if self._spread else 0.0
        return {**super()._metrics(), "piloting": float(self.chosen is None), "learnable_share": learnable}

    def _save(self) -> dict[str, Any]:
        return {
            **super()._save(),
            "chosen": None if self.chosen is None else np.flatnonzero(self.chosen).tolist(),
            "spread": [int(spread) for spread in self._spread],
        }

    def _restore(self, own: Mapping[str, Any]) -> None:
        super()._restore(own)
        self.chosen = None
        if own["chosen"] is not None:
            self.chosen = np.zeros(self.pool.n, dtype=bool)
            self.chosen[np.array(own["chosen"], dtype=np.int64)] = True
        self._spread = deque((bool(spread) for spread in own["spread"]), maxlen=WINDOW)
