"""Statistics as (sum, count) pairs, which add up, so that results do not depend on the division into micro-batches.

A value may be a number or a one-element tensor. Tensors stay on their device until the sums are requested and are then
read together, because each read waits for the device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch import Tensor

Number = float | Tensor


class Tally:
    """Named sums with counts. A count of 0 marks a total, which is not divided."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, float] = {}
        self._weights = (0.0, 0.0, 0)
        # In the order of arrival, on which the rounding of a sum depends.
        self._added: list[tuple[str, Number, Number]] = []
        self._added_weights: list[tuple[Number, Number, int]] = []

    def add(self, name: str, total: Number, count: Number) -> None:
        """Add ``total``, a sum over ``count`` items, to the sum called ``name``."""
        self._added.append((name, _bare(total), _bare(count)))

    def add_all(self, stats: Mapping[str, tuple[Number, Number]]) -> None:
        """Add several (sum, count) pairs."""
        for name, (total, count) in stats.items():
            self.add(name, total, count)

    def add_weights(self, total: Number, squares: Number, count: int) -> None:
        """Add the importance weights of ``count`` episodes: their sum and the sum of their squares."""
        self._added_weights.append((_bare(total), _bare(squares), count))

    def append(self, part: Tally) -> None:
        """Append the entries of ``part``, the tally of a micro-batch, in order."""
        self._added += part._added
        self._added_weights += part._added_weights

    def merge(self, other: Tally, prefix: str = "") -> None:
        """Add another tally's sums, with ``prefix`` before each name; importance weights only without a prefix."""
        other._sum_up()
        for name in other._sums:
            self.add(prefix + name, other._sums[name], other._counts[name])
        if not prefix:
            self.add_weights(*other._weights)

    def means(self) -> dict[str, float]:
        """Return the mean of each name (the total where the count is 0), and "ess" if importance weights were added.

        "ess" is the effective sample size of the importance weights, (sum w)^2 / sum w^2 (Kong 1992), divided by the
        number of episodes.
        """
        self._sum_up()
        means = {name: total / (self._counts[name] or 1) for name, total in self._sums.items()}
        total, squares, count = self._weights
        if squares > 0:
            means["ess"] = total**2 / (squares * count)
        return means

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle, with all tensors read and summed."""
        self._sum_up()
        return self.__dict__

    def _sum_up(self) -> None:
        read = _read_all(x for entry in (*self._added, *self._added_weights) for x in entry)
        for name, total, count in self._added:
            self._sums[name] = self._sums.get(name, 0.0) + read(total)
            self._counts[name] = self._counts.get(name, 0.0) + read(count)
        for total, squares, count in self._added_weights:
            before = self._weights
            self._weights = (before[0] + read(total), before[1] + read(squares), before[2] + count)
        self._added, self._added_weights = [], []


def _bare(value: Number) -> Number:
    """Detach a tensor, so that it does not keep its graph alive."""
    return value.detach() if isinstance(value, Tensor) else value


def _read_all(values: Iterable[Any]) -> Callable[[Number], float]:
    """Read all one-element tensors in ``values``, in one transfer per device; return a function value -> number."""
    waiting: dict[torch.device, list[Tensor]] = {}
    for value in values:
        if isinstance(value, Tensor):
            waiting.setdefault(value.device, []).append(value)
    known: dict[int, float] = {}
    for tensors in waiting.values():
        # Double precision holds every float32 and every count exactly.
        numbers = torch.stack([tensor.double() for tensor in tensors]).tolist()
        known |= {id(tensor): number for tensor, number in zip(tensors, numbers, strict=True)}
    return lambda value: known[id(value)] if isinstance(value, Tensor) else value
