"""Draw tables that fit together: a domain, the joined tables of a query, and distracting tables and columns."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from ...code.programs.dice import Dice
from ..databases.domains import read_domains
from ..databases.relations import Schema
from ..databases.table_choice import choose_domain, choose_tables
from .query_tree import ColumnName, JoinTo


@dataclass(frozen=True)
class Plan:
    """The database of a task, and the joined tables of its query: each of ``joins`` leads from a child to its
    parent."""

    schema: Schema
    base: str
    joins: tuple[JoinTo, ...]


def draw_plan(dice: Dice, joins: int, tables: int, noise: int, among: Sequence[str] = ()) -> Plan:
    """Draw a plan.

    Args:
        joins: number of tables joined to the first one.
        tables: number of further tables of the database.
        noise: number of spare columns, or all if the domain has fewer.
        among: domains to choose from; empty for all.
    """
    size = joins + 1 + tables
    domain = choose_domain(dice, joins, size, among)
    base = dice.one([name for name in domain.names if len(domain.ancestors(name)) >= joins])
    used, links = [base], []
    while len(links) < joins:
        owner, field = dice.one(
            [(owner, f) for owner in used for f in domain[owner].parents if f.values[0] not in used]
        )
        is_outer = any(link.column.table == owner and link.kind == "LEFT" for link in links)
        kind = "LEFT" if is_outer or (field.nullable and dice.chance(0.5)) else "INNER"
        used.append(field.values[0])
        links.append(JoinTo(kind, ColumnName(used[-1], domain[used[-1]].key), ColumnName(owner, field.name)))
    domain, names = choose_tables(dice, domain, used, size)
    spare = [(one.name, f.name) for one in domain.relations if one.name in names for f in one.fields if f.spare]
    kept: list[tuple[str, str]] = []
    while spare and len(kept) < noise:
        own = [place for place in spare if place[0] in used]
        kept.append(dice.one(own or spare))
        spare.remove(kept[-1])
    return Plan(domain.select(names, kept), base, tuple(links))


def extend_plan(plan: Plan, names: Collection[str]) -> Schema:
    """Make the schema of a plan with further tables of its domain."""
    domain = find_domain(plan)
    spare = [(one.name, field.name) for one in plan.schema.relations for field in one.fields if field.spare]
    own = domain.select({*plan.schema.names, *names}, spare)
    others = [one for one in plan.schema.relations if one.name not in domain.names]
    return replace(own, relations=(*own.relations, *others), commented=plan.schema.commented)


def find_domain(plan: Plan) -> Schema:
    """Return the domain of a plan, with all its tables."""
    return next(one for one in read_domains() if one.domain == plan.schema.domain)
