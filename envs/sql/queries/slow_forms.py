"""Queries of which a slow form exists: one whose time grows with the square of the rows, where theirs hardly grows
faster than the rows.

An aggregate of groups can be written as a subquery for each row that runs over all rows; a rank or a running sum, as a
count or sum of all rows before each row; and membership in another table, as a search of that table for each row.
"""

from __future__ import annotations

from typing import Any

from .computed import EarlierRows
from .query_tree import IsAmong, Query, RankOver


def has_slow_form(query: Query) -> bool:
    """Return True if a query has groups, ranks or running sums, or asks whether keys are among those of another table.
    The value of the row before is found by the index of the key, so that all its forms are fast."""
    return _is_slow(query)


def _is_slow(node: Any) -> bool:
    if isinstance(node, tuple):
        return any(map(_is_slow, node))
    if isinstance(node, RankOver) or getattr(node, "group", ()):
        return True
    if isinstance(node, EarlierRows) and node.function == "SUM":
        return True
    if isinstance(node, IsAmong) and node.query.table != node.left.table:
        return True
    return any(_is_slow(getattr(node, name)) for name in getattr(node, "__slots__", ()))
