"""The construct "self": rows compared with other rows of the same table.

A query gives for each row an aggregate of others with which it shares a group, pairs of rows of a group, rows compared
with an aggregate of their own group, or rows compared with their superior in the same table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....code.programs.dice import Dice
from ...databases.hierarchies import name_superior
from ...databases.relations import Field, Schema
from ..query_plans import Plan
from ..query_tree import ColumnName, Condition, Query, WholeQuery, replace
from ..question_notes import with_article
from .construct import Construct, QueryRequest
from .superior_pairs import KEPT, LOOSER, REVERSED, SuperiorPairs, add_hierarchy

_OTHER = "other"


@dataclass(frozen=True, slots=True)
class SharedGroup:
    """Condition that another row of the table has the same value in a column; with ``null_safe``, NULL is the same as
    NULL."""

    column: ColumnName
    null_safe: bool = False

    def sql(self, qualified: bool = True) -> str:
        operator = "IS NOT DISTINCT FROM" if self.null_safe else "="
        return f"{_OTHER}.{self.column.name} {operator} {self.column.sql()}"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield the comparison that treats NULL in the other way."""
        if schema[self.column.table][self.column.name].nullable:
            yield "null", replace(self, null_safe=not self.null_safe)

    def describe(self, writer: Any, end: str = "") -> str:
        """Write the condition, "have the same category", with ``end`` behind it."""
        field: Field = writer.field(self.column)
        phrase = writer.schema[field.values[0]].singular if field.kind == "parent" else field.phrase
        name = self.column.sql() if writer.named else phrase
        none = f"two without {with_article(phrase)}" if field.kind == "parent" else "two where it is missing"
        missing = f" ({'two that are NULL' if writer.named else none} count as the same)" if self.null_safe else ""
        return f"have the same {name}{end}{missing}"


class _PeerQuery(WholeQuery):
    """Base of queries that compare a row with others of its group."""

    __slots__ = ()
    group_by: SharedGroup | None  # type: ignore[misc]
    compared: ColumnName
    operator: str

    def meets(self, operator: str = "") -> str:
        """Write the conditions on the other row."""
        compared = f"{_OTHER}.{self.compared.name} {operator or self.operator} {self.compared.sql()}"
        return compared if self.group_by is None else f"{self.group_by.sql()} AND {compared}"

    def compare(self, writer: Any, operator: str) -> str:
        """Write the comparison by an operator: "a larger price"."""
        dated = writer.field(self.compared).kind == "date"
        words = {">": ("larger", "later"), "<": ("smaller", "earlier")}[operator]
        return with_article(f"{words[dated]} {writer.name(self.compared, '')}")


@dataclass(frozen=True, slots=True)
class PeerAggregate(_PeerQuery):
    """For each row: the number of rows of its group with a larger (smaller) value, or the next such value.

    Args:
        table: the table.
        columns: columns to show.
        where: conditions on the rows.
        group_by: the group.
        compared: the column that is compared.
        operator: ">" or "<" for the others' values; others in near misses only.
        aggregate: "COUNT(*)", "NEAREST"; others in near misses only.
        joined: True to join the rows instead, which loses rows without any; in near misses only.
    """

    table: str
    columns: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    group_by: SharedGroup | None
    compared: ColumnName
    operator: str
    aggregate: str
    joined: bool = False

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = ", ".join(column.sql() for column in self.columns)
        nearest = "MIN" if self.operator[0] == ">" else "MAX"
        aggregate = self.aggregate.replace("NEAREST", f"{nearest}({_OTHER}.{self.compared.name})")
        others = f"{self.table} AS {_OTHER}"
        if self.joined:
            key = f"{self.table}.{self.table}_id"
            return (
                f"SELECT {shown}, {aggregate} FROM {self.table} JOIN {others} ON {self.meets()}{self.write_where()} "
                f"GROUP BY {key}, {shown}"
            )
        return (
            f"SELECT {shown}, (SELECT {aggregate} FROM {others} WHERE {self.meets()}) FROM {self.table}"
            f"{self.write_where()}"
        )

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        yield "self", replace(self, operator=LOOSER[self.operator])
        yield "self", replace(self, operator=REVERSED[self.operator])
        yield "self", replace(self, joined=True)
        if self.group_by:
            yield "self", replace(self, group_by=None)
        if self.aggregate == "NEAREST":
            far = "MAX" if self.operator == ">" else "MIN"
            yield "self", replace(self, aggregate=f"{far}({_OTHER}.{self.compared.name})")
        else:
            yield "self", replace(self, aggregate=f"COUNT(DISTINCT {_OTHER}.{self.compared.name})")

    def ask(self, writer: Any) -> list[str]:
        shown = [writer.name(column, "its") for column in self.columns]
        rows, group = writer.plural(self.table), self.group_by.describe(writer, " as it") if self.group_by else ""
        compare = self.compare(writer, self.operator)
        if self.aggregate == "NEAREST":
            dated = writer.field(self.compared).kind == "date"
            words = {">": ("smallest", "above", "earliest", "after"), "<": ("largest", "below", "latest", "before")}
            best, side = words[self.operator][2 * dated : 2 * dated + 2]
            name = writer.name(self.compared, "")
            those = f"all {rows} that {group}" if group else f"all {rows}"
            shown.append(f"the {best} {name} {side} its own among {those}, or NULL if there is none")
        else:
            have = f"that {group} and have" if group else "that have"
            shown.append(f"the number of all {rows} {have} {compare} than it (0 if there are none)")
        main = writer.singular(self.table) + writer.main_clauses(self, "its")
        return [f"For every {main}, give {writer.join(shown)}.", KEPT]

    def steps(self) -> list[str]:
        return [
            f"The rows come from the table {self.table}.",
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
            f"For each, a nested query looks at the same table as {_OTHER}, where {self.meets()}.",
            "It is nested rather than joined, so that rows without any other stay.",
        ]


