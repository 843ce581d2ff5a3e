"""Base of bandits: teachers that draw arms independently from a distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...checks import keyword_declared, option
from ..pools import as_arms
from ..protocol import Draw, Teacher
from ..sampling import effective_number, pick

METRIC_ARMS = 32  # with more arms than this, only summaries are logged


@keyword_declared
class ArmTeacher(Teacher):
    """Base of teachers that choose from arms; a subclass writes `_probabilities` and `_learn`.

    ``Evidence.record`` is the arm's index.

    Attributes:
        arms: the task space as arms.
    """

    kind = "arms"
    space: Any = option(
        kw_only=False,
        saved=False,
        says="a Discrete (one arm per value), `FiniteTasks`, or a ParamSpace or Box, cut into a grid.",
    )
    bins: int | Sequence[int] | None = option(
        default=None, saved=False, says="cells per axis of the grid into which axes are cut; None gives about 25 arms."
    )
    floor: float = option(
        default=0.0,
        low=0,
        high=1,
        says="share of proposals that are uniform over the arms, mixed into the algorithm's distribution.",
    )

    def setup(self) -> None:
        self.arms = self.domain = as_arms(self.space, self.bins)
        self.begin(self.arms.signature)

    @abstractmethod
    def _probabilities(self) -> np.ndarray:
        """Return float64[n], summing to 1: the algorithm's own distribution, before the floor."""

    def _values(self) -> np.ndarray | None:
        """Return float64[n], the algorithm's value of each arm, for logs, or None."""
        return None

    def distribution(self) -> np.ndarray:
        probabilities = self._probabilities()
        return probabilities if self.floor == 0 else (1 - self.floor) * probabilities + self.floor / self.arms.n

    def _draw(self, k: int) -> list[Draw]:
        probabilities = self.distribution()
        drawn = pick(probabilities, k, self._rng)
        task, rng = self.arms.task, self._rng
        return [
            Draw(arm, task(arm, rng), p, "exploit") for arm, p in zip(drawn.tolist(), probabilities[drawn].tolist())
        ]

    def _record(self, task: Any) -> int:
        return self.arms.arm(task)

    def _metrics(self) -> dict[str, float]:
        metrics = {"effective_arms": effective_number(self.distribution())}
        values = self._values()
        if values is not None:
            metrics["value_max"] = float(values.max())
            if self.arms.n <= METRIC_ARMS:
                metrics |= {f"value/{self.arms.name(arm)}": float(values[arm]) for arm in range(self.arms.n)}
        return metrics
