"""Find the worlds in which a near miss selects other rows than its query, without running either.

Conditions are computed on the arrays of `worlds`, all worlds at once. Where a near miss selects the same rows and
differs in nothing else, it has the query's result; where it selects other rows, its result usually differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..databases.worlds import Worlds
from .computed import Contains
from .query_tree import (
    COMPARISONS,
    AggregateOf,
    ColumnName,
    Compare,
    EitherOf,
    IsAmong,
    IsMissing,
    OneOf,
    Query,
    Quotient,
    RoundOf,
    SelectQuery,
    SetQuery,
    StartsWith,
    WholeOf,
    Within,
    YearOf,
)
from .stored_columns import StoredColumn

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]


class UnknownNode(Exception):
    """A node that `RowMasks` cannot compute."""


class _View:
    """The rows of a select's joined tables.

    Args:
        places: table -> the place of each row in the table's flat arrays, that of the padding without a partner.
            int64 [worlds, rows].
        valid: True for the rows that the joins keep. bool [worlds, rows].
    """

    __slots__ = ("places", "valid")

    def __init__(self, places: dict[str, Places], valid: Mask):
        self.places, self.valid = places, valid


class RowMasks:
    """Conditions of queries, computed on many worlds; nodes that queries share are computed once. The queries must
    outlive it, as nodes are known by their ids."""

    def __init__(self, worlds: Worlds):
        self.worlds = worlds
        self.starts = {name: (size + 1) * np.arange(worlds.count)[:, None] for name, size in worlds.sizes.items()}
        self._views: dict[tuple[str, int], _View] = {}
        self._known: dict[tuple[int, int], Any] = {}

    def count_rows(self, query: Query) -> NDArray[np.float64]:
        """Count the groups, or the rows without groups, that a query selects in each world (1 if that is unknown)."""
        side = query.left if isinstance(query, SetQuery) else query
        try:
            if not isinstance(side, SelectQuery):
                raise UnknownNode
            view = self._view(side)
            mask = self._mask(side, view)
            if not side.group:
                return mask.sum(axis=1).astype(np.float64)
            keys = np.zeros(mask.shape)
            for one in side.group:
                numbers = self._numbers(one, view)
                keys = keys * 1009 + np.where(np.isnan(numbers), 1000, numbers)
            keys = np.sort(np.where(mask, keys, np.nan), axis=1)
            return (keys[:, 1:] > keys[:, :-1]).sum(axis=1) + mask.any(axis=1).astype(np.float64)
        except UnknownNode:
            return np.ones(self.worlds.count)

    def differ(self, query: Query, miss: Query) -> Mask | None:
        """Return True for each world in which a near miss selects other rows; None if this is unknown, or if the near
        miss also differs elsewhere."""
        if isinstance(query, SetQuery):
            if not isinstance(miss, SetQuery) or miss.operator != query.operator or miss.ordered != query.ordered:
                return None
            pairs = [(query.left, miss.left), (query.right, miss.right)]
        elif isinstance(query, SelectQuery) and isinstance(miss, SelectQuery):
            pairs = [(query, miss)]
        else:
            return None
        found: Mask | None = None
        try:
            for one, other in pairs:
                if one is other:
                    continue
                if one.where is other.where and one.joins is other.joins:
                    return None
                view, changed = self._view(one), self._view(other)
                mask, others = self._mask(one, view), self._mask(other, changed)
                unequal = mask != others
                if changed is not view:
                    for table, places in view.places.items():
                        unequal |= mask & (places != changed.places[table])
                some = unequal.any(axis=1)
                found = some if found is None else found | some
        except UnknownNode:
            return None
        return found

    def _view(self, query: SelectQuery) -> _View:
        key = (query.table, id(query.joins))
        if key not in self._views:
            self._views[key] = self._join(query)
        return self._views[key]

    def _join(self, query: SelectQuery) -> _View:
        sizes, starts, schema = self.worlds.sizes, self.starts, self.worlds.schema
        if not {query.table, *(join.column.table for join in query.joins)} <= {*sizes}:
            raise UnknownNode
        base, count = query.table, self.worlds.count
        below = [join for join in query.joins if join.column.name != schema[join.column.table].key]
        if len(below) > 1 or any(join.other.table != base for join in below):
            raise UnknownNode
        own = np.arange(sizes[base])
        if not below:
            places = {base: own + starts[base]}
            valid = np.ones((count, sizes[base]), dtype=bool)
        else:
            # The rows of the child with their parents, then the parents without children.
            join, child = below[0], below[0].column.table
            parents = self._codes(join.column.table, join.column.name)[:, :-1]
            has_child = np.zeros((count, sizes[base] + 1), dtype=bool)
            has_child[np.arange(count)[:, None], parents] = True
            alone = ~has_child[:, :-1] & (join.kind == "LEFT")
            rows = np.where(parents < 0, sizes[base], parents)
            places = {
                base: np.concatenate([rows, np.broadcast_to(own, alone.shape)], axis=1) + starts[base],
                child: np.minimum(np.arange(sizes[child] + sizes[base]), sizes[child]) + starts[child],
            }
            valid = np.concatenate([parents >= 0, alone], axis=1)
        for join in query.joins:
            if join in below:
                continue
            table, other = join.column.table, join.other
            if other.table not in places:
                raise UnknownNode
            codes = self._codes(other.table, other.name).ravel()[places[other.table]]
            places[table] = np.where(codes < 0, sizes[table], codes) + starts[table]
            if join.kind == "INNER":
                valid = valid & (codes >= 0)
        return _View(places, valid)

    def _codes(self, table: str, name: str) -> Places:
        column = self.worlds.columns.get((table, name))
        if column is None:
            raise UnknownNode
        return column.codes

    def _mask(self, query: SelectQuery, view: _View) -> Mask:
        """The rows that meet all conditions. bool [worlds, rows]."""
        found = view.valid
        for condition in query.where:
            found = found & self._condition(condition, view)
        return found

    def _condition(self, node: Any, view: _View) -> Mask:
        """The rows for which a condition is true. bool [worlds, rows]."""
        key = (id(node), id(view))
        if key not in self._known:
            self._known[key] = self._compute(node, view)
        return self._known[key]

    def _compute(self, node: Any, view: _View) -> Mask:
        if isinstance(node, EitherOf):
            return self._condition(node.first, view) | self._condition(node.second, view)
        numbers = self._numbers(getattr(node, "left", None), view)
        if isinstance(node, IsMissing):
            return np.isnan(numbers) != node.negated
        if isinstance(node, Compare) and node.operator in COMPARISONS:
            right = self._right(node, view)
            found: Any = COMPARISONS[node.operator](numbers, right)
            return found & ~np.isnan(numbers) & ~np.isnan(right) if node.operator == "<>" else found
        if isinstance(node, Within):
            low, high = (self._literal(node.left, one) for one in (node.low, node.high))
            return (numbers >= low) & (numbers <= high)
        if isinstance(node, OneOf):
            wanted = [self._literal(node.left, one) for one in node.values]
            found = numbers == wanted[0]
            for one in wanted[1:]:
                found = found | (numbers == one)
            return found
        if isinstance(node, (StartsWith, Contains)):
            values = self.worlds.columns[node.left.table, node.left.name].values[:-1]
            form = "{}%" if isinstance(node, StartsWith) else node.form
            part = (node.prefix if isinstance(node, StartsWith) else node.part).lower()
            first, last = not part.startswith("%") and form[0] != "%", form[-1] != "%"
            part = part.removeprefix("%")
            fits = [
                one.lower().startswith(part) if first else one.lower().endswith(part) if last else part in one.lower()
                for one in values
            ]
            negated = isinstance(node, Contains) and node.negated
            table = np.array([*(one != negated for one in fits), False])
            return table[np.where(np.isnan(numbers), -1, numbers).astype(np.int64)]
        if isinstance(node, IsAmong):
            if len(node.query.columns) != 1 or not isinstance(node.query.columns[0], ColumnName):
                raise UnknownNode
            self._check_comparable(node.left, node.query.columns[0])
            inner = self._view(node.query)
            mask, found = self._mask(node.query, inner), self._numbers(node.query.columns[0], inner)
            among = np.zeros((self.worlds.count, 1000), dtype=bool)
            codes = np.where(mask & ~np.isnan(found), found, -1).astype(np.int64)
            among[np.arange(self.worlds.count)[:, None], codes] = True
            among[:, -1] = False
            own = np.where(np.isnan(numbers), -1, numbers).astype(np.int64)
            present = among[np.arange(self.worlds.count)[:, None], own]
            if not node.negated:
                return present
            null = (mask & np.isnan(found)).any(axis=1, keepdims=True)
            return ~present & ~np.isnan(numbers) & ~null
        raise UnknownNode

    def _numbers(self, node: Any, view: _View) -> NDArray[np.float64]:
        """The values of a column or year as numbers. float64 [worlds, rows]."""
        key = (id(node), id(view))
        if key in self._known:
            return self._known[key]
        if isinstance(node, YearOf):
            found = self._numbers(node.column, view) // 10_000
        elif not isinstance(node, ColumnName) or node.table not in view.places:
            raise UnknownNode
        elif node.name == self.worlds.schema[node.table].key:
            size = self.worlds.sizes[node.table]
            found = (view.places[node.table] - self.starts[node.table]).astype(np.float64) + 1
            found[found > size] = np.nan
        else:
            codes = self._codes(node.table, node.name).ravel()[view.places[node.table]]
            column = self.worlds.columns[node.table, node.name]
            if column.field.stored and not (isinstance(node, StoredColumn) and not node.wrong):
                raise UnknownNode
            found = column.numbers[codes]
        self._known[key] = found
        return found

    def _literal(self, left: Any, value: Any) -> float:
        if isinstance(left, YearOf) or not isinstance(value, str):
            return float(value)
        return self.worlds.columns[left.table, left.name].number_of(value)

    def _right(self, node: Compare, view: _View) -> Any:
        right = node.right
        if isinstance(right, SelectQuery):
            return self._scalar(right)
        if isinstance(right, ColumnName):
            self._check_comparable(node.left, right)
            return self._numbers(right, view)
        return self._literal(node.left, right)

    def _check_comparable(self, one: Any, other: ColumnName) -> None:
        """Texts of different columns have numbers of their own."""
        places = [self.worlds.columns.get((column.table, column.name)) for column in (one, other)]
        kinds = {place.field.kind for place in places if place is not None}
        if one != other and not kinds.isdisjoint(("name", "pick")):
            raise UnknownNode

    def _scalar(self, query: SelectQuery) -> NDArray[np.float64]:
        """The only value of a query with one aggregate, NaN for NULL. float64 [worlds, 1]."""
        if len(query.columns) != 1 or query.group or query.limit is not None:
            raise UnknownNode
        view = self._view(query)
        return self._total(query.columns[0], view, self._mask(query, view))

    def _total(self, node: Any, view: _View, mask: Mask) -> NDArray[np.float64]:
        if isinstance(node, RoundOf):
            return np.floor(self._total(node.expression, view, mask) + 0.5)
        if isinstance(node, WholeOf):
            return np.floor(self._total(node.expression, view, mask))
        if isinstance(node, Quotient):
            total, count = (self._total(one, view, mask) for one in (node.total, node.count))
            found = total / np.where(count, count, np.nan)
            return found if node.exact else np.floor(found)
        if not isinstance(node, AggregateOf):
            raise UnknownNode
        if node.column is None:
            return mask.sum(axis=1, keepdims=True).astype(np.float64)
        numbers = np.where(mask, self._numbers(node.column, view), np.nan)
        if node.distinct:
            numbers = np.sort(numbers, axis=1)
            numbers[:, 1:][numbers[:, 1:] == numbers[:, :-1]] = np.nan
        held = ~np.isnan(numbers)
        count = held.sum(axis=1, keepdims=True).astype(np.float64)
        if node.function == "COUNT":
            return count
        if node.function in ("MIN", "MAX"):
            end, choose = (np.inf, np.min) if node.function == "MIN" else (-np.inf, np.max)
            found = choose(np.where(held, numbers, end), axis=1, keepdims=True)
        else:
            found = np.where(held, numbers, 0.0).sum(axis=1, keepdims=True)
            if node.function == "AVG":
                found = found / np.maximum(count, 1)
        return np.where(count > 0, found, np.nan)
