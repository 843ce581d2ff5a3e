"""Base of bandits: teachers that draw arms independently from a distribution."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ...checks import check_share
from ..pools import as_arms
from ..protocol import Common, Draw, Teacher
from ..sampling import effective_number, pick

METRIC_ARMS = 32  # with more arms, only summaries are logged


class ArmTeacher(Teacher):
    """Base of teachers that choose from arms; a subclass writes `_probabilities` and `_learn`.

    ``Evidence.record`` is the arm's index.

    Args:
        space: a Discrete (one arm per value), `FiniteTasks`, or a ParamSpace or Box, cut into a grid.
        bins: cells per axis of that grid; None gives about 25 arms.
        floor: share of proposals that are uniform over the arms, mixed into the algorithm's distribution.
        settings, seed, return_range, max_in_flight: see `Teacher`.

    Attributes:
        arms: the task space as arms.
    """

    kind = "arms"

    def __init__(
        self,
        space: Any,
        *,
        bins: int | Sequence[int] | None = None,
        floor: float = 0.0,
        settings: Mapping[str, Any] | None = None,
        **common: Unpack[Common],
    ):
        self.arms = self.domain = as_arms(space, bins)
        self.floor = check_share("floor", floor)
        super().__init__(self.arms.signature, settings={"floor": self.floor, **(settings or {})}, **common)

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
