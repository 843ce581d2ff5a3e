"""The base of bandits: independent draws from a distribution over arms."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Unpack

import numpy as np

from ..pools import as_arms
from ..protocol import Common, Draw, Teacher, share

METRIC_ARMS = 32  # with more arms, only summaries are logged


class ArmTeacher(Teacher):
    """Chooses from arms; a subclass writes `_probabilities` and `_learn`.

    ``Evidence.record`` is the arm's index.

    Args:
        space: a Discrete (one arm per value), `FiniteTasks`, or a ParamSpace or Box, cut into a grid.
        bins: cells per axis of that grid; None gives about 25 arms.
        floor: share of proposals that are uniform over the arms, whatever the algorithm says.
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
        self.floor = share("floor", floor)
        super().__init__(self.arms.signature, settings={"floor": self.floor, **(settings or {})}, **common)

    @abstractmethod
    def _probabilities(self) -> np.ndarray:
        """float64[n], summing to 1: the algorithm's own distribution, before the floor."""

    def _values(self) -> np.ndarray | None:
        """float64[n]: what the algorithm thinks of each arm, for logs."""
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


def pick(probabilities: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """int[k] independent draws from ``probabilities``, in O(n + k log n)."""
    return np.searchsorted(np.cumsum(probabilities)[:-1], rng.random(k) * probabilities.sum(), side="right")


def softmax(values: np.ndarray, temperature: float) -> np.ndarray:
    """float64[n] probabilities proportional to exp(values / temperature), computed without overflow."""
    weights = np.exp((values - values.max()) / temperature)
    return weights / weights.sum()


def epsilon_greedy(values: np.ndarray, epsilon: float) -> np.ndarray:
    """float64[n]: 1 - epsilon shared out among the highest values, epsilon among all."""
    best = values == values.max()
    return (1 - epsilon) * best / best.sum() + epsilon / len(values)


def proportional(values: np.ndarray) -> np.ndarray:
    """float64[n] proportional to ``values >= 0``; uniform where all are 0."""
    total = values.sum()
    return values / total if total > 0 else np.full(len(values), 1 / len(values))


def effective_number(probabilities: np.ndarray) -> float:
    """exp of the entropy: n for a uniform distribution over n, 1 for a certain one."""
    positive = probabilities[probabilities > 0]
    return math.exp(-float((positive * np.log(positive)).sum()))