@dataclass(frozen=True, slots=True)
class PeerPairs(_PeerQuery):
    """Pairs of rows of a group: each pair once, the row with the smaller key first, or the row with the larger value
    first.

    Args:
        table: the table.
        columns: columns to show of the first row.
        others: columns to show of the other row.
        where: conditions on the first row.
        group_by: the group.
        compared: the column that decides which row is the first; the key for each pair once.
        operator: "<" or ">" for the other row's value; others in near misses only.
    """

    table: str
    columns: tuple[ColumnName, ...]
    others: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    group_by: SharedGroup | None
    compared: ColumnName
    operator: str

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = [column.sql() for column in self.columns] + [f"{_OTHER}.{column.name}" for column in self.others]
        return (
            f"SELECT {', '.join(shown)} FROM {self.table} JOIN {self.table} AS {_OTHER} ON {self.meets()}"
            f"{self.write_where()}"
        )

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        yield "self", replace(self, operator=LOOSER[self.operator])
        yield "self", replace(self, operator=REVERSED[self.operator])
        yield "self", replace(self, operator="<>")
        if self.group_by:
            yield "self", replace(self, group_by=None)

    def ask(self, writer: Any) -> list[str]:
        key = self.compared.name == writer.schema[self.table].key
        rows, group = writer.plural(self.table), self.group_by.describe(writer) if self.group_by else ""
        first = [self._name_of(writer, "first", column) for column in self.columns]
        other = [self._name_of(writer, "second", column) for column in self.others]
        different = "different " if key else ""
        if key:
            smaller = writer.name(self.compared, "")
            that = f" that {group}" if group else ""
            rule = f"The first is the one with the smaller {smaller}, so that each pair comes once."
        else:
            compare = self.compare(writer, REVERSED[self.operator])
            that = f"{f' that {group} and' if group else ''} of which the first has {compare} than the second"
            rule = "Do not remove duplicate rows."
        found = [f"For every pair of {different}{rows}{that}, give {writer.join([*first, *other])}.", rule]
        if clauses := writer.main_clauses(self, "its").strip():
            only = clauses.removeprefix("where ")
            subject = f"for the first row, {only}" if writer.named else f"the first is one {only}"
            found.append(f"Take only pairs in which {subject}; the second need not meet this.")
        return found

    def _name_of(self, writer: Any, which: str, column: ColumnName) -> str:
        phrase = column.sql() if writer.named else writer.field(column).phrase
        return f"the {which} one's {phrase}"

    def steps(self) -> list[str]:
        return [
            f"Join the table {self.table} with itself as {_OTHER} where {self.meets()}.",
            *(f"Keep pairs with {condition.sql()}." for condition in self.where),
            "Each pair is one row.",
        ]


