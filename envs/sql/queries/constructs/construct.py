"""The row of a construct: its name, and the functions that give a plan and a query to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ....code.programs.dice import Dice
from ...databases.contents import Rows
from ...databases.relations import LINKS, Field
from ..query_grammar import MOST_CONDITIONS, draw_conditions
from ..query_plans import Plan
from ..query_tree import ColumnName, Condition, Query


@dataclass(frozen=True, slots=True)
class QueryRequest:
    """Request for a query with a construct.

    Args:
        dice: the random generator.
        plan: the plan.
        rows: contents of the database, as they are meant (`contents.tidy_rows`).
        clauses: number of clauses, as in `query_grammar.draw_query`.
        nesting: depth of nested queries in its conditions.
    """

    dice: Dice
    plan: Plan
    rows: Rows
    clauses: int
    nesting: int

    def draw_conditions(self, table: str, spent: int = 1) -> tuple[Condition, ...] | None:
        """Draw conditions on a table, with ``spent`` clauses already in use; None if the draw fails."""
        number = min(max(self.clauses - spent, 0), MOST_CONDITIONS)
        return draw_conditions(self.dice, self.plan, self.rows, table, number, self.nesting)

    def draw_columns(self, table: str, most: int = 2) -> tuple[ColumnName, ...]:
        """Draw columns of a table to show, in random order."""
        free = [column for column, _ in self.columns(table)]
        found = []
        for _ in range(self.dice.between(1, most)):
            if free:
                found.append(self.dice.one(free))
                free.remove(found[-1])
        return tuple(found)

    def columns(self, table: str, kinds: Sequence[str] = (), nullable: bool = True) -> list[tuple[ColumnName, Field]]:
        """List the columns of a table that are of one of the kinds, or no links; without ``nullable``, only those that
        cannot be NULL."""
        return [
            (ColumnName(table, field.name), field)
            for field in self.plan.schema[table].fields
            if (field.kind in kinds if kinds else field.kind not in LINKS) and (nullable or not field.nullable)
        ]


@dataclass(frozen=True, slots=True)
class Construct:
    """A construct.

    Args:
        name: its name in ``constructs=``.
        draw: function from a request, and a query drawn for it if ``adds``, to a query with the construct; None if it
            does not fit.
        prepare: function that gives the plan what the construct needs; None if it does not fit.
        adds: True if the construct is added to a query, False if it is a query of its own.
    """

    name: str
    draw: Callable[[QueryRequest, Query | None], Query | None]
    prepare: Callable[[Dice, Plan], Plan | None] = lambda _, plan: plan
    adds: bool = False
