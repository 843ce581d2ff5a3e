"""Statistics that add up: (sum, count) pairs, so that no figure depends on how a batch was cut."""

from __future__ import annotations

from collections.abc import Mapping


class Tally:
    """Named sums with counts. A count of 0 marks a plain total."""

    def __init__(self) -> None:
        self._sums: dict[str, float] = {}
        self._counts: dict[str, float] = {}

    def add(self, name: str, total: float, count: float) -> None:
        """Add ``total`` over ``count`` items."""
        self._sums[name] = self._sums.get(name, 0.0) + total
        self._counts[name] = self._counts.get(name, 0.0) + count

    def add_all(self, stats: Mapping[str, tuple[float, float]]) -> None:
        """Add several (sum, count) pairs."""
        for name, (total, count) in stats.items():
            self.add(name, total, count)

    def merge(self, other: Tally) -> None:
        """Add everything of another tally."""
        for name in other._sums:
            self.add(name, other._sums[name], other._counts[name])

    def means(self) -> dict[str, float]:
        """Mean of each name (the total where the count is 0)."""
        return {name: total / (self._counts[name] or 1) for name, total in self._sums.items()}
