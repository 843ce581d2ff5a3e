"""The construct "view": the schema has a view, through which a question is asked, or by which it must not be misled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from types import MappingProxyType
from typing import Any

from ....code.programs.dice import Dice
from ...databases.contents import format_literal, list_values
from ...databases.relations import Field, Schema, View
from ..query_grammar import draw_query
from ..query_plans import Plan, extend_plan, find_domain
from ..query_tree import ColumnName, Condition, Query, SelectQuery, WholeQuery, replace
from ..question_notes import with_article
from .construct import Construct, QueryRequest
from .superior_pairs import KEPT

_NAMES = ("main", "reported", "checked", "open", "selected")
# Columns of a view with totals.
_COUNT, _SUM = "number", "total"


@dataclass(frozen=True, slots=True)
class TotalsThroughView(WholeQuery):
    """For each row of a table, a total of its children from a view that has a row for each parent with children; or,
    where the view leaves out some children, from the children's table.

    Args:
        table: the parents' table.
        columns: columns to show.
        where: conditions on the parents.
        totals: the view's name.
        child: the children's table.
        column: the summed column; None for the number of children.
        through: True if the view counts all children.
        compared: ">" or "<" to keep parents whose number of children differs so from the average over the view's rows.
        form: "left"; in near misses also "inner" (parents with children only), "null" (NULL or 0 for the other), "all"
            (the average over all parents) and "different" (an aggregate of different values).
    """

    table: str
    columns: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    totals: str
    child: str
    column: ColumnName | None
    through: bool
    compared: str = ""
    form: str = "left"

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        shown = ", ".join(column.sql() for column in self.columns)
        link = f"{self.table}_id"
        if self.through:
            value = f"{self.totals}.{_SUM if self.column else _COUNT}"
            value = f"COALESCE({value}, 0)" if (self.column is None) == (self.form != "null") else value
            join = "JOIN" if self.form == "inner" else "LEFT JOIN"
            source = f"{self.table} {join} {self.totals} ON {self.totals}.{link} = {self.table}.{link}"
            number = f"{self.totals}.{_COUNT}"
            mean = f"(SELECT AVG({'DISTINCT ' * (self.form == 'different')}{_COUNT}) FROM {self.totals})"
            if self.form == "all":
                mean = f"(SELECT SUM({_COUNT}) * 1.0 / (SELECT COUNT(*) FROM {self.table}) FROM {self.totals})"
            more = [f"{number} {self.compared} {mean}"] if self.compared else []
        else:
            distinct = "DISTINCT " * (self.form == "different")
            value = f"SUM({distinct}{self.column.sql()})" if self.column else "COUNT(*)"
            value = f"(SELECT {value} FROM {self.child} WHERE {self.child}.{link} = {self.table}.{link})"
            value = f"COALESCE({value}, 0)" if self.form == "null" else value
            source, more = self.table, []
            if self.form == "inner":
                more = [f"{self.table}.{link} IN (SELECT {link} FROM {self.child})"]
        return f"SELECT {shown}, {value} FROM {source}{self.write_where(*more)}"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        if not self.compared:
            yield "join", replace(self, form="inner")
            if self.through or self.column:
                yield "null", replace(self, form="null")
            if not self.through:
                yield "view", replace(self, through=True)
                if self.column:
                    yield "aggregate", replace(self, form="different")
            return
        yield "condition", replace(self, compared="")
        yield "comparison", replace(self, compared={">": "<", "<": ">"}[self.compared])
        yield "comparison", replace(self, compared=f"{self.compared}=")
        yield "view", replace(self, form="all")
        yield "aggregate", replace(self, form="different")

    def ask(self, writer: Any) -> list[str]:
        shown = [writer.name(column, "its") for column in self.columns]
        children = writer.plural(self.child)
        its = f"all {children} that refer to it" if writer.named else f"all its {children}"
        if self.column is None:
            shown.append(f"the number of {its}")
        else:
            shown.append(f"the sum of {'' if writer.named else 'the '}{writer.name(self.column, '')} of {its}")
        one = writer.singular(self.table)
        main = one + writer.main_clauses(self, "its")
        found = [f"For every {main}, give {writer.join(shown)}."]
        if self.compared:
            more = {">": "more than", "<": "less than"}[self.compared]
            found.append(
                f"Keep only those that have a row in the view {self.totals} whose {_COUNT} is {more} the average "
                f"{_COUNT} of all rows of that view."
            )
        else:
            found.append(f"{with_article(one).capitalize()} with none of these {children} is listed as well.")
        return [*found, KEPT]

    def steps(self) -> list[str]:
        if not self.through:
            source = [f"The view {self.totals} leaves out rows that count, so take the table {self.child}."]
        else:
            source = [f"The view {self.totals} has the totals of each row of {self.table} with any {self.child}."]
            if not self.compared:
                source.append("Rows without any have no row in the view: join it from the left.")
        return [
            f"The rows come from the table {self.table}.",
            *source,
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
            *([f"Keep rows whose {_COUNT} is {self.compared} its average over the view."] if self.compared else []),
        ]


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Add a view with some rows of the query's table, or with totals of children."""
    if dice.chance(0.5):
        return _add_totals(dice, plan)
    relation = plan.schema[plan.base]
    table, kept = relation.name, _draw_filter(dice, relation.fields)
    if kept is None:
        return None
    condition, column = kept
    name = f"{dice.one(_NAMES)}_{relation.plural.replace(' ', '_')}"
    view = View(name, table, f"SELECT * FROM {table} WHERE {condition}", (column,))
    return Plan(replace_fields(plan.schema, views=(view,)), table, plan.joins)


