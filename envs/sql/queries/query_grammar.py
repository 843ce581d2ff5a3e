"""Draw queries on tables that fit together (`query_plans`).

`draw_query` draws one of five intents: rows, aggregates of all rows, aggregates of groups, aggregates for each row of a
parent (also for those without children), or a set operation on the values of a column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ...code.programs.dice import Dice
from ..databases.contents import Rows
from ..databases.relations import LINKS, Field
from .query_plans import Plan
from .query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    Condition,
    EitherOf,
    Expression,
    IsAmong,
    IsMissing,
    JoinTo,
    OneOf,
    OrderKey,
    Query,
    RankOver,
    SelectQuery,
    SetQuery,
    StartsWith,
    Within,
    YearOf,
    replace,
)

MOST_CONDITIONS = 3


def draw_query(dice: Dice, plan: Plan, rows: Rows, clauses: int, nesting: int) -> Query | None:
    """Draw a query on a plan. Return None if the draw fails.

    Args:
        dice: the random generator.
        plan: the plan with its tables.
        rows: contents of the database; conditions compare with their values.
        clauses: number of conditions, aggregates, groupings, sort keys, limits and similar clauses.
        nesting: depth of nested queries in its conditions.
    """
    return QueryDraft(dice, plan, rows).draw(clauses, nesting)


def draw_conditions(
    dice: Dice, plan: Plan, rows: Rows, table: str, number: int, nesting: int = 0
) -> tuple[Condition, ...] | None:
    """Draw conditions on the rows of one table, and one more with queries nested to a depth. Return None if the draw
    fails."""
    draft = QueryDraft(dice, Plan(plan.schema, table, ()), rows)
    query = draft.add_conditions(SelectQuery((), table), number, [table])
    nested = draft.draw_nested(table, nesting) if nesting and query else None
    if query is None or (nesting and nested is None):
        return None
    return (*query.where, *([nested] if nested else []))


class QueryDraft:
    """The state of drawing one query."""

    def __init__(self, dice: Dice, plan: Plan, rows: Rows):
        self.dice, self.schema, self.rows = dice, plan.schema, rows
        self.base, self.joins = plan.base, plan.joins
        self.outer = {join.column.table for join in self.joins if join.kind == "LEFT"}
        self.inner = [self.base, *(join.column.table for join in self.joins if join.kind == "INNER")]
        owners = {join.other.table for join in self.joins}
        # Tables at the ends of the joins: each must be used in the query, or its join would be superfluous.
        self.ends = [join.column.table for join in self.joins if join.column.table not in owners]
        self.taken: set[tuple[str, str]] = set()

    def draw(self, clauses: int, nesting: int) -> Query | None:
        dice = self.dice
        intents = [("rows", 3), ("aggregate", 2), ("groups", 3)]
        if self.joins and all(join.other.table != self.base for join in self.joins[1:]):
            intents.append(("parents", 2))
        if clauses >= 3 and not self.outer:
            intents.append(("set", 2))
        intent = dice.one([name for name, weight in intents for _ in range(weight)])
        if intent == "parents":
            return self._draw_parents(clauses, nesting)
        if intent == "set":
            return self._draw_set(clauses, nesting)
        query = getattr(self, f"_draw_{intent}")(clauses)
        if query is None or not nesting:
            return query
        nested = self.draw_nested(dice.one(self.inner), nesting)
        return nested and replace(query, where=(*query.where, nested))

    # Intents.

    def _draw_rows(self, clauses: int) -> SelectQuery | None:
        dice = self.dice
        columns: list[Expression] = [*self._pick_columns(self.base, dice.between(1, 2))]
        for table in self.ends:
            columns.insert(dice.below(len(columns) + 1), *self._pick_columns(table, 1))
        query = SelectQuery(tuple(columns), self.base, self.joins)
        left = clauses
        if left and dice.chance(0.2):
            query, left = replace(query, distinct=True), left - 1
        elif left > 1 and dice.chance(0.25) and (rank := self._draw_rank()):
            query, left = replace(query, columns=(*query.columns, rank)), left - 1
        if left and (left > MOST_CONDITIONS or dice.chance(0.4)):
            if query.distinct:
                order = [OrderKey(column, dice.chance(0.5)) for column in query.columns]
                order = order if not any(self._is_nullable(key.expression) for key in order) else []
            else:
                key = ColumnName(self.base, self.schema[self.base].key)
                order = [OrderKey(key, dice.chance(0.5))]
                if (free := self._find_columns(self.inner, nullable=False)) and dice.chance(0.85):
                    order = [OrderKey(dice.one(free), dice.chance(0.5)), OrderKey(key, dice.chance(0.7))]
            if order:
                query, left = replace(query, order=tuple(order)), left - 1
                ranks = isinstance(query.columns[-1], RankOver)
                if left and not ranks and (left > MOST_CONDITIONS or dice.chance(0.5)):
                    query, left = replace(query, limit=dice.between(1, 5)), left - 1
        return self.add_conditions(query, left, self.inner)

    def _draw_aggregate(self, clauses: int) -> SelectQuery | None:
        dice = self.dice
        number = min(3, max(1 + dice.chance(0.3), clauses - MOST_CONDITIONS))
        ends = list(self.ends)
        found: list[Expression] = []
        for _ in range(min(number, clauses)):
            one = self._draw_aggregate_of([ends.pop(0)] if ends else self.inner)
            if one and one not in found:
                found.append(one)
        query = SelectQuery(tuple(found), self.base, self.joins)
        query = self.add_conditions(query, clauses - len(found), self.inner, ends)
        return query if found else None

    def _draw_groups(self, clauses: int) -> SelectQuery | None:
        dice = self.dice
        ends = list(self.ends) or [self.base]
        group: list[ColumnName | YearOf] = []
        for table in ends:
            if not (free := [one for one in self._find_columns([table]) if not self._field(one).is_number]):
                return None
            column = dice.one(free)
            self.taken.add((table, column.name))
            group.append(YearOf(column) if self._field(column).kind == "date" else column)
        return self._finish_groups(SelectQuery((), self.base, self.joins, group=tuple(group)), clauses - 1, self.inner)

    def _draw_parents(self, clauses: int, nesting: int) -> SelectQuery | None:
        """Draw aggregates of the children of each row of a parent, rows without children included."""
        first = self.joins[0]
        parent, child = first.column.table, self.base
        outward = JoinTo("LEFT", first.other, first.column)
        self.outer = {child, *(join.column.table for join in self.joins[1:] if join.kind == "LEFT")}
        inner = [parent, *(join.column.table for join in self.joins[1:] if join.kind == "INNER")]
        self.inner = [child]
        columns: list[ColumnName | YearOf] = [ColumnName(parent, self.schema[parent].key)]
        columns += [self._pick_columns(table, 1)[0] for table in dict.fromkeys([parent, *self.ends])]
        query = SelectQuery((), parent, (*self.joins[1:], outward), group=tuple(columns))
        done = self._finish_groups(query, clauses - 1, inner)
        if done is None or not nesting:
            return done
        nested = self.draw_nested(parent, nesting)
        return nested and replace(done, where=(*done.where, nested))

    def _finish_groups(self, query: SelectQuery, left: int, inner: Sequence[str]) -> SelectQuery | None:
        """Add aggregates, and conditions on groups and rows, to a query with its grouping. COUNT counts rows of the
        base table."""
        dice = self.dice
        is_outer = self.base in self.outer
        counted = AggregateOf("COUNT", ColumnName(self.base, self.schema[self.base].key) if is_outer else None)
        found: list[Expression] = []
        first = counted if is_outer or dice.chance(0.5) else self._draw_aggregate_of(self.inner)
        found.append(first or counted)
        if left and (left > MOST_CONDITIONS + 2 or dice.chance(0.3)):
            second = self._draw_aggregate_of(self.inner)
            if second and second not in found:
                found.append(second)
                left -= 1
        query = replace(query, columns=(*query.group, *found))
        if left and dice.chance(0.35):
            query, left = replace(query, having=(self._draw_having(counted, found[-1]),)), left - 1
        steady = [key for key in query.group if not self._is_nullable(key)]
        if len(steady) == len(query.group) and left and (left > MOST_CONDITIONS or dice.chance(0.5)):
            # A parent's other columns depend on its key.
            ties = [OrderKey(key, dice.chance(0.7)) for key in (query.group[:1] if is_outer else query.group)]
            keys = [one for one in found if not self._is_nullable(one)]
            first_key = [OrderKey(dice.one(keys), dice.chance(0.6))] if keys else []
            query, left = replace(query, order=(*first_key, *ties)), left - 1
            if left and dice.chance(0.6):
                query, left = replace(query, limit=dice.between(1, 4)), left - 1
        return self.add_conditions(query, left, inner)

    def _draw_set(self, clauses: int, nesting: int) -> SetQuery | None:
        dice = self.dice
        first, *ends = self.ends or [self.base]
        steady = self._find_columns([first], nullable=False)
        if not (free := [one for one in steady if not self._field(one).is_number]):
            return None
        column = dice.one(free)
        self.taken.add((column.table, column.name))
        sides: list[SelectQuery] = []
        conditions = min(clauses - 1, 2 * MOST_CONDITIONS)
        ordered = conditions > 2 and dice.chance(0.5)
        conditions -= ordered
        for number in ((conditions + 1) // 2, conditions // 2):
            side = self.add_conditions(SelectQuery((column,), self.base, self.joins), number, self.inner, ends)
            if side is None:
                return None
            sides.append(side)
        if nesting:
            nested = self.draw_nested(self.base, nesting)
            if nested is None:
                return None
            sides[0] = replace(sides[0], where=(*sides[0].where, nested))
        operator = dice.one(("INTERSECT", "EXCEPT", "UNION"))
        return SetQuery(operator, sides[0], sides[1], ordered, dice.chance(0.5))

    # Parts.

    def _field(self, column: ColumnName) -> Field:
        return self.schema[column.table][column.name]

    def _find_columns(self, tables: Sequence[str], nullable: bool = True) -> list[ColumnName]:
        """List the columns of tables except keys; without ``nullable``, only columns that cannot be NULL."""
        fields = [(table, one) for table in tables for one in self.schema[table].fields if one.kind not in LINKS]
        steady = [(table, one) for table, one in fields if not (one.nullable or table in self.outer)]
        return [ColumnName(table, one.name) for table, one in (fields if nullable else steady)]

    def _find_free(self, tables: Sequence[str]) -> list[ColumnName]:
        """List the columns not yet used in the query."""
        return [one for one in self._find_columns(tables) if (one.table, one.name) not in self.taken]

    def _pick_columns(self, table: str, number: int) -> list[ColumnName]:
        free = self._find_columns([table])
        found = []
        while free and len(found) < number:
            found.append(self.dice.one(free))
            free.remove(found[-1])
        return found

    def _is_nullable(self, expression: Expression) -> bool:
        if isinstance(expression, AggregateOf):
            counts = expression.function == "COUNT"
            return not counts and (expression.column is None or self._is_nullable(expression.column))
        if isinstance(expression, RankOver):
            return False
        column = expression.column if isinstance(expression, YearOf) else expression
        return column.table in self.outer or self._field(column).nullable

    def _draw_rank(self) -> RankOver | None:
        dice = self.dice
        steady = self._find_columns(self.inner, nullable=False)
        numbers = [one for one in steady if self._field(one).is_number or self._field(one).kind == "date"]
        parts = [one for one in steady if self._field(one).kind in ("pick", "name")]
        partition = dice.one(parts) if parts else None
        return RankOver("RANK", dice.one(numbers), dice.chance(0.5), partition) if numbers else None

    def _draw_aggregate_of(self, tables: Sequence[str]) -> AggregateOf | None:
        dice = self.dice
        # Not the grouping columns.
        if not (columns := self._find_free(tables)):
            return None
        numbers = [one for one in columns if self._field(one).is_number]
        if numbers and dice.chance(0.6):
            return AggregateOf(dice.one(("SUM", "AVG", "MIN", "MAX")), dice.one(numbers))
        if tables == self.inner and self.base not in self.outer and dice.chance(0.5):
            return AggregateOf("COUNT")
        column = dice.one(columns)
        if self._field(column).kind == "date" and dice.chance(0.6):
            return AggregateOf(dice.one(("MIN", "MAX")), column)
        return AggregateOf("COUNT", column, not self._is_nullable(column) or dice.chance(0.5))

    def _draw_having(self, counted: AggregateOf, last: Any) -> Condition:
        dice = self.dice
        if isinstance(last, AggregateOf) and last.function in ("AVG", "SUM") and last.column and dice.chance(0.5):
            place = [field.name for field in self.schema[last.column.table].fields].index(last.column.name)
            if values := [row[place] for row in self.rows[last.column.table] if row[place] is not None]:
                return Compare(last, *dice.one(((">", dice.one(values)), (">=", dice.one(values)), ("<", max(values)))))
        return Compare(counted, *dice.one(((">=", 2), (">", 1), (">", 2), ("<", 3), ("<=", 2), ("=", 1))))

    def add_conditions(
        self, query: SelectQuery, number: int, tables: Sequence[str], first: Sequence[str] = ()
    ) -> SelectQuery | None:
        """Add conditions: one on each table in ``first``, then on ``tables``. Return None if this is impossible."""
        number = max(min(number, MOST_CONDITIONS), len(first))
        found: list[Condition] = []
        while number:
            table = first[len(found)] if len(found) < len(first) else self.dice.one(tables)
            if table in self.outer:
                return None
            if (condition := self._draw_condition(table)) is None:
                return None
            if number > 1 and not first and self.dice.chance(0.12):
                if (second := self._draw_condition(table)) is None:
                    return None
                condition, number = EitherOf(condition, second), number - 1
            found.append(condition)
            number -= 1
        return replace(query, where=(*query.where, *found))

    def _draw_condition(self, table: str) -> Condition | None:
        dice = self.dice
        if not (free := self._find_free([table])):
            return None
        column = dice.one(free)
        self.taken.add((table, column.name))
        field = self._field(column)
        place = [one.name for one in self.schema[table].fields].index(column.name)
        values = sorted({row[place] for row in self.rows[table] if row[place] is not None})
        if field.nullable and dice.chance(0.2):
            return IsMissing(column, dice.chance(0.5))
        if len(values) < 3:
            return None
        return dice.one(tuple(_conditions_on(dice, column, field, values)))

    def draw_nested(self, table: str, depth: int) -> Condition | None:
        dice = self.dice
        free = self._find_free([table])
        numbers = [one for one in free if self._field(one).is_number]
        dates = [one for one in free if self._field(one).kind == "date"]
        names = [one for one in free if self._field(one).kind == "name"]
        joined = {self.base, *(join.column.table for join in self.joins)}
        children = [one for one in self.schema.children(table) if one not in joined]
        ways = ["mean"] * (2 * bool(numbers)) + ["extreme"] * bool(numbers + dates)
        ways += ["shared"] * bool(names) + ["children"] * (4 * bool(children))
        if not ways:
            return None
        way = dice.one(ways)
        within = dice.one(children) if way == "children" else table
        if way != "children":
            column = dice.one({"mean": numbers, "extreme": numbers + dates, "shared": names}[way])
            self.taken.add((table, column.name))
        inner: Condition | None = None
        if depth > 1:
            inner = self.draw_nested(within, depth - 1)
        elif way == "shared" or (len(self.taken) < 6 and dice.chance(0.6)):
            inner = self._draw_condition(within)
        if inner is None and (depth > 1 or way == "shared"):
            return None
        where = (inner,) if inner else ()
        if way == "shared":
            return IsAmong(column, SelectQuery((column,), table, where=where))
        if way != "children":
            function = "AVG" if way == "mean" else dice.one(("MIN", "MAX"))
            operator = dice.one((">", "<", ">=")) if way == "mean" else "="
            return Compare(column, operator, SelectQuery((AggregateOf(function, column),), table, where=where))
        field = dice.one([field for field in self.schema[within].parents if table in field.values])
        key, reference = ColumnName(table, self.schema[table].key), ColumnName(within, field.name)
        negated = dice.chance(0.4)
        if negated and field.nullable:
            # A NULL among the values makes NOT IN unknown for all others.
            where = (IsMissing(reference, True), *where)
        return IsAmong(key, SelectQuery((reference,), within, where=where), negated)


def _conditions_on(dice: Dice, column: ColumnName, field: Field, values: Sequence[Any]) -> Iterator[Condition]:
    """Yield conditions on a column that hold for some but not all of the sorted ``values``."""
    place, half = dice.between(1, len(values) - 2), len(values) // 2
    if field.is_number or field.kind == "date":
        # More rows meet the condition than fail it.
        for operator in (">", ">="):
            yield Compare(column, operator, values[dice.between(1, half)])
        for operator in ("<", "<="):
            yield Compare(column, operator, values[dice.between(half, len(values) - 2)])
        low = dice.between(min(1, half - 1), half - 1)
        yield Within(column, values[low], values[dice.between(half, len(values) - 2)])
        if field.kind == "date" and values[0][:4] != values[-1][:4]:
            yield Compare(YearOf(column), "=", int(values[place][:4]))
        return
    if field.kind == "pick":
        yield Compare(column, "=", values[place])
    yield Compare(column, "<>", values[place])
    yield OneOf(column, (values[place], values[0]))
    if field.kind == "name":
        yield StartsWith(column, values[place][0])
