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

    @classmethod
    def with_draws(cls, draws: Sequence[float]) -> Dice:
        """Return dice that give these draws of `draws`, in this order, and no others."""
        dice = cls.__new__(cls)
        dice._left = [*reversed(draws)]
        return dice

    def draws(self, number: int) -> list[float]:
        """Return the next ``number`` draws, each from 0 to below 1, as the other methods would use them."""
        while len(self._left) < number:
            # The last of the numbers left is the first to be used.
            self._left = [*self._rng.random(_AT_A_TIME).tolist(), *self._left]
        taken = self._left[: -number - 1 : -1]
        del self._left[len(self._left) - number :]
        return taken

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
