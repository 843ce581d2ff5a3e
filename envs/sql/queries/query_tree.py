"""Queries as trees of frozen nodes that write themselves as SQL.

The trees cover the grammar of tasks and no more: one query, or two under a set operation; tables without aliases, each
joined to an earlier one; conditions joined by AND. Other queries are `WholeQuery` nodes.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass
from types import MappingProxyType
from typing import Any, ClassVar, TypeAlias, TypeVar

from ..databases.contents import format_literal
from ..databases.relations import Schema


@dataclass(frozen=True, slots=True)
class ColumnName:
    """A column; written with its table unless the query has only one."""

    table: str
    name: str

    def sql(self, qualified: bool = True) -> str:
        return f"{self.table}.{self.name}" if qualified else self.name

    def year(self, qualified: bool = True) -> str:
        """Write the year of a date."""
        return f"CAST(strftime('%Y', {self.sql(qualified)}) AS INTEGER)"


@dataclass(frozen=True, slots=True)
class YearOf:
    """The year of a date, as a whole number."""

    column: ColumnName

    def sql(self, qualified: bool = True) -> str:
        return self.column.year(qualified)


@dataclass(frozen=True, slots=True)
class AggregateOf:
    """COUNT, SUM, AVG, MIN or MAX of a column; without a column, COUNT of the rows."""

    function: str
    column: ColumnName | None = None
    distinct: bool = False

    def sql(self, qualified: bool = True) -> str:
        inner = self.column.sql(qualified) if self.column else "*"
        return f"{self.function}({'DISTINCT ' * self.distinct}{inner})"


@dataclass(frozen=True, slots=True)
class RankOver:
    """The rank of a row by a column, among all rows or within a partition."""

    function: str
    column: ColumnName
    descending: bool
    partition: ColumnName | None = None

    def sql(self, qualified: bool = True) -> str:
        part = f"PARTITION BY {self.partition.sql(qualified)} " if self.partition else ""
        return f"{self.function}() OVER ({part}ORDER BY {self.column.sql(qualified)}{' DESC' * self.descending})"


Expression: TypeAlias = ColumnName | YearOf | AggregateOf | RankOver


@dataclass(frozen=True, slots=True)
class RoundOf:
    """An expression rounded to an integer; used in near misses only."""

    expression: Expression

    def sql(self, qualified: bool = True) -> str:
        return f"ROUND({self.expression.sql(qualified)})"


@dataclass(frozen=True, slots=True)
class WholeOf:
    """An expression without its fraction; used in near misses only."""

    expression: Expression

    def sql(self, qualified: bool = True) -> str:
        return f"CAST({self.expression.sql(qualified)} AS INTEGER)"


@dataclass(frozen=True, slots=True)
class Quotient:
    """A sum over a count, as whole numbers unless ``exact``; used in near misses only."""

    total: AggregateOf
    count: AggregateOf
    exact: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.total.sql(qualified)} {'* 1.0 ' * self.exact}/ {self.count.sql(qualified)}"


@dataclass(frozen=True, slots=True)
class Compare:
    """A comparison with a value, a column, or a scalar subquery."""

    left: Expression
    operator: str
    right: Any

    def sql(self, qualified: bool = True) -> str:
        right = self.right
        if isinstance(right, SelectQuery):
            text = f"({right.sql()})"
        else:
            text = right.sql(qualified) if is_dataclass(right) else format_literal(right)  # type: ignore[union-attr]
        return f"{self.left.sql(qualified)} {self.operator} {text}"


@dataclass(frozen=True, slots=True)
class Within:
    """BETWEEN: a value between two others, inclusive."""

    left: Expression
    low: Any
    high: Any

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} BETWEEN {format_literal(self.low)} AND {format_literal(self.high)}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """IN: a value that is one of several."""

    left: ColumnName
    values: tuple[Any, ...]

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} IN ({', '.join(map(format_literal, self.values))})"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """LIKE: a text that begins with ``prefix``."""

    left: ColumnName
    prefix: str

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} LIKE {format_literal(self.prefix + '%')}"


@dataclass(frozen=True, slots=True)
class IsMissing:
    """IS NULL or IS NOT NULL."""

    left: ColumnName
    negated: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} IS {'NOT ' * self.negated}NULL"


@dataclass(frozen=True, slots=True)
class IsAmong:
    """IN or NOT IN the results of a query with one column."""

    left: ColumnName
    query: SelectQuery
    negated: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} {'NOT ' * self.negated}IN ({self.query.sql()})"


@dataclass(frozen=True, slots=True)
class EitherOf:
    """OR of two conditions."""

    first: Condition
    second: Condition

    def sql(self, qualified: bool = True) -> str:
        return f"({self.first.sql(qualified)} OR {self.second.sql(qualified)})"


Condition: TypeAlias = Compare | Within | OneOf | StartsWith | IsMissing | IsAmong | EitherOf


@dataclass(frozen=True, slots=True)
class JoinTo:
    """INNER or LEFT JOIN of a table on ``column`` (of that table) = ``other`` (of an earlier table)."""

    kind: str
    column: ColumnName
    other: ColumnName

    def sql(self) -> str:
        word = "JOIN" if self.kind == "INNER" else f"{self.kind} JOIN"
        return f"{word} {self.column.table} ON {self.column.sql()} = {self.other.sql()}"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """One key of ORDER BY."""

    expression: Expression
    descending: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.expression.sql(qualified)}{' DESC' * self.descending}"


@dataclass(frozen=True, slots=True)
class SelectQuery:
    """SELECT columns FROM table, or FROM a view with its columns, with joins and clauses."""

    columns: tuple[Expression, ...]
    table: str
    joins: tuple[JoinTo, ...] = ()
    where: tuple[Condition, ...] = ()
    group: tuple[ColumnName | YearOf, ...] = ()
    having: tuple[Condition, ...] = ()
    order: tuple[OrderKey, ...] = ()
    limit: int | None = None
    distinct: bool = False
    view: str = ""

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        """Write the query. ``known``: texts of some clauses, as `write_clauses` returns them."""
        many = bool(self.joins)
        source = self.table if not self.view else f"{self.view} AS {self.table}" if many else self.view

        def write(nodes: tuple[Any, ...], joint: str) -> str:
            return known.get(id(nodes)) or joint.join([node.sql(many) for node in nodes])

        parts = [f"SELECT {'DISTINCT ' * self.distinct}{write(self.columns, ', ')} FROM {source}"]
        parts += [join.sql() for join in self.joins]
        if self.where:
            parts.append(f"WHERE {write(self.where, ' AND ')}")
        if self.group:
            parts.append(f"GROUP BY {write(self.group, ', ')}")
        if self.having:
            parts.append(f"HAVING {write(self.having, ' AND ')}")
        if self.order:
            parts.append(f"ORDER BY {write(self.order, ', ')}")
        if self.limit is not None:
            parts.append(f"LIMIT {self.limit}")
        return " ".join(parts)


@dataclass(frozen=True, slots=True)
class SetQuery:
    """UNION, INTERSECT or EXCEPT of two queries with the same columns; ``ordered`` sorts by the first column."""

    operator: str
    left: SelectQuery
    right: SelectQuery
    ordered: bool = False
    descending: bool = False

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        order = f" ORDER BY 1{' DESC' * self.descending}" * self.ordered
        return f"{self.left.sql(known)} {self.operator} {self.right.sql(known)}{order}"


class WholeQuery:
    """Base of queries with a form of their own. Where clauses matter, they stand for a `SelectQuery` with their table,
    columns and conditions; a subclass is a frozen dataclass with these fields."""

    __slots__ = ()
    joins: ClassVar[tuple[JoinTo, ...]] = ()
    group: ClassVar[tuple[ColumnName, ...]] = ()
    having: ClassVar[tuple[Condition, ...]] = ()
    order: ClassVar[tuple[OrderKey, ...]] = ()
    limit: ClassVar[int | None] = None
    distinct: ClassVar[bool] = False
    view: ClassVar[str] = ""
    table: str
    columns: tuple[Any, ...]
    where: tuple[Condition, ...]

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        """Write the query."""
        raise NotImplementedError(f"{type(self).__name__} must implement sql().")

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield (kind of mistake, query) for near misses, besides those that differ in a column or condition."""
        raise NotImplementedError(f"{type(self).__name__} must implement changes(schema).")

    def ask(self, writer: Any) -> list[str]:
        """Write the sentences of the question, with a `wording.QuestionWriter`."""
        raise NotImplementedError(f"{type(self).__name__} must implement ask(writer).")

    def steps(self) -> list[str]:
        """Write a line for each step of the worked solution."""
        raise NotImplementedError(f"{type(self).__name__} must implement steps().")

    def often(self, schema: Schema) -> dict[tuple[str, str], list[Any]]:
        """Map (table, column) to values that contents should have often."""
        return {}

    @property
    def has_repeats(self) -> bool:
        """True if the result may have the same row several times."""
        return True

    @property
    def is_single_row(self) -> bool:
        """True if the result always is one row."""
        return False

    def write_where(self, *more: str) -> str:
        """Write WHERE with further conditions, and the query's own with the names of tables; "" without any."""
        texts = [*more, *(condition.sql() for condition in self.where)]
        return f" WHERE {' AND '.join(texts)}" if texts else ""


