"""Nodes of query trees for `constructs`: expressions and conditions computed from several columns or rows.

They are used like the nodes of `query_tree`, in queries for rows and for groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..databases.contents import format_literal
from .query_tree import ColumnName


@dataclass(frozen=True, slots=True)
class ColumnArithmetic:
    """The sum, difference or product of two columns of a table; of two aggregates in near misses only."""

    first: Any
    operator: str
    second: Any

    def sql(self, qualified: bool = True) -> str:
        return f"{self.first.sql(qualified)} {self.operator} {self.second.sql(qualified)}"


@dataclass(frozen=True, slots=True)
class TotalOf:
    """SUM, AVG, MIN or MAX of a computed number."""

    function: str
    number: Any
    distinct: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.function}({'DISTINCT ' * self.distinct}{self.number.sql(qualified)})"


@dataclass(frozen=True, slots=True)
class CaseOf:
    """CASE with three labels: the first from ``bounds[0]`` up, the second from ``bounds[1]`` up, the last for lower
    values and NULL."""

    column: ColumnName
    bounds: tuple[Any, Any]
    labels: tuple[str, str, str]
    operator: str = ">="

    def sql(self, qualified: bool = True) -> str:
        column = self.column.sql(qualified)
        cases = [
            f"WHEN {column} {self.operator} {format_literal(bound)} THEN {format_literal(label)}"
            for bound, label in zip(self.bounds, self.labels)
        ]
        return f"CASE {' '.join(cases)} ELSE {format_literal(self.labels[-1])} END"


@dataclass(frozen=True, slots=True)
class EarlierRows:
    """A window function over rows sorted by ``key``, whose values are all different: the column's value in the row
    before (LAG), or its running sum (SUM). ``backwards`` sorts descending. Near misses use other functions, too."""

    function: str
    column: ColumnName
    key: ColumnName
    backwards: bool = False
    partition: ColumnName | None = None

    def sql(self, qualified: bool = True) -> str:
        part = f"PARTITION BY {self.partition.sql(qualified)} " if self.partition else ""
        order = f"ORDER BY {self.key.sql(qualified)}{' DESC' * self.backwards}"
        return f"{self.function}({self.column.sql(qualified)}) OVER ({part}{order})"


@dataclass(frozen=True, slots=True)
class Contains:
    """LIKE: a text that contains ``part``, anywhere; in near misses, at the beginning or end only."""

    left: ColumnName
    part: str
    form: str = "%{}%"
    negated: bool = False

    def sql(self, qualified: bool = True) -> str:
        pattern = format_literal(self.form.format(self.part))
        return f"{self.left.sql(qualified)} {'NOT ' * self.negated}LIKE {pattern}"
