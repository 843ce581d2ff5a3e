"""Blocks of proposals of one arm, drawn uniformly: the order of tasks in meta-learning."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...checks import option
from ..protocol import Draw, Evidence
from ..registration import register
from .arm_teacher import ArmTeacher


@register("blocks")
class ArmBlocks(ArmTeacher):
    """One arm for a block of proposals, then another one, drawn uniformly.

    With several environments an arm is an environment. Outcomes have no effect.
    """

    paper = "Reptile, arXiv 1803.02999; RAMario, arXiv 2305.09655"
    when = "Meta-learning, where the policy is trained on one environment for some steps before it returns."
    kept = ("_arm", "_left")
    tasks: int = option(default=80, low=1, says="proposals of a block: steps of a block x proposals of a step.")

    def setup(self) -> None:
        super().setup()
        self._arm, self._left = 0, 0

    def _probabilities(self) -> np.ndarray:
        return np.eye(1, self.arms.n, self._arm)[0] if self._left else np.full(self.arms.n, 1 / self.arms.n)

    def _draw(self, k: int) -> list[Draw]:
        draws: list[Draw] = []
        while len(draws) < k:
            if not self._left:
                self._arm, self._left = int(self._rng.integers(self.arms.n)), self.tasks
            here = min(k - len(draws), self._left)
            draws += super()._draw(here)
            self._left -= here
        return draws

    def _learn(self, evidence: list[Evidence]) -> None:
        pass

    def _metrics(self) -> dict[str, Any]:
        return {**super()._metrics(), "arm": float(self._arm)}
