"""The construct "children": for each row, aggregates of its children in two tables.

To join both tables at once pairs each child in one with each in the other, so that counts and sums are too large.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....code.programs.dice import Dice
from ...databases.relations import Schema
from ..query_plans import Plan, extend_plan, find_domain
from ..query_tree import ColumnName, Condition, Query, WholeQuery, replace
from ..question_notes import with_article
from .construct import Construct, QueryRequest
from .superior_pairs import KEPT

_WORDS = {"SUM": "sum", "AVG": "average", "MIN": ("smallest", "earliest"), "MAX": ("largest", "latest")}
_OTHERS = {"SUM": "AVG", "AVG": "SUM", "MIN": "MAX", "MAX": "MIN"}
_SIZES = {">": "greater", "<": "less"}


@dataclass(frozen=True, slots=True)
class ChildAggregate:
    """An aggregate of the children of a row in one table.

    Args:
        table: the children's table.
        link: the column there that refers to the row.
        function: "COUNT", "SUM", "AVG", "MIN" or "MAX".
        column: the aggregated column; None for a count.
        where: conditions on the children.
        zero: True to take 0 where there are no values; in near misses only.
        distinct: True to take different values only; in near misses only.
    """

    table: str
    link: str
    function: str
    column: ColumnName | None
    where: tuple[Condition, ...]
    zero: bool = False
    distinct: bool = False

    def aggregate(self, distinct: bool = False) -> str:
        """Write the aggregate over joined rows."""
        inner = self.column.sql() if self.column else f"{self.table}.{self.table}_id"
        return f"{self.function}({'DISTINCT ' * (distinct or self.distinct)}{inner})"

    def join(self, parent: str) -> str:
        """Write the condition of a join with the parent."""
        texts = [f"{self.table}.{self.link} = {parent}.{self.link}", *(one.sql() for one in self.where)]
        return " AND ".join(texts)

    def nest(self, parent: str, function: str = "") -> str:
        """Write the aggregate as a nested query; ``function`` instead of its own."""
        aggregate = function or ("COUNT(*)" if self.column is None else self.aggregate())
        text = f"(SELECT {aggregate} FROM {self.table} WHERE {self.join(parent)})"
        return f"COALESCE({text}, 0)" if self.zero else text

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield other aggregates."""
        if self.function in _OTHERS:
            yield "aggregate", replace(self, function=_OTHERS[self.function])
            if self.column and schema[self.table][self.column.name].is_number:
                yield "null", replace(self, zero=True)
            if self.function in ("SUM", "AVG"):
                yield "aggregate", replace(self, distinct=True)
        for place in range(len(self.where)):
            yield "condition", replace(self, where=self.where[:place] + self.where[place + 1 :])

    def ask(self, writer: Any, lead: str = "the", table: str = "") -> str:
        """Write the aggregate: "the sum of the quantity of its sales whose ..."."""
        its = f"rows of {self.table} that refer to it" if writer.named else f"its {writer.plural(self.table)}"
        texts = [writer.clause(one, "whose", self.table) for one in self.where]
        its += writer.list_clauses(texts)
        if self.column is None:
            return f"the number of {its}"
        dated = writer.field(self.column).kind == "date"
        word = _WORDS[self.function]
        word = word[dated] if isinstance(word, tuple) else word
        name = writer.name(self.column, "", self.table)
        if word == "sum":
            name = f"of {'' if writer.named else 'the '}{name}"
        return f"the {word} {name} of {its}"


