"""Statistics that add up: (sum, count) pairs, so that no statistic depends on how a batch was cut."""

from __future__ import annotations

from collections.abc import Mapping


class Tally:
    """Named sums with counts. A count of 0 marks a plain total."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, float] = {}
        self._weights = (0.0, 0.0, 0)
        # In the order of their arrival: rounding of a sum depends on it.
        self._added: list[tuple[str, float, float]] = []
        self._added_weights: list[tuple[float, float, int]] = []

    def add(self, name: str, total: float, count: float) -> None:
        """Add ``total`` over ``count`` items."""
        self._added.append((name, total, count))

    def add_all(self, stats: Mapping[str, tuple[float, float]]) -> None:
        """Add several (sum, count) pairs."""
        for name, (total, count) in stats.items():
            self.add(name, total, count)

    def add_weights(self, total: float, squares: float, count: int) -> None:
        """Add importance weights of ``count`` episodes by their sum and the sum of their squares."""
        self._added_weights.append((total, squares, count))

    def append(self, part: Tally) -> None:
        """Add what was added to the tally of a micro-batch, one after another."""
        self._added += part._added
        self._added_weights += part._added_weights

    def merge(self, other: Tally, prefix: str = "") -> None:
        """Add the sums of another tally, under names that begin with ``prefix``."""
        other._sum_up()
        for name in other._sums:
            self.add(prefix + name, other._sums[name], other._counts[name])
        if not prefix:
            self.add_weights(*other._weights)

    def means(self) -> dict[str, float]:
        """Mean of each name (the total where the count is 0), and "ess": the effective sample size of the importance
        weights, (sum w)^2 / sum w^2 (Kong 1992), as a share of the episodes.
        """
        self._sum_up()
        means = {name: total / (self._counts[name] or 1) for name, total in self._sums.items()}
        total, squares, count = self._weights
        if squares > 0:
            means["ess"] = total**2 / (squares * count)
        return means

    def _sum_up(self) -> None:
        for name, total, count in self._added:
            self._sums[name] = self._sums.get(name, 0.0) + total
            self._counts[name] = self._counts.get(name, 0.0) + count
        for total, squares, count in self._added_weights:
            before = self._weights
            self._weights = (before[0] + total, before[1] + squares, before[2] + count)
        self._added, self._added_weights = [], []
