"""Cells of the unit cube inside which the data show no dependence of the return on the point.

`cut_cells` fits a regression tree (Breiman et al. 1984) to points and their returns and returns its leaves,
axis-parallel boxes. No cut is made that explains no more than chance would, so that axes without influence on the
return are not cut, whatever their number.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

LEAST = 4  # least number of points in a cell; fewer say nothing about change
EVIDENCE = 2.0  # a cut must have an F ratio of at least this times log(points times axes), the number of cuts tried


@dataclass(frozen=True, eq=False)
class Cells:
    """Boxes that tile the unit cube.

    Attributes:
        index: int[n], the cell of each point.
        low, high: float64[cells, d], corners of the cells.
    """

    index: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def volume(self) -> np.ndarray:
        """float64[cells], volumes of the cells, summing to 1."""
        return (self.high - self.low).prod(1)


def cut_cells(points: np.ndarray, returns: np.ndarray) -> Cells:
    """Cut greedily: each cell at the place, on the axis, that most lowers the sum of squared deviations from the mean
    return on either side, as long as the F ratio of the cut (gain over remaining variance) is above `EVIDENCE` log(n
    d).

    Args:
        points: float64[n, d] in [0, 1].
        returns: float64[n].
    """
    n, d = points.shape
    columns = np.ascontiguousarray(points.T)
    axes = np.arange(d)[:, None]
    counts = np.arange(1.0, n + 1)
    index = np.empty(n, dtype=np.int64)
    on_left = np.zeros(n, dtype=bool)
    low, high = [], []
    # Each entry: the cell's points in order of every axis, int[d, m], and its corners.
    stack = [(np.argsort(columns, axis=1, kind="stable"), np.zeros(d), np.ones(d))]
    while stack:
        order, start, end = stack.pop()
        found = _find_best_cut(columns, returns, order, axes, counts)
        if found is None:
            index[order[0]] = len(low)
            low.append(start)
            high.append(end)
            continue
        axis, size, place = found
        on_left[order[axis, :size]] = True
        mask = on_left[order]
        on_left[order[axis, :size]] = False
        middle_high, middle_low = end.copy(), start.copy()
        middle_high[axis] = middle_low[axis] = place
        stack.append((order[mask].reshape(d, size), start, middle_high))
        stack.append((order[~mask].reshape(d, -1), middle_low, end))
    return Cells(index, np.array(low), np.array(high))


def _find_best_cut(
    columns: np.ndarray, returns: np.ndarray, order: np.ndarray, axes: np.ndarray, counts: np.ndarray
) -> tuple[int, int, float] | None:
    """Return (axis, number of points on its lower side, place) of the best cut, or None if no cut is significant."""
    d, m = order.shape
    if m < 2 * LEAST:
        return None
    own = returns[order]
    squares = float(own[0] @ own[0])
    own -= np.add.reduce(own[0]) / m
    deviation = float(own[0] @ own[0])
    if deviation <= 1e-12 * squares:  # all equal, but for rounding
        return None
    below = own.cumsum(1)[:, LEAST - 1 : m - LEAST]
    k = counts[LEAST - 1 : m - LEAST]
    gain = below * below * (m / (k * k[::-1]))
    x = columns[axes, order]
    left, right = x[:, LEAST - 1 : m - LEAST], x[:, LEAST : m - LEAST + 1]
    gain[right <= left] = 0.0  # equal coordinates cannot be parted
    axis, at = divmod(int(gain.argmax()), gain.shape[1])
    best = float(gain[axis, at])
    rest = max(deviation - best, 0.0)
    if best <= 1e-12 * squares or best <= EVIDENCE * math.log(m * d) * rest / (m - 2):
        return None
    return axis, at + LEAST, float((left[axis, at] + right[axis, at]) / 2)