Query: TypeAlias = SelectQuery | SetQuery | WholeQuery


def write_clauses(query: Query) -> dict[int, str]:
    """Map the id of each clause's tuple of nodes to its SQL, so that queries with the same tuples are written faster
    (``known`` of `SelectQuery.sql`). Valid as long as the query exists."""
    found = {}
    for side in (query.left, query.right) if isinstance(query, SetQuery) else (query,):
        for nodes, joint in ((side.columns, ", "), (side.where, " AND "), (side.group, ", "), (side.order, ", ")):
            if nodes:
                found[id(nodes)] = joint.join([node.sql(bool(side.joins)) for node in nodes])
    return found


N = TypeVar("N")


def replace(node: N, **changes: Any) -> N:
    """Copy a node with some fields changed, twice as fast as `dataclasses.replace`."""
    kind: Any = type(node)
    return kind(*[changes[name] if name in changes else getattr(node, name) for name in kind.__match_args__])


def rewrite(node: Any, change: Callable[[Any], Any]) -> Any:
    """Copy a tree of nodes, applying ``change`` to each node after the nodes inside."""
    if isinstance(node, tuple):
        return tuple([rewrite(one, change) for one in node])
    if not hasattr(node, "__slots__"):
        return node
    return change(replace(node, **{name: rewrite(getattr(node, name), change) for name in node.__match_args__}))


