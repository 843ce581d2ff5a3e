"""Many small random choices out of few calls of a generator, as each call costs more than the choice."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np

_Item = TypeVar("_Item")
_AT_A_TIME = 128


class Dice:
    """Choices by the numbers of ``rng``, of which 128 are drawn whenever none are left."""

    def __init__(self, rng: np.random.Generator):
        self._rng = rng
        self._left: list[float] = []

    def chance(self, probability: float) -> bool:
        return self._next() < probability

    def below(self, bound: int) -> int:
        """A whole number from 0 to ``bound`` - 1."""
        return int(self._next() * bound)

    def between(self, low: int, high: int) -> int:
        """A whole number from ``low`` to ``high``."""
        return low + int(self._next() * (high - low + 1))

    def one(self, items: Sequence[_Item]) -> _Item:
        return items[int(self._next() * len(items))]

    def _next(self) -> float:
        if not self._left:
            self._left = self._rng.random(_AT_A_TIME).tolist()
        return self._left.pop()
