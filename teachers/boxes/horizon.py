"""h1: training on chains of tasks whose length grows in stages (arXiv 2510.07312).

Stage h holds only chains of h tasks; mixing all lengths from the start taught the authors' models almost nothing. Here
a stage is a level of one axis, such as the length of a `ChainedEnv`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from ...checks import option
from ..protocol import Evidence
from ..registration import register
from ..saved_state import Kept
from ..signals import success_rate
from .ladder import LadderTeacher


@register("horizon")
class Horizon(LadderTeacher):
    """Levels one after another, from the easiest to the hardest, promoted by a schedule or by accuracy.

    The paper gives every stage a fixed number of training steps, not of tasks, so the default of `tasks` is ours.
    Promotion by accuracy is our addition.
    """

    paper = "2510.07312"
    when = (
        "One axis is the length of a chain of tasks, and longer chains teach nothing before shorter ones are learned."
    )
    kept = (Kept("_rates", list[float]),)
    promote: Literal["steps", "accuracy"] = option(
        default="steps",
        says='"steps" goes on to the next stage after `tasks` outcomes; "accuracy" once the mean success rate of '
        "the stage's last `tasks` outcomes reaches `threshold`.",
    )
    tasks: int = option(
        default=1000, low=1, says='outcomes that a stage lasts ("steps"), or whose mean is judged ("accuracy").'
    )
    threshold: float = option(default=0.8, low=0, high=1, says="mean success rate that ends a stage.")

    def setup(self) -> None:
        super().setup()
        self._rates: list[float] = []  # success rates of the stage's outcomes, the last `tasks` of them

    def _levels(self, k: int) -> tuple[np.ndarray, float, Sequence[str] | str]:
        return np.full(k, self.level), 1.0, "exploit"

    def _learn(self, evidence: list[Evidence]) -> None:
        for item in evidence:
            if item.record[0] != self.level or self.level == self.ladder.n - 1:
                continue  # left over from an earlier stage, or nothing left to pass on to
            self._rates.append(success_rate(item))
            del self._rates[: -self.tasks]
            mastered = self.promote == "steps" or sum(self._rates) >= self.threshold * self.tasks - 1e-9
            if len(self._rates) == self.tasks and mastered:
                self.level += 1
                self._rates = []
