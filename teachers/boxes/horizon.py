"""h1: training on chains of tasks whose length grows in stages (arXiv 2510.07312).

Stage h holds chains of h tasks and nothing else; mixing all lengths from the start taught the authors' models almost
nothing. Here a stage is a level of one axis, such as the length of a `ChainedEnv`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, Unpack

import numpy as np

from ...checks import check_choice, check_count, check_share
from ..protocol import Common, Evidence
from ..registration import register
from ..signals import success_rate
from .ladder import LadderTeacher


@register("horizon")
class Horizon(LadderTeacher):
    """Levels one after another, from the easiest to the hardest, by a schedule or by accuracy.

    The paper gives every stage a fixed number of training steps, not of tasks, so the default of `tasks` is ours.
    Promotion by accuracy is our addition.

    Args:
        space, axis, levels, start: see `LadderTeacher`; `axis` is the length of the chain.
        promote: "steps" passes on after `tasks` outcomes of the stage; "accuracy" once the mean success rate of its
            last `tasks` outcomes reaches `threshold`.
        tasks: as above.
        threshold: as above.
        seed, return_range, max_in_flight: see `Teacher`.

    Raises:
        InputError: an option out of range.
    """

    paper = "2510.07312"

    def __init__(
        self,
        space: Any,
        *,
        axis: str | None = None,
        levels: int | None = None,
        start: int = 0,
        promote: Literal["steps", "accuracy"] = "steps",
        tasks: int = 1000,
        threshold: float = 0.8,
        **common: Unpack[Common],
    ):
        check_choice("promote", promote, ("steps", "accuracy"))
        check_count("tasks", tasks, low=1)
        self.promote, self.tasks, self.threshold = promote, int(tasks), check_share("threshold", threshold)
        settings = {"promote": promote, "tasks": self.tasks, "threshold": self.threshold}
        super().__init__(space, axis=axis, levels=levels, start=start, settings=settings, **common)
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

    def _save(self) -> dict[str, Any]:
        return {**super()._save(), "rates": list(self._rates)}

    def _restore(self, own: Mapping[str, Any]) -> None:
        rates = [float(rate) for rate in own["rates"]]
        super()._restore(own)
        self._rates = rates
