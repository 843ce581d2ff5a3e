"""Rows compared with their superior in the same table, and the reference to it that a plan needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....code.programs.dice import Dice
from ...databases.hierarchies import list_hierarchies
from ...databases.relations import Schema
from ..query_plans import Plan, extend_plan, find_domain
from ..query_tree import ColumnName, Condition, WholeQuery, replace

REVERSED = {">": "<", "<": ">", ">=": "<=", "<=": ">=", "<>": "<>"}
LOOSER = {">": ">=", "<": "<=", ">=": ">", "<=": "<"}
KEPT = "Do not remove duplicate rows."


@dataclass(frozen=True, slots=True)
class SuperiorPairs(WholeQuery):
    """Rows that exceed (fall short of) their superior in the same table, with columns of both.

    Args:
        table: the table.
        link: the column that refers to the superior.
        word: the word for the superior.
        columns: columns to show of the row.
        others: columns to show of the superior.
        where: conditions on the row.
        compared: the column that is compared.
        operator: the comparison of the row with its superior.
        downwards: True to take the row below for the superior; in near misses only.
    """

    table: str
    link: str
    word: str
    columns: tuple[ColumnName, ...]
    others: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    compared: ColumnName
    operator: str
    downwards: bool = False

    def _link(self) -> str:
        ends = f"{self.table}_id", self.link
        other, own = reversed(ends) if self.downwards else ends
        return f"superior.{other} = {self.table}.{own}"

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = [column.sql() for column in self.columns] + [f"superior.{column.name}" for column in self.others]
        compared = f"{self.compared.sql()} {self.operator} superior.{self.compared.name}"
        return (
            f"SELECT {', '.join(shown)} FROM {self.table} JOIN {self.table} AS superior ON {self._link()}"
            f"{self.write_where(compared)}"
        )

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        yield "self", replace(self, operator=LOOSER[self.operator])
        yield "self", replace(self, operator=REVERSED[self.operator])
        yield "self", replace(self, downwards=True)

    def ask(self, writer: Any) -> list[str]:
        one, dated = writer.schema[self.table].singular, writer.field(self.compared).kind == "date"
        words = {">": ("is more than", "is after"), "<": ("is less than", "is before")}[self.operator][dated]
        own = [writer.name(column, "its") for column in self.columns]
        theirs = [f"its {self.word}'s {writer.name(column, '')}" for column in self.others]
        main = writer.singular(self.table) + writer.main_clauses(self, "its")
        name = writer.name(self.compared, "")
        lead = f"in which {name}" if writer.named else f"whose {name}"
        return [
            explain_link(self.table, self.link, self.word, one),
            f"For every {main}, give {writer.join([*own, *theirs])}.",
            f"Keep only those {lead} {words} the {self.word}'s {name}.",
            KEPT,
        ]

    def steps(self) -> list[str]:
        return [
            f"Join the table {self.table} with itself as superior where {self._link()}.",
            f"Keep pairs with {self.compared.sql()} {self.operator} superior.{self.compared.name}.",
            *(f"Keep pairs with {condition.sql()}." for condition in self.where),
        ]


def explain_link(table: str, link: str, word: str, one: str) -> str:
    """Write the sentence that explains the column with a row's superior."""
    return f"{table}.{link} is the id of another {one}, its {word} (NULL if it has none)."


def add_hierarchy(dice: Dice, plan: Plan) -> Plan | None:
    """Add a reference to a superior to one of a plan's tables, or to a further table if none can have one; None if no
    table of the domain can."""
    fields = list_hierarchies(plan.schema.domain)
    tables = [table for table in plan.schema.names if table in fields]
    if not fields:
        return None
    table = dice.one(tables or [name for name in find_domain(plan).names if name in fields])
    return Plan(extend_plan(plan, {table}).with_field(table, fields[table]), table, ())
