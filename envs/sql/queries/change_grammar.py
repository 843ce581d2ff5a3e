"""Draw changes of a database: rows inserted, updated, deleted, copied, computed from other tables, or stored by key.

The conditions on the rows are those of `query_grammar`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from ...code.programs.dice import Dice
from ..databases.contents import Rows, list_values, read_pool
from ..databases.relations import Field, TableSchema
from .change_tree import (
    CaseValue,
    Change,
    ChildTotal,
    DeleteRows,
    GivenValue,
    InsertSelected,
    InsertValues,
    ParentValue,
    SetColumn,
    Shifted,
    Step,
    UpdateRows,
    Value,
)
from .query_grammar import QueryDraft
from .query_plans import Plan, draw_plan
from .query_tree import AggregateOf, ColumnName, SelectQuery, replace

KINDS = ("insert", "upsert", "update", "delete", "cascade", "copy", "compute")
# Draws of a plan before its kind is given up.
_PLANS = 200
# Keys of new rows start behind this one, and keys of copies are higher by that much than those of their rows.
NEW_KEYS, COPIED_KEYS = 100, 1000
# Keys that every table has in all contents.
_OLD_KEYS = 3
_SUBTLE = (2, 3, 5, 10)
# Values from this one on are years, which are not multiplied.
_YEARS = 1800


def draw_change_plan(dice: Dice, params: dict[str, Any], domains: Sequence[str]) -> Plan | None:
    """Draw a plan whose base table allows the kind of change; None if there is none. All its joins are inner ones."""
    kind = params["kind"]
    tables = max(params["tables"], 1) if kind == "cascade" else params["tables"]
    joins = 0 if kind in ("insert", "upsert") else params["joins"]
    for _ in range(_PLANS):
        plan = draw_plan(dice, joins, tables + params["joins"] - joins, params["noise"], domains)
        children = plan.schema.children(plan.base)
        if kind == "delete" and children:
            continue
        if kind == "cascade" and (not children or any(plan.schema.children(one) for one in children)):
            continue
        return Plan(plan.schema, plan.base, tuple(replace(join, kind="INNER") for join in plan.joins))
    return None


def draw_change(dice: Dice, plan: Plan, rows: Rows, params: dict[str, Any]) -> Change | None:
    """Draw a change on a plan. Return None if the draw fails.

    Args:
        dice: the random generator.
        plan: the plan, as `draw_change_plan` returns it.
        rows: contents of the database; conditions compare with their values.
        params: "kind", "steps", "clauses" and "nesting" of the task.
    """
    first = _ChangeDraft(dice, plan, rows).draw_step(params["kind"], params["clauses"], params["nesting"])
    if first is None:
        return None
    steps = [first]
    while len(steps) < params["steps"]:
        # Further changes concern the same table, or another one.
        base = plan.base if dice.chance(0.5) else dice.one(plan.schema.names)
        kinds = ["insert", "update", "update"] + ["delete"] * (not plan.schema.children(base))
        other = Plan(plan.schema, base, ())
        step = _ChangeDraft(dice, other, rows, 10 * len(steps)).draw_step(dice.one(kinds), 1, 0)
        if step is None or step in steps:
            return None
        steps.append(step)
    return Change(tuple(steps))


class _ChangeDraft(QueryDraft):
    """The state of drawing one step."""

    def __init__(self, dice: Dice, plan: Plan, rows: Rows, shift: int = 0):
        super().__init__(dice, plan, rows)
        self.first_key = NEW_KEYS + 1 + shift + dice.below(5)
        self.table: TableSchema = plan.schema[plan.base]
        self.key = ColumnName(plan.base, self.table.key)

    def draw_step(self, kind: str, clauses: int, nesting: int) -> Step | None:
        if kind in ("insert", "upsert"):
            return self._draw_rows_in_words(self.table, clauses, kind == "upsert")
        query = SelectQuery((self.key,), self.base, self.joins)
        rows = self.add_conditions(query, clauses, self.inner, self.ends)
        if rows and nesting:
            nested = self.draw_nested(self.dice.one(self.inner), nesting)
            rows = nested and replace(rows, where=(*rows.where, nested))
        if not rows:
            return None
        if kind == "cascade":
            return self._draw_cascade(rows)
        return getattr(self, f"_draw_{kind}")(rows) if kind != "delete" else DeleteRows(rows)

    def _draw_update(self, rows: SelectQuery) -> Step | None:
        fields = self._own_fields()
        found = []
        while fields and len(found) < 1 + (len(fields) > 1 and self.dice.chance(0.4)):
            field = self.dice.one(fields)
            fields.remove(field)
            column = ColumnName(self.base, field.name)
            number = field.is_number and self.dice.chance(0.5)
            found.append(SetColumn(column, self._shift(column, field) if number else self._constant(field)))
        return UpdateRows(tuple(found), rows) if found else None

    def _draw_cascade(self, rows: SelectQuery) -> Step | None:
        links = [
            (ColumnName(one.name, field.name), field.nullable)
            for one in self.schema.relations
            for field in one.parents
            if self.base in field.values
        ]
        # The rows to delete must not depend on the rows that refer to them, which go first.
        words = set(re.findall(r"\w+", rows.sql()))
        if any(link.table in words for link, _ in links):
            return None
        cleared = [link for link, nullable in links if nullable and self.dice.chance(0.5)]
        return DeleteRows(rows, tuple(link for link, _ in links if link not in cleared), tuple(cleared))

    def _draw_copy(self, rows: SelectQuery) -> Step | None:
        dice = self.dice
        children = [one for one in self.schema.relations if any(self.base in field.values for field in one.parents)]
        target = dice.one(children) if children and dice.chance(0.6) else self.table
        columns, values = [target.key], list[Value]([Shifted(self.key, "+", COPIED_KEYS)])
        for field in target.fields[1:]:
            same = [one for one in self.table.fields[1:] if self._fits(one, field)]
            value: Value
            if target is self.table:
                # A copy differs in some columns.
                kept = field.kind == "parent" or dice.chance(0.6)
                value = ColumnName(self.base, field.name) if kept else self._constant(field)
            elif field.kind == "parent" and self.base in field.values:
                value = self.key
            elif field.kind == "parent":
                shared = [one for one in self.table.parents if one.values == field.values]
                usable = shared and (field.nullable or not shared[0].nullable)
                known = None if field.nullable and dice.chance(0.3) else dice.between(1, _OLD_KEYS)
                value = ColumnName(self.base, shared[0].name) if usable else GivenValue(known)
            elif same and dice.chance(0.7):
                value = ColumnName(self.base, dice.one(same).name)
            else:
                value = self._constant(field)
            if not (isinstance(value, GivenValue) and value.value is None):
                columns.append(field.name)
                values.append(value)
        return InsertSelected(target.name, tuple(columns), tuple(values), rows)

    def _draw_compute(self, rows: SelectQuery) -> Step | None:
        dice = self.dice
        found: list[SetColumn] = []
        for field in self._own_fields():
            column = ColumnName(self.base, field.name)
            for link in self.table.parents:
                parent = self.schema[link.values[0]]
                for one in parent.fields[1:]:
                    steady = not (one.nullable or link.nullable)
                    if self._fits(one, field, steady or field.nullable):
                        value = ParentValue(ColumnName(parent.name, one.name), ColumnName(self.base, link.name))
                        found.append(SetColumn(column, value))
            found += [SetColumn(column, value) for value in self._totals(field)]
            if field.is_number or field.kind == "pick":
                condition = self._draw_condition(self.base)
                if condition:
                    first, second = self._constant(field, True), self._constant(field, True)
                    other = column if dice.chance(0.4) else second
                    if first != second:
                        found.append(SetColumn(column, CaseValue(condition, first, other)))
        ways = sorted({type(one.value).__name__ for one in found})
        if not ways:
            return None
        way = dice.one(ways)
        return UpdateRows((dice.one([one for one in found if type(one.value).__name__ == way]),), rows)

    def _totals(self, field: Field) -> list[ChildTotal]:
        """List the aggregates over the rows that refer to a row which a column can hold."""
        found = []
        for name in self.schema.children(self.base):
            link = next(one for one in self.schema[name].parents if self.base in one.values)
            reference = ColumnName(name, link.name)
            if field.kind in ("int", "real"):
                found.append(ChildTotal(AggregateOf("COUNT"), reference, self.key))
            for one in self.schema[name].fields[1:]:
                if field.nullable and self._fits(one, field) and one.kind in ("int", "real", "date"):
                    for function in ("MIN", "MAX", "SUM")[: 2 if one.kind == "date" else 3]:
                        total = AggregateOf(function, ColumnName(name, one.name))
                        found.append(ChildTotal(total, reference, self.key))
        return found

    def _draw_rows_in_words(self, table: TableSchema, number: int, upsert: bool) -> Step:
        dice = self.dice
        # One column that may be NULL is left out, if there is one.
        free = [field.name for field in table.fields if field.nullable]
        left_out = dice.one(free) if free and (upsert or dice.chance(0.5)) else ""
        fields = [field for field in table.fields if field.name != left_out]
        number = max(number, 2) if upsert else number
        old = dice.below(number) if upsert else -1
        rows = []
        for place in range(number):
            key = dice.between(1, _OLD_KEYS) if place == old else self.first_key + place
            values = [
                dice.between(1, _OLD_KEYS) if field.kind == "parent" else self._constant(field).value
                for field in fields[1:]
            ]
            rows.append((key, *values))
        names = tuple(field.name for field in fields)
        return InsertValues(table.name, names, tuple(rows), names[1:] if upsert else ())

    # Parts.

    def _own_fields(self) -> list[Field]:
        return [field for field in self.table.fields if field.kind not in ("key", "parent")]

    def _fits(self, source: Field, field: Field, nullable: bool | None = None) -> bool:
        """Return True if a column can hold the values of another one."""
        kinds = {"name": "text", "pick": "text", "int": "int", "real": "real", "date": "date"}
        allowed = field.nullable or not source.nullable if nullable is None else nullable
        return allowed and source.kind in kinds and kinds[source.kind] == kinds.get(field.kind)

    def _constant(self, field: Field, known: bool = False) -> GivenValue:
        """Draw a value of a column; NULL at times, unless ``known``."""
        if field.nullable and not known and self.dice.chance(0.25):
            return GivenValue(None)
        if field.kind == "parent":
            return GivenValue(self.dice.between(1, _OLD_KEYS))
        values = read_pool(field.values[0]) if field.kind == "name" else list_values(field)
        return GivenValue(self.dice.one(values))

    def _shift(self, column: ColumnName, field: Field) -> Shifted:
        dice = self.dice
        if float(field.values[1]) < _YEARS and dice.chance(0.3):
            return Shifted(column, "*", 2)
        amount = dice.one(_SUBTLE) if field.kind == "int" else dice.one((0.5, 1.5, *_SUBTLE))
        return Shifted(column, dice.one("+-"), amount)