@dataclass(frozen=True, slots=True)
class PeerBenchmark(_PeerQuery):
    """Rows whose value is above (below) an aggregate of their own group.

    Args:
        table: the table.
        columns: columns to show.
        where: further conditions on the rows.
        group_by: the group.
        compared: the column that is compared.
        operator: the comparison.
        function: the aggregate.
        different: True to take different values only; in near misses only.
    """

    table: str
    columns: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    group_by: SharedGroup | None
    compared: ColumnName
    operator: str
    function: str
    different: bool = False

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = ", ".join(column.sql() for column in self.columns)
        where = f" WHERE {self.group_by.sql()}" if self.group_by else ""
        distinct = "DISTINCT " * self.different
        inner = f"SELECT {self.function}({distinct}{_OTHER}.{self.compared.name}) FROM {self.table} AS {_OTHER}{where}"
        benchmark = f"{self.compared.sql()} {self.operator} ({inner})"
        return f"SELECT {shown} FROM {self.table}{self.write_where(benchmark)}"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        if self.group_by:
            yield "self", replace(self, group_by=None)
        if self.function == "AVG":
            yield "self", replace(self, operator=LOOSER[self.operator])
            yield "self", replace(self, operator=REVERSED[self.operator])
            yield "aggregate", replace(self, different=True)
        else:
            yield "self", replace(self, function={"MIN": "MAX", "MAX": "MIN"}[self.function])

    def ask(self, writer: Any) -> list[str]:
        shown = [writer.name(column, "its") for column in self.columns]
        rows, group = writer.plural(self.table), self.group_by.describe(writer, " as it") if self.group_by else ""
        main = writer.singular(self.table) + writer.main_clauses(self, "its")
        lead = f"in which {self.compared.sql()}" if writer.named else writer.name(self.compared, "whose")
        dated = writer.field(self.compared).kind == "date"
        kind = {"AVG": "average", "MIN": ("smallest", "earliest")[dated], "MAX": ("largest", "latest")[dated]}
        words = {">": "is more than", "<": "is less than", "=": "equals"}[self.operator]
        name = writer.name(self.compared, "")
        those = f"all {rows} (itself included) that {group}" if group else f"all {rows}"
        benchmark = f"Keep only those {lead} {words} the {kind[self.function]} {name} of {those}."
        return [f"For every {main}, give {writer.join(shown)}.", benchmark, KEPT]

    def steps(self) -> list[str]:
        group = self.group_by.sql() if self.group_by else "all rows count"
        return [
            f"The rows come from the table {self.table}.",
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
            f"Compare {self.compared.sql()} with {self.function} of the same table as {_OTHER}, where {group}.",
        ]


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Choose a table with groups, or one that can be a hierarchy."""
    if dice.chance(0.25):
        return add_hierarchy(dice, plan)
    tables = [table for table in plan.schema.names if any(plan.schema[table].parents)]
    return Plan(plan.schema, dice.one(tables or plan.schema.names), ())


def _draw(request: QueryRequest, _: Query | None) -> Query | None:
    dice, table, relation = request.dice, request.plan.base, request.plan.schema[request.plan.base]
    shown, where = request.draw_columns(table), request.draw_conditions(table)
    measures = [column for column, _ in request.columns(table, ("int", "real", "date"), nullable=False)]
    if where is None or not shown:
        return None
    if superiors := [field for field in relation.fields if field.kind == "self"]:
        if not measures:
            return None
        link, others = superiors[0], request.draw_columns(table, 1)
        compared, operator = dice.one(measures), dice.one((">", "<"))
        return SuperiorPairs(table, link.name, name_superior(link), shown, others, where, compared, operator)
    groups = request.columns(table, ("parent", "pick"))
    if not groups:
        return None
    column, field = dice.one(groups)
    group = SharedGroup(column, field.nullable)
    numbers = [column for column, _ in request.columns(table, ("int", "real"), nullable=False)]
    ways = ["count", "nearest", "pairs"] * bool(measures) + ["once"] + ["average"] * bool(numbers)
    ways += ["extreme"] * bool(measures)
    way = dice.one(ways)
    if way in ("count", "nearest"):
        aggregate = "COUNT(*)" if way == "count" else "NEAREST"
        return PeerAggregate(table, shown, where, group, dice.one(measures), dice.one((">", "<")), aggregate)
    if way in ("pairs", "once"):
        key = ColumnName(table, relation.key)
        others, compared = request.draw_columns(table, 1), dice.one(measures) if way == "pairs" else key
        operator = "<" if way == "pairs" else ">"
        return PeerPairs(table, shown[:1], others, where, group, compared, operator)
    if way == "average":
        return PeerBenchmark(table, shown, where, group, dice.one(numbers), dice.one((">", "<")), "AVG")
    return PeerBenchmark(table, shown, where, group, dice.one(measures), "=", dice.one(("MIN", "MAX")))


SELF_COMPARISONS = Construct("self", _draw, _prepare)