def _draw_filter(dice: Dice, fields: tuple[Field, ...]) -> tuple[str, str] | None:
    """Draw a condition that some values of a column meet; also return the column."""
    free = [field for field in fields if field.kind in ("int", "real", "date", "pick")]
    if not free:
        return None
    field = dice.one(free)
    values = list_values(field)
    if field.kind == "pick":
        return f"{field.name} {dice.one(('=', '<>'))} {format_literal(values[0])}", field.name
    return f"{field.name} {dice.one(('>=', '<'))} {format_literal(values[len(values) * 2 // 5])}", field.name


def _add_totals(dice: Dice, plan: Plan) -> Plan | None:
    """Add a view with the number of children of each row, and perhaps their sum; sometimes only of some children."""
    domain = find_domain(plan)
    parents = [table for table in domain.names if domain.children(table)]
    table = dice.one([one for one in parents if one in plan.schema.names] or parents)
    child = dice.one(domain.children(table))
    schema = extend_plan(plan, {table, child})
    relation, link = schema[child], f"{table}_id"
    numbers = [field.name for field in relation.fields if field.is_number]
    total = f", SUM({dice.one(numbers)}) AS {_SUM}" if numbers else ""
    kept = _draw_filter(dice, relation.fields) if dice.chance(0.4) else None
    where = f" WHERE {link} IS NOT NULL" if relation[link].nullable else ""
    if kept:
        where = f"{where} AND {kept[0]}" if where else f" WHERE {kept[0]}"
    text = f"SELECT {link}, COUNT(*) AS {_COUNT}{total} FROM {child}{where} GROUP BY {link}"
    columns = (link, *re.findall(r"SUM\((\w+)\)", total), *(kept[1:] if kept else ()))
    view = View(f"{table}_{relation.plural.replace(' ', '_')}", child, text, columns)
    return Plan(replace_fields(schema, views=(view,)), table, ())


def _draw(request: QueryRequest, _: Query | None) -> Query | None:
    dice, plan, (view,) = request.dice, request.plan, request.plan.schema.views
    if " GROUP BY " not in view.query:
        query = draw_query(dice, plan, request.rows, request.clauses, request.nesting)
        words = set(re.findall(r"\w+", query.sql())) if query else set()
        if not isinstance(query, SelectQuery) or query.table != view.table or view.columns[0] in words:
            # A condition on the view's own column might leave nothing that the view changes.
            return None
        return replace(query, view=view.name if dice.chance(0.6) else "")
    table = plan.base
    shown, where = request.draw_columns(table), request.draw_conditions(table)
    if where is None or not shown:
        return None
    summed = re.findall(r"SUM\((\w+)\)", view.query)
    column = ColumnName(view.table, summed[0]) if summed and dice.chance(0.5) else None
    through = len(view.columns) == 1 + len(summed)
    compared = dice.one((">", "<")) if through and dice.chance(0.35) else ""
    return TotalsThroughView(table, shown, where, view.name, view.table, column, through, compared)


SCHEMA_VIEWS = Construct("view", _draw, _prepare)
