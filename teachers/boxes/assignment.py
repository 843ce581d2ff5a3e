"""Linear sum assignment: the cheapest matching of rows to distinct columns (Kuhn 1955; shortest augmenting paths,
Jonker and Volgenant 1987)."""

from __future__ import annotations

import numpy as np


def assign(cost: np.ndarray) -> np.ndarray:
    """Return int[n], a distinct column for each row of ``cost`` [n, m], n <= m, such that the sum of costs is least.

    O(n^2 m), with the inner loop over columns in NumPy: a few milliseconds for 50 rows.
    """
    n, m = cost.shape
    row_price, column_price = np.zeros(n), np.zeros(m)
    row_of = np.full(m, -1)
    for row in range(n):
        shortest, reached_from = np.full(m, np.inf), np.full(m, -1)
        open_columns = np.ones(m, dtype=bool)
        rows, closed = [row], []  # of the tree of alternating paths that begin at `row`
        here, column, reached = row, -1, 0.0
        while True:
            reduced = reached + cost[here] - row_price[here] - column_price
            better = open_columns & (reduced < shortest)
            shortest[better], reached_from[better] = reduced[better], column
            column = int(np.where(open_columns, shortest, np.inf).argmin())
            reached = float(shortest[column])
            if row_of[column] < 0:
                break
            open_columns[column] = False
            closed.append(column)
            here = int(row_of[column])
            rows.append(here)
        row_price[row] += reached
        row_price[rows[1:]] += reached - shortest[closed]
        column_price[closed] -= reached - shortest[closed]
        while column >= 0:
            previous = int(reached_from[column])
            row_of[column] = row if previous < 0 else row_of[previous]
            column = previous
    columns = np.empty(n, dtype=int)
    taken = np.flatnonzero(row_of >= 0)
    columns[row_of[taken]] = taken
    return columns
