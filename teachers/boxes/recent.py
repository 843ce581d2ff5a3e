"""Bounded memory of a teacher's latest tasks and returns, oldest first."""

from __future__ import annotations

from typing import Any

import numpy as np


class Recent:
    """The latest ``limit`` rows of ``width`` numbers, as one contiguous array.

    Rows are written into a buffer of twice the limit. When the buffer is full, the rows are moved to its front, so that
    adding costs O(1) on average and reading copies nothing.
    """

    def __init__(self, limit: int, width: int):
        self.limit, self.width = int(limit), int(width)
        self._buffer = np.empty((2 * self.limit, self.width))
        self._start = self._end = 0

    def __len__(self) -> int:
        return self._end - self._start

    @property
    def rows(self) -> np.ndarray:
        """float64[n, width], oldest first: a view that is valid until the next change."""
        return self._buffer[self._start : self._end]

    def add(self, x: np.ndarray, ret: float) -> None:
        """Append the row (x, ret); beyond the limit the oldest row is removed."""
        if self._end == len(self._buffer):
            rows = self.rows
            self._buffer[: len(rows)] = rows  # at most half of the buffer, so that source and target do not overlap
            self._start, self._end = 0, len(rows)
        row = self._buffer[self._end]
        row[:-1], row[-1] = x, ret
        self._end += 1
        self._start = max(self._start, self._end - self.limit)

    def replace(self, rows: np.ndarray) -> None:
        """Replace all rows by the last ``limit`` of ``rows`` [n, width]."""
        rows = np.array(rows[-self.limit :], dtype=np.float64)
        self._start, self._end = 0, len(rows)
        self._buffer[: self._end] = rows

    def drop(self, count: int) -> None:
        """Forget the ``count`` oldest rows."""
        self._start = min(self._start + count, self._end)

    def save(self) -> list[list[float]]:
        return self.rows.tolist()

    def restore(self, saved: Any) -> None:
        rows = np.array(saved, dtype=np.float64).reshape(-1, self.width) if saved else np.empty((0, self.width))
        if len(rows) != len(saved) or len(rows) > self.limit:
            raise ValueError(f"{len(saved)} rows where at most {self.limit} of {self.width} numbers fit")
        self.replace(rows)