@dataclass(frozen=True, slots=True)
class ChildAggregates(WholeQuery):
    """For each row of a table, aggregates of its children in two tables, each counted apart.

    Args:
        table: the parents' table.
        columns: the parent's columns to show.
        where: conditions on the parents.
        parts: the aggregates.
        counts: the numbers of the same children, if they are compared.
        compared: ">" or "<" to keep only parents with more (fewer) children in the first table than in the second.
        form: "apart"; in near misses also "joined", "distinct" (joined, with DISTINCT) and "inner" (without parents
            that have no children in one of the tables).
    """

    table: str
    columns: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    parts: tuple[ChildAggregate, ...]
    counts: tuple[ChildAggregate, ...] = ()
    compared: str = ""
    form: str = "apart"

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = [column.sql() for column in self.columns]
        if self.form in ("joined", "distinct"):
            distinct = self.form == "distinct"
            joins = "".join(f" LEFT JOIN {part.table} ON {part.join(self.table)}" for part in self.parts)
            keys = ", ".join([f"{self.table}.{self.table}_id", *shown])
            having = ""
            if self.compared:
                counts = [f"COUNT({part.table}.{part.table}_id)" for part in self.parts]
                having = f" HAVING {counts[0]} {self.compared} {counts[1]}"
            shown += [part.aggregate(distinct) for part in self.parts]
            return f"SELECT {', '.join(shown)} FROM {self.table}{joins}{self.write_where()} GROUP BY {keys}{having}"
        shown += [part.nest(self.table) for part in self.parts]
        more = []
        if self.form == "inner":
            more = [f"EXISTS {part.nest(self.table, '1')}" for part in (replace(one, zero=False) for one in self.parts)]
        if self.compared:
            counts = [count.nest(self.table) for count in self.counts]
            more.append(f"{counts[0]} {self.compared} {counts[1]}")
        return f"SELECT {', '.join(shown)} FROM {self.table}{self.write_where(*more)}"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        if not self.compared:
            yield "fan-out", replace(self, form="joined")
            if any(part.function in ("SUM", "AVG") for part in self.parts):
                yield "fan-out", replace(self, form="distinct")
            yield "join", replace(self, form="inner")
        else:
            yield "condition", replace(self, compared="")
            yield "comparison", replace(self, compared=f"{self.compared}=")
            # Joined, both counts are equal wherever there are children in both tables.
            yield "fan-out", replace(self, form="joined")

    def ask(self, writer: Any) -> list[str]:
        shown = [writer.name(column, "its") for column in self.columns]
        one = writer.singular(self.table)
        main = one + writer.main_clauses(self, "its")
        parts = [part.ask(writer) for part in self.parts]
        found = [f"For every {main}, give {writer.join(shown)}, then {parts[0]}, and then {parts[1]}."]
        if self.compared:
            counts = [count.ask(writer) for count in self.counts]
            found.append(
                f"Keep only those for which the first of these numbers is {_SIZES[self.compared]} than the second: "
                f"{counts[0]}; {counts[1]}."
            )
        else:
            nones = [f"none of these {writer.plural(part.table)}" for part in self.parts]
            found.append(f"{with_article(one).capitalize()} with {' or '.join(nones)} is listed as well.")
        return [*found, KEPT]

    def steps(self) -> list[str]:
        return [
            f"The rows come from the table {self.table}.",
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
            *(f"For each, a nested query looks at {part.table} where {part.join(self.table)}." for part in self.parts),
            *([f"Keep rows whose first count is {self.compared} the second."] if self.compared else []),
            "A join of both tables at once would pair all children of one with all of the other.",
        ]


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Choose a table with children in two tables, if possible among the plan's."""
    domain = find_domain(plan)
    parents = [table for table in domain.names if len(domain.children(table)) > 1]
    if not parents:
        return None
    table = dice.one([table for table in parents if table in plan.schema.names] or parents)
    children = list(domain.children(table))
    first = dice.one(children)
    second = dice.one([one for one in children if one != first])
    return Plan(extend_plan(plan, {table, first, second}), table, ())


def _draw(request: QueryRequest, _: Query | None) -> Query | None:
    dice, schema, table = request.dice, request.plan.schema, request.plan.base
    first = dice.one(schema.children(table))
    second = dice.one([one for one in schema.children(table) if one != first])
    link = f"{table}_id"
    spare = request.clauses - 1
    parts = []
    for place, child in enumerate((first, second)):
        numbers = [column for column, _ in request.columns(child, ("int", "real"))]
        dates = [column for column, _ in request.columns(child, ("date",))]
        # A count or a sum, which a join with the other table makes too large.
        ways = ["COUNT"] + ["SUM"] * bool(numbers) + (["AVG", "MIN", "MAX"] * bool(numbers) if place else [])
        function = dice.one(ways + ["MIN", "MAX"] * bool(dates and place))
        pool = numbers if function in ("SUM", "AVG") else [*numbers, *dates]
        where: tuple[Condition, ...] | None = ()
        if spare > 0 and dice.chance(0.6):
            one = QueryRequest(dice, request.plan, request.rows, 2, 0)
            where, spare = one.draw_conditions(child), spare - 1
        if where is None:
            return None
        parts.append(ChildAggregate(child, link, function, None if function == "COUNT" else dice.one(pool), where))
    compared = dice.one((">", "<")) if spare > 0 and dice.chance(0.25) else ""
    where = request.draw_conditions(table, request.clauses - spare + bool(compared))
    shown = request.draw_columns(table)
    if where is None or not shown:
        return None
    counts = tuple(replace(part, function="COUNT", column=None) for part in parts) if compared else ()
    return ChildAggregates(table, shown, where, tuple(parts), counts, compared)


CHILD_TABLES = Construct("children", _draw, _prepare)
