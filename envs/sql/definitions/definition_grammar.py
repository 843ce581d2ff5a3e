"""Draw changes of schemas, with contents that keep the new rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ...code.programs.dice import Dice
from ..databases.contents import Rows, format_literal, list_values, read_pool
from ..databases.relations import Field, Schema, TableSchema
from ..queries.query_grammar import draw_query
from ..queries.query_plans import Plan
from ..queries.query_tree import AggregateOf, ColumnName, Query, YearOf, is_ordered_query
from .definition import Definition
from .table_design import ColumnDesign, TableDesign, design_column, design_of

KINDS = ("drop", "rename", "add", "create", "rule", "split", "view")
_DRAWS = 30


class DefinitionDraft:
    """The state of drawing one change of a schema.

    Args:
        dice: the random generator.
        plan: the plan; nothing refers to its base table.
        contents: rows of several databases; those that break a new rule are removed or changed.
        actions: True if the engine has delete actions.
    """

    def __init__(self, dice: Dice, plan: Plan, contents: list[Rows], actions: bool):
        self.dice, self.schema, self.contents, self.actions = dice, plan.schema, contents, actions
        self.relation: TableSchema = plan.schema[plan.base]
        self.design = design_of(self.relation)

    def draw(self, kind: str, rules: int) -> Definition | None:
        """Draw a change of a kind other than "view". Return None if the draw fails."""
        return getattr(self, f"_draw_{kind}")(rules)

    def _draw_create(self, rules: int) -> Definition | None:
        before = Schema(self.schema.domain, tuple(one for one in self.schema.relations if one is not self.relation))
        for rows in self.contents:
            del rows[self.relation.name]
        table = self._add_rules(self.design, rules, False)[0]
        return Definition("create", before, table) if before.relations and table else None

    def _draw_rule(self, rules: int) -> Definition | None:
        table, filled = self._add_rules(self.design, rules, True)
        if table is None:
            return None
        sources = tuple(
            f"COALESCE({name}, {format_literal(filled[1])})" if filled and name == filled[0] else name
            for name in table.names
        )
        return Definition("rule", self.schema, table, table.name, sources, filled=filled)

    def _draw_add(self, rules: int) -> Definition | None:
        dice = self.dice
        fields = [field for field in self.relation.fields if field.kind not in ("key", "parent")]
        if len(fields) < 2:
            return None
        field = dice.one(fields)
        kept = replace(self.relation, fields=tuple(one for one in self.relation.fields if one is not field))
        place = self.relation.fields.index(field)
        for rows in self.contents:
            rows[kept.name] = [(*row[:place], *row[place + 1 :]) for row in rows[kept.name]]
        relations = tuple(kept if one is self.relation else one for one in self.schema.relations)
        before = Schema(self.schema.domain, relations)
        column, value = replace(design_column(field), required=False), None
        for rule in self._shuffle(self._rules_of(column, field, ("default", "low", "among")))[: rules - 1]:
            column = rule
        if dice.chance(0.6) or (rules > 1 and column.default is None):
            value = self._allowed_value(column, field)
            column = replace(column, required=dice.chance(0.7))
            if column.default is not None and dice.chance(0.6):
                value = column.default
        table = design_of(kept)
        table = replace(table, columns=(*table.columns, column))
        sources = (*table.names[:-1], format_literal(value))
        filled = None if value is None else (column.name, value)
        return Definition("add", before, table, table.name, sources, filled=filled)

    def _draw_rename(self, rules: int) -> Definition | None:
        dice = self.dice
        columns = [one for one in self.design.columns if not one.parent]
        if not columns:
            return None
        names = {one.name: one.name for one in self.design.columns}
        for one in self._shuffle(columns)[: min(rules, 2)]:
            names[one.name] = dice.one(("{table}_{name}", "{name}_value", "old_{name}")).format(
                table=self.design.name, name=one.name
            )
        renamed = rules > 2 or (rules == 1 and dice.chance(0.4))
        if rules == 1 and renamed:
            names = {one.name: one.name for one in self.design.columns}
        name = dice.one(("{}_record", "{}_entry", "past_{}")).format(self.design.name) if renamed else self.design.name
        changed = tuple(replace(one, name=names[one.name]) for one in self.design.columns)
        table = replace(self.design, name=name, columns=changed)
        return Definition("rename", self.schema, table, self.design.name, self.design.names)

    def _draw_drop(self, rules: int) -> Definition | None:
        free = [one.name for one in self.design.columns if not one.parent]
        if (rules == 1 and self.dice.chance(0.4)) or not free:
            return Definition("drop", self.schema, None, self.design.name)
        gone = self._shuffle(free)[: min(rules, 3)]
        table = replace(self.design, columns=tuple(one for one in self.design.columns if one.name not in gone))
        return Definition("drop", self.schema, table, table.name, table.names)

    def _draw_split(self, rules: int) -> Definition | None:
        free = [field for field in self.relation.fields if field.kind not in ("key", "parent")]
        if not free:
            return None
        nullable = [field for field in free if field.nullable]
        field = self.dice.one(nullable or free)
        moved = replace(design_column(field), required=True)
        for rule in self._shuffle(self._rules_of(moved, field, ("low", "among")))[: rules - 1]:
            moved = rule
        table = replace(self.design, columns=tuple(one for one in self.design.columns if one.name != field.name))
        name = f"{self.design.name}_{field.name}"
        part = TableDesign(name, self.design.key, (moved,), key_parent=self.design.name)
        return Definition("split", self.schema, table, table.name, table.names, part)

    # Rules.

    def _add_rules(
        self, design: TableDesign, number: int, existing: bool
    ) -> tuple[TableDesign | None, tuple[str, Any] | None]:
        """Add rules to a design, and make the contents keep them if the table exists. Return the design, or None if
        there are too few rules, and the column with the value to replace NULL by."""
        filled = None
        for _ in range(number):
            found: list[tuple[TableDesign, tuple[str, Any] | None]] = []
            for place, column in enumerate(design.columns):
                field = self.relation[column.name]
                kinds = ["default", "low", "among", "unique", "action"]
                for rule in self._rules_of(column, field, kinds):
                    if rule.unique > column.unique and any(column.name in pair for pair in design.pairs):
                        continue
                    found.append((_with_column(design, place, rule), filled))
                if not column.required and column.action != "SET NULL" and not column.parent and not filled:
                    value = self._allowed_value(column, field) if existing else None
                    if not existing or not column.unique:
                        changed = replace(column, required=True)
                        found.append((_with_column(design, place, changed), (column.name, value) if existing else None))
            free = [one.name for one in design.columns if one.required and not one.unique and one.kind != "real"]
            taken = {name for pair in design.pairs for name in pair}
            for first in free:
                for second in free[free.index(first) + 1 :]:
                    if not taken & {first, second}:
                        found.append((replace(design, pairs=(*design.pairs, (first, second))), filled))
            if not found:
                return None, None
            design, filled = self.dice.one(found)
        if existing:
            self._keep_rules(design, filled)
        return design, filled

    def _rules_of(self, column: ColumnDesign, field: Field, kinds: Sequence[str]) -> Iterator[ColumnDesign]:
        """Yield the column with one of the rules of some kinds that it does not have."""
        dice = self.dice
        if "default" in kinds and column.default is None and field.kind in ("int", "real", "pick"):
            yield replace(column, default=self._allowed_value(column, field))
        if "low" in kinds and column.low is None and field.is_number:
            held = self._held(field.name)
            low = min(held) if held else dice.one(list_values(field)[:3])
            if column.default is None or column.default >= low:
                yield replace(column, low=low)
        if "among" in kinds and not column.among and field.kind == "pick":
            yield replace(column, among=field.values)
        can_differ = field.kind in ("name", "date", "parent") and column.required and column.default is None
        if "unique" in kinds and can_differ and not column.unique:
            yield replace(column, unique=True)
        if "action" in kinds and self.actions and column.parent and not column.action:
            yield replace(column, action="CASCADE")
            if not column.required:
                yield replace(column, action="SET NULL")

    def _allowed_value(self, column: ColumnDesign, field: Field) -> Any:
        values: list[Any] = list(read_pool(field.values[0]) if field.kind == "name" else list_values(field))
        low = column.low
        return self.dice.one(values if low is None else [one for one in values if one >= low])

    def _held(self, name: str) -> list[Any]:
        """Return the values of a column of the base table in all contents."""
        if self.relation.name not in self.contents[0] or name not in [one.name for one in self.relation.fields]:
            return []
        place = [one.name for one in self.relation.fields].index(name)
        tables = [rows[self.relation.name] for rows in self.contents]
        held = [row[place] for rows in tables for row in rows if len(row) == len(self.relation.fields)]
        return [value for value in held if value is not None]

    def _keep_rules(self, design: TableDesign, filled: tuple[str, Any] | None) -> None:
        """Remove the rows that repeat what must be unique."""
        places = {name: place for place, name in enumerate(design.names)}
        unique = [(one.name,) for one in design.columns if one.unique] + list(design.pairs)
        for rows in self.contents:
            seen: set[Any] = set()
            kept = []
            for row in rows[design.name]:
                values = [
                    filled[1] if filled and name == filled[0] and row[place] is None else row[place]
                    for name, place in places.items()
                ]
                held = {(names, *(values[places[name]] for name in names)) for names in unique}
                if not held & seen:
                    seen |= held
                    kept.append(row)
            rows[design.name] = kept

    def _shuffle(self, items: Sequence[Any] | Iterator[Any]) -> list[Any]:
        left, found = list(items), []
        while left:
            found.append(left.pop(self.dice.below(len(left))))
        return found


def draw_view(dice: Dice, plan: Plan, rows: Rows, clauses: int) -> tuple[Query, tuple[str, ...]] | None:
    """Draw the query of a view, whose rows have no order, and the names of its columns. None if the draw fails."""
    for _ in range(_DRAWS):
        query = draw_query(dice, plan, rows, clauses, 0)
        if query and not is_ordered_query(query) and getattr(query, "limit", None) is None:
            columns = getattr(query, "columns", None) or query.left.columns  # type: ignore[union-attr]
            names: list[str] = []
            for one in columns:
                name = _name_column(one)
                names.append(f"{name}_{len(names) + 1}" if name in names else name)
            return query, tuple(names)
    return None


def _name_column(one: Any) -> str:
    if isinstance(one, ColumnName):
        return f"{one.table}_{one.name}" if one.name in ("name", "title", "city") else one.name
    if isinstance(one, YearOf):
        return f"{one.column.name}_year"
    if isinstance(one, AggregateOf):
        words = {"COUNT": "number", "SUM": "total", "AVG": "average", "MIN": "lowest", "MAX": "highest"}
        return f"{words[one.function]}_{one.column.name if one.column else 'rows'}"
    return "place"


def _with_column(design: TableDesign, place: int, column: ColumnDesign) -> TableDesign:
    return replace(design, columns=(*design.columns[:place], column, *design.columns[place + 1 :]))