def walk(node: Any) -> Iterator[Any]:
    """Yield the nodes of a tree, each before the nodes inside."""
    if isinstance(node, tuple):
        for one in node:
            yield from walk(one)
    elif hasattr(node, "__match_args__"):
        yield node
        for name in node.__match_args__:
            yield from walk(getattr(node, name))


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    "<>": operator.ne,
}


def column_of(expression: Any) -> Any:
    """Return the column inside a `YearOf`, and other expressions unchanged."""
    return expression.column if isinstance(expression, YearOf) else expression


def is_ordered_query(query: Query) -> bool:
    """Return True if the order of the result's rows counts."""
    return query.ordered if isinstance(query, SetQuery) else bool(query.order)


def find_tables(query: Query) -> list[str]:
    """List the tables that a query reads, nested queries included, in alphabetical order."""
    return sorted(set(re.findall(r"\b(?:FROM|JOIN) (\w+)", query.sql())))


def count_matches(query: Query) -> SelectQuery:
    """Make the query that counts the rows that meet the conditions, before grouping and limit; for a set operation, on
    its left side."""
    side = query.left if isinstance(query, SetQuery) else query
    return SelectQuery((AggregateOf("COUNT"),), side.table, side.joins, side.where)


def collect_conditions(node: Any, found: dict[tuple[str, str], list[Condition]]) -> None:
    """Collect the conditions of a tree in ``found``: (table, column) -> conditions on that column."""
    left = getattr(node, "left", None)
    if isinstance(left, YearOf):
        left = left.column
    if isinstance(left, ColumnName):
        found.setdefault((left.table, left.name), []).append(node)
    for name in node.__slots__:
        value = getattr(node, name)
        for inner in value if isinstance(value, tuple) else (value,):
            if hasattr(inner, "__slots__"):
                collect_conditions(inner, found)


def list_words(query: Query) -> str:
    """Return the words of a query in alphabetical order, without constants. Queries that differ only in constants and
    in the order of their parts have the same words."""
    return " ".join(sorted(re.findall(r"[A-Za-z_][\w.]*|[<>=*]+", re.sub(r"'[^']*'", "", query.sql()))))
