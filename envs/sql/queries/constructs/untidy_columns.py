"""The construct "dirty": columns keep their values untidily, and the query has to tidy them."""

from __future__ import annotations

from dataclasses import replace

from ....code.programs.dice import Dice
from ...databases.relations import Field
from ..query_plans import Plan
from ..query_tree import Query
from ..stored_columns import read_stored
from .construct import Construct, QueryRequest

# Columns of amounts of money.
_MONEY = (
    *("price", "list_price", "unit_cost", "unit_price", "pack_price", "cost", "charge", "fare", "tax", "amount", "fee"),
    *("fine", "tip", "wage", "allowance", "salary", "budget", "bonus"),
)
_UNITS = {"distance": "km", "altitude": "m", "area": "m2"}
# Numbers from this one on have a comma, and the smallest numbers that are years.
_THOUSAND, _YEARS = 1000, 1800
# Columns kept untidily, at most.
_MOST = 2


def list_forms(field: Field) -> list[str]:
    """List the forms in which a column may be kept, as for `Field.stored`."""
    found = []
    if field.kind == "pick" and all(value.islower() for value in field.values):
        found.append("case")
    if field.kind == "name":
        found.append("spaces")
    if field.kind == "date":
        found.append("dates")
    if field.kind == "int" and float(field.values[0]) < _YEARS and float(field.values[1]) > _THOUSAND:
        found.append(f"unit {_UNITS.get(field.name, '')}")
    if field.kind == "real" and field.name in _MONEY:
        found.append("currency EUR")
    if field.nullable and field.is_number:
        found.append("mark -1")
    if field.nullable and field.kind in ("name", "pick"):
        found += ["word N/A", "word ", "word -"]
    return found


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Keep one or two columns of the joined tables untidily."""
    tables = [plan.base, *(join.column.table for join in plan.joins)]
    schema = plan.schema
    for _ in range(dice.between(1, _MOST)):
        free: dict[str, list[tuple[str, Field, str]]] = {}
        for table in tables:
            for field in schema[table].fields:
                for form in () if field.stored else list_forms(field):
                    free.setdefault(form.split(" ")[0], []).append((table, field, form))
        if free:
            table, field, form = dice.one(free[dice.one(sorted(free))])
            schema = schema.with_field(table, replace(field, stored=form))
    return None if schema is plan.schema else Plan(schema, plan.base, plan.joins)


def _draw(request: QueryRequest, query: Query | None) -> Query | None:
    assert query is not None
    read = read_stored(query, request.plan.schema)
    return None if read == query else read


UNTIDY_COLUMNS = Construct("dirty", _draw, _prepare, adds=True)
