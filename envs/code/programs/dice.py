"""Many small random choices from few calls of a NumPy generator: each call costs more than the choice itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")
_AT_A_TIME = 128


class Dice:
    """Source of random choices. 128 numbers are drawn from ``rng`` at a time, whenever none are left."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self._left: list[float] = []

    def chance(self, probability: float) -> bool:
        """Return True with this probability."""
        return (self._left or self._draw()).pop() < probability

    def below(self, bound: int) -> int:
        """Draw a whole number from 0 to ``bound`` - 1."""
        return int((self._left or self._draw()).pop() * bound)

    def between(self, low: int, high: int) -> int:
        """Draw a whole number from ``low`` to ``high``, both included."""
        return low + int((self._left or self._draw()).pop() * (high - low + 1))

    def one(self, items: Sequence[_Item]) -> _Item:
        """Draw one of the items, each with the same probability."""
        return items[int((self._left or self._draw()).pop() * len(items))]

    def _draw(self) -> list[float]:
        self._left = self._rng.random(_AT_A_TIME).tolist()
        return self._left
