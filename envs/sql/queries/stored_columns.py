"""Columns that keep their values untidily: queries read them through the SQL of their form (`stored_forms`)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..databases.relations import Schema
from ..databases.stored_forms import StoredForm, find_form
from .query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    IsMissing,
    OneOf,
    Query,
    RankOver,
    SelectQuery,
    StartsWith,
    Within,
    YearOf,
    column_of,
    replace,
    rewrite,
    walk,
)


@dataclass(frozen=True, slots=True)
class StoredColumn(ColumnName):
    """A column whose values are kept in the form ``stored``, with the SQL that tidies them; in near misses with the
    form's wrong SQL number ``wrong``, from 1 on."""

    stored: str
    wrong: int = 0

    @property
    def form(self) -> StoredForm:
        return find_form(self.stored)

    def sql(self, qualified: bool = True) -> str:
        form = self.form
        text = form.wrong[self.wrong - 1] if self.wrong else form.clean
        return text.replace("{}", f"{self.table}.{self.name}" if qualified else self.name)

    def year(self, qualified: bool = True) -> str:
        return f"CAST(SUBSTR({self.sql(qualified)}, 1, 4) AS INTEGER)"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield the ways to read the column wrongly."""
        for wrong in range(1, len(self.form.wrong) + 1):
            yield "cleaning", replace(self, wrong=wrong)


def read_stored(query: Query, schema: Schema) -> Query:
    """Read the columns that a schema keeps untidily through their forms, everywhere in a query."""

    def change(node: Any) -> Any:
        stored = schema[node.table][node.name].stored if type(node) is ColumnName else ""
        return StoredColumn(node.table, node.name, stored) if stored else node

    return rewrite(query, change)


def as_meant(query: Any) -> Any:
    """Return a query, or a part of it, as if its columns kept their values tidily."""
    return rewrite(query, lambda node: ColumnName(node.table, node.name) if isinstance(node, StoredColumn) else node)


def list_stored(query: Query) -> list[StoredColumn]:
    """List the columns of a query that are kept untidily, each once."""
    return list(dict.fromkeys(node for node in walk(query) if isinstance(node, StoredColumn)))


def read_wrongly(query: Query, schema: Schema) -> Iterator[Query]:
    """Yield the queries that read all columns kept untidily in the same wrong way."""
    for wrong in range(1, 1 + max((len(find_form(one).wrong) for one in schema.stored_forms), default=0)):

        def change(node: Any, wrong: int = wrong) -> Any:
            return replace(node, wrong=min(wrong, len(node.form.wrong))) if isinstance(node, StoredColumn) else node

        yield rewrite(query, change)


def normal_stored(query: Query) -> Query:
    """Rewrite a query by rules that are true of the forms:

    * each form keeps NULL, and only NULL, as NULL, unless a mark stands for it;
    * forms that keep each value in one way tell different values apart, also in groups and partitions; but where rows
      may lack a partner, NULL and a mark are in different groups;
    * a mark for missing values equals, exceeds, starts as and lies between no others;
    * days and months in each other's place leave the year.
    """

    def bare(column: Any, one_way: bool = False, marked: bool = False) -> Any:
        if not isinstance(column, StoredColumn):
            return column
        form = column.form
        holds = (form.one_way or not one_way) and (marked or not form.marks_missing)
        is_bare = not column.wrong or form.wrong[column.wrong - 1] == "{}" or not form.marks_missing
        if one_way and column.wrong and form.wrong[column.wrong - 1] != "{}":
            return column
        return ColumnName(column.table, column.name) if holds and is_bare else column

    def change(node: Any) -> Any:
        if isinstance(node, AggregateOf) and node.function == "COUNT":
            return replace(node, column=bare(node.column, one_way=node.distinct))
        if isinstance(node, IsMissing):
            return replace(node, left=bare(node.left))
        if isinstance(node, RankOver) and node.partition:
            return replace(node, partition=bare(node.partition, True))
        if isinstance(node, YearOf) and isinstance(node.column, StoredColumn) and node.column.wrong > 1:
            return replace(node, column=replace(node.column, wrong=0))
        if isinstance(node, SelectQuery) and node.group:
            outer = {join.column.table for join in node.joins if join.kind == "LEFT"}
            return replace(node, group=tuple(bare(one, True, column_of(one).table not in outer) for one in node.group))
        left = getattr(node, "left", None)
        if (isinstance(left, StoredColumn) and left.form.marks_missing) and (
            isinstance(node, (Within, OneOf))
            or (isinstance(node, StartsWith) and left.stored[5:6] != node.prefix[:1])
            or (isinstance(node, Compare) and node.operator in ("=", ">", ">="))
        ):
            return replace(node, left=bare(left, True, True))
        return node

    return rewrite(query, change)
