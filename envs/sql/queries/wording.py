"""Ask for the result of a query in English, so that the question alone determines it.

In the style "names" tables and columns have their schema names (`sale.quantity`); in the style "phrases" they have
English names, and joined tables are possessives ("its product's supplier's name"). A question says which rows count,
which columns are returned in which order, whether rows without a partner count, if NULL is a group, and how ties are
broken.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...code.programs.dice import Dice
from ..databases.contents import format_literal
from ..databases.relations import Field, Schema
from .computed import CaseOf, ColumnArithmetic, Contains, EarlierRows, TotalOf
from .query_tree import (
    AggregateOf,
    ColumnName,
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
    column_of,
)

STYLES = ("names", "phrases")

_NUMBERS = {
    ">": ("is more than", "is greater than", "exceeds"),
    ">=": ("is at least", "is no less than"),
    "<": ("is less than", "is below"),
    "<=": ("is at most", "is no more than"),
    "=": ("is", "equals"),
}
_DATES = {
    ">": ("is after", "is later than"),
    ">=": ("is on or after",),
    "<": ("is before", "is earlier than"),
    "<=": ("is on or before",),
    "=": ("is",),
}
_EXTREMES = {("MIN", True): "earliest", ("MAX", True): "latest", ("MIN", False): "smallest", ("MAX", False): "largest"}
_MEANS = {"SUM": "sum", "AVG": "average"}
_OPERATIONS = {"*": "times", "+": "plus", "-": "minus"}
_UNKNOWN = " (NULL if either is NULL)"
_SETS = {
    "UNION": "occurs among {left}, or among {right} (or both)",
    "INTERSECT": "occurs both among {left}, and among {right}",
    "EXCEPT": "occurs among {left}, but not among {right}",
}


def write_question(query: Query, schema: Schema, style: str, dice: Dice) -> str:
    """Write the question to which ``query`` is the answer.

    Args:
        query: a query that `query_grammar` drew.
        schema: the schema of its database.
        style: one of `STYLES`.
        dice: chooses between equivalent wordings.
    """
    return QuestionWriter(query, schema, style, dice).write(query)


class QuestionWriter:
    """Writer of the question of one query."""

    def __init__(self, query: Query, schema: Schema, style: str, dice: Dice):
        self.schema, self.dice, self.named = schema, dice, style == "names"
        main = query.left if isinstance(query, SetQuery) else query
        self.child = ""
        self.owners = {main.table: ""}
        for join in main.joins:
            if schema[join.column.table].key != join.column.name:
                self.child = join.column.table
            else:
                owner = self.owners[join.other.table]
                self.owners[join.column.table] = f"{owner}{schema[join.column.table].singular}'s "

    def write(self, query: Query) -> str:
        """Write the whole question."""
        if isinstance(query, SetQuery):
            return self._write_set(query)
        if self.child:
            sentences = self._write_parents(query)
        elif query.group:
            sentences = self._write_groups(query)
        elif all(isinstance(column, AggregateOf) for column in query.columns):
            rows = self._plural(query.table) + self._main_clauses(query, "their")
            asked = self._join([self._name(column, "the") for column in query.columns])
            sentences = [self.dice.one((f"Over all {rows}, compute {asked}.", f"Compute {asked} over all {rows}."))]
        else:
            sentences = self._write_rows(query)
        sentences += [note for join in query.joins for note in self._notes(query, join)]
        if query.order:
            sentences.append(self._order(query.order))
        if query.limit is not None:
            first = "row" if query.limit == 1 else f"{query.limit} rows"
            sentences.append(f"Return only the first {first}.")
        return " ".join(sentences)

    # Intents.

    def _write_rows(self, query: SelectQuery) -> list[str]:
        rows = self._singular(query.table) + self._main_clauses(query, "its")
        asked = self._join([self._name(column, "its") for column in query.columns])
        ways = (f"For every {rows}, give {asked}.", f"List {asked} for every {rows}.", f"Show {asked} for each {rows}.")
        each = "value" if len(query.columns) == 1 else "combination of values"
        kept = "Do not remove duplicate rows."
        if query.distinct:
            null = any(self._is_nullable(query, column) for column in query.columns)
            kept = f"Return each {each} only once{' (NULL counts as a value)' if null else ''}."
        return [self.dice.one(ways), kept]

    def _write_groups(self, query: SelectQuery) -> list[str]:
        rows = self._plural(query.table) + self._main_clauses(query, "their")
        keys = self._join([self._name(key, "their") for key in query.group])
        asked = self._join([self._name(column, "the") for column in query.columns])
        ways = (
            f"Take all {rows}. Group them by {keys}. For each group, return {asked}.",
            f"Consider all {rows}. Divide them into groups by {keys}, and give {asked} of each group.",
        )
        found = [self.dice.one(ways)]
        if any(self._is_nullable(query, key) for key in query.group):
            found.append("NULL is a group of its own.")
        return found + [f"Keep only groups for which {self._clause(one, 'the')}." for one in query.having]

    def _write_parents(self, query: SelectQuery) -> list[str]:
        rows = self._singular(query.table) + self._main_clauses(query, "its")
        asked = self._join([self._name(column, "its") for column in query.columns])
        child = self.schema[self.child]
        without = f"without any row of {child.name}" if self.named else f"without any {child.singular}"
        ways = (f"For every {rows}, give {asked}.", f"List {asked} for every {rows}.")
        found = [self.dice.one(ways), f"Include those {without}."]
        return found + [f"Keep only those for which {self._clause(one, 'the')}." for one in query.having]

    def _write_set(self, query: SetQuery) -> str:
        table = query.left.table
        left, right = (self._plural(table) + self._main_clauses(side, "their") for side in (query.left, query.right))
        relation = _SETS[query.operator].format(left=left, right=right)
        columns = query.left.columns
        lead = "the" if not self.named and (query.left.joins or len(columns) > 1) else ""
        column = self._join([self._name(one, lead) for one in columns])
        value = "combination" if len(columns) > 1 else "value"
        found = [f"Give every {value} of {column} that {relation}. Return each {value} only once."]
        found += [note for join in query.left.joins for note in self._notes(query.left, join)]
        if query.ordered:
            found.append(self._order([OrderKey(one, query.descending) for one in columns]))
        return " ".join(found)

    def _notes(self, query: SelectQuery, join: JoinTo) -> list[str]:
        """Write notes that resolve ambiguities: which of several join paths is meant, and the treatment of rows without
        a partner."""
        table, owner, field = join.column.table, join.other.table, self.schema[join.other.table][join.other.name]
        if table == self.child:
            return []
        found = []
        if self.named and _count_ways(self.schema, query.table, table) > 1:
            found.append(f"The {table} meant is that of {owner}.{field.name}.")
        if field.nullable and join.kind == "LEFT":
            chain, partner = self.owners[owner].removesuffix("'s "), self.schema[table].singular
            missing = f"whose {chain} has no {partner}" if chain else f"without any {partner}"
            if self.named:
                missing = f"where {owner}.{field.name} is NULL"
            found.append(f"Include {self._plural(query.table)} {missing}, with NULL as the {table}'s values.")
        return found

    def _order(self, keys: Sequence[OrderKey]) -> str:
        texts = []
        for key in keys:
            kind = self._kind(key.expression)
            words = {
                "date": ("earliest first", "latest first"),
                "text": ("alphabetically", "in reverse alphabetical order"),
            }
            way = words.get(kind, ("ascending", "descending"))[key.descending]
            texts.append(f"{self._name(key.expression, 'the')} ({way})")
        first = self.dice.one(("Sort by", "Order the rows by"))
        return f"{first} {texts[0]}{''.join(f', then by {text}' for text in texts[1:])}."

    # Conditions.

    def _main_clauses(self, query: SelectQuery, its: str) -> str:
        """Write the conditions on the rows of the outermost query; a condition with a nested query is the last.

        That a joined row must exist is written as a condition, not as a note at the end, where it would be unclear
        whether it also holds for nested queries. ``its`` is the possessive for the rows: "its" or "their"."""
        texts = []
        for join in query.joins:
            owner, partner = join.other.table, self.schema[join.column.table].singular
            if join.kind == "INNER" and self.schema[owner][join.other.name].nullable:
                chain, article = self.owners[owner].removesuffix("'s "), "an" if partner[0] in "aeiou" else "a"
                there = f"whose {chain} has {article} {partner}" if chain else f"with {article} {partner}"
                texts.append(f"{join.other.sql()} is not NULL" if self.named else there)
        return self._list_clauses([*texts, *(self._clause(one, "whose", its=its) for one in query.where)])

    def _list_clauses(self, texts: Sequence[str]) -> str:
        return f" {'where ' if self.named else ''}{' and '.join(texts)}" if texts else ""

    def _clause(self, condition: Condition, lead: str, table: str = "", its: str = "its") -> str:
        """Write one condition; ``table``: its table, if it is not a table of the outermost query."""
        if isinstance(condition, EitherOf):
            inner = [self._clause(one, its, table) for one in (condition.first, condition.second)]
            text = f"{inner[0]} or {inner[1]} (or both)"
            return f"({text})" if self.named else f"for which either {text}"
        if isinstance(condition, IsAmong) and condition.query.table != condition.left.table:
            inner = self.schema[condition.query.table]
            some = "no" if condition.negated else "at least one"
            # A condition that only keeps NULL out of the values of NOT IN goes without saying.
            first = condition.query.columns[0]
            present = [one for one in condition.query.where if isinstance(one, IsMissing) and one.negated]
            where = [one for one in condition.query.where if one not in present or one.left != first]
            owner = "" if table else self.owners[condition.left.table].removesuffix("'s ")
            there = f"for which the {owner} has {some} {inner.singular}" if owner else f"with {some} {inner.singular}"
            texts = [self._clause(one, "whose", inner.name) for one in where]
            if self.named:
                key = condition.query.columns[0].sql()
                there = f"there is {some} row of {inner.name}"
                texts.insert(0, f"{key} = {condition.left.sql()}")
            return there + self._list_clauses(texts)
        subject = self._name(condition.left, lead, table)
        if isinstance(condition, IsAmong):
            inner = self.schema[condition.query.table]
            same = self._name(condition.left, "the", condition.query.table)
            some = f"at least one {self._singular(inner.name)}"
            return f"{subject} equals {same} of {some}{self._nested_clauses(condition.query)}"
        return f"{subject} {self._predicate(condition)}"

    def _predicate(self, condition: Any) -> str:
        dated = self._kind(condition.left) == "date"
        if isinstance(condition, IsMissing):
            return self.dice.one(
                ("is known (not NULL)", "is not NULL") if condition.negated else ("is missing (NULL)", "is NULL")
            )
        if isinstance(condition, Within):
            low, high = map(_quote, (condition.low, condition.high))
            return f"is {'from' if dated else 'between'} {low} {'to' if dated else 'and'} {high} (both included)"
        if isinstance(condition, OneOf):
            return f"is one of ({', '.join(map(format_literal, condition.values))})"
        if isinstance(condition, StartsWith):
            return f"begins with {format_literal(condition.prefix)}"
        if isinstance(condition, Contains):
            return f"contains {format_literal(condition.part)}"
        if isinstance(condition.right, SelectQuery):
            words = self.dice.one((_DATES if dated else _NUMBERS)[condition.operator])
            return f"{words} {self._one_value(condition.right)}"
        if isinstance(condition.left, YearOf):
            return f"is {condition.right}"
        if condition.operator == "<>":
            known = isinstance(condition.left, ColumnName) and self._field(condition.left).nullable
            return f"is {'known and ' if known else ''}not {format_literal(condition.right)}"
        words = self.dice.one((_DATES if dated else _NUMBERS)[condition.operator])
        if isinstance(other := condition.right, ColumnName):
            same = f"the same {self._singular(other.table)}'s {self._field(other).phrase}"
            return f"{words} {other.sql() if self.named else same}"
        return f"{words} {_quote(condition.right) if dated else format_literal(condition.right)}"

    def _one_value(self, query: SelectQuery) -> str:
        """Name the value of an aggregate over all rows of a table."""
        aggregate = query.columns[0]
        assert isinstance(aggregate, AggregateOf)
        assert aggregate.column is not None
        what = self._name(aggregate.column, "", query.table)
        kind = (
            "average" if aggregate.function == "AVG" else _EXTREMES[aggregate.function, self._kind(aggregate) == "date"]
        )
        rows = self._plural(query.table)
        return f"the {kind} {what} of all {rows}{self._nested_clauses(query)}"

    def _nested_clauses(self, query: SelectQuery) -> str:
        return self._list_clauses([self._clause(one, "whose", query.table) for one in query.where])

    # Columns and tables.

    def _singular(self, table: str) -> str:
        return f"row of {table}" if self.named else self.schema[table].singular

    def _plural(self, table: str) -> str:
        return f"rows of {table}" if self.named else self.schema[table].plural

    def _field(self, column: ColumnName) -> Field:
        return self.schema[column.table][column.name]

    def _name(self, one: Expression, lead: str, table: str = "") -> str:
        """Name a column or an expression on it. ``lead`` precedes a column ("its", "whose", "the"); ``table`` is as in
        `_clause`."""
        if isinstance(one, YearOf):
            if lead == "whose" and not self.named:
                return f"{self._name(one.column, lead, table)}'s year"
            return f"the year of {self._name(one.column, lead, table)}"
        if isinstance(one, AggregateOf):
            return self._aggregate(one)
        if isinstance(one, (ColumnArithmetic, TotalOf, CaseOf, EarlierRows)):
            return self._computed(one, lead)
        if isinstance(one, RankOver):
            kind, last = self._kind(one.column), one.descending
            best = {"date": ("earliest", "latest")}.get(kind, ("lowest", "highest"))[last]
            whose, row = ("where", "the row's") if self.named else ("whose", "its")
            rows = "rows" if self.named else self._plural(next(iter(self.owners)))
            part = f" {whose} {self._name(one.partition, '')} is the same" if one.partition else ""
            by = f"{row} rank by {self._name(one.column, 'the')} among the listed {rows}{part}"
            return f"{by} (1 is the {best}; equal values share a rank, and a gap follows)"
        if self.named:
            return one.sql()
        owner = "" if table else self.owners.get(one.table, "")
        return f"{lead} {owner}{self._field(one).phrase}".strip()

    def _computed(self, one: ColumnArithmetic | TotalOf | CaseOf | EarlierRows, lead: str) -> str:
        if isinstance(one, TotalOf):
            inner = self._computed(one.number, "the").removesuffix(_UNKNOWN)
            word = _MEANS.get(one.function) or f"{_EXTREMES[one.function, False]} value"
            return f"the {word} of ({inner}) over its rows"
        if isinstance(one, ColumnArithmetic):
            fields = [self._field(column) for column in (one.first, one.second)]
            first, second = (self._name(column, lead) for column in (one.first, one.second))
            unknown = _UNKNOWN if any(field.nullable for field in fields) else ""
            return f"{first} {_OPERATIONS[one.operator]} {second}{unknown}"
        if isinstance(one, CaseOf):
            high, low = map(format_literal, one.bounds)
            labels = [format_literal(label) for label in one.labels]
            column = self._name(one.column, lead)
            return (
                f"a label ({labels[0]} if {column} is at least {high}, else {labels[1]} if it is at least {low}, else "
                f"{labels[2]}, also for NULL)"
            )
        rows = "rows" if self.named else self._plural(next(iter(self.owners)))
        key, way = self._name(one.key, "the"), "descending" if one.backwards else "ascending"
        part = f" with the same {self._name(one.partition, '')}" if one.partition else ""
        column = self._name(one.column, "the" if one.function == "LAG" else lead)
        if one.function == "LAG":
            return f"{column} of the row before it among the listed {rows}{part}, by {key} ({way}; NULL for the first)"
        return f"the running sum of {column} over the listed {rows}{part}, by {key} ({way}; with the row's own)"

    def _aggregate(self, one: AggregateOf) -> str:
        column = one.column
        rows = self.child or next(iter(self.owners))
        many = self._plural(rows)
        if self.child and not self.named:
            many = f"its {many}"
        elif self.child:
            many += " that refer to it"
        if column is None or column.name == self.schema[column.table].key:
            return f"the number of {many}"
        what = self._name(column, "the")
        if self.child:
            what += f" of {many}"
        if one.function == "COUNT" and one.distinct:
            return f"the number of different values of {what} (without NULL)"
        if one.function == "COUNT":
            known = f"with {column.sql()} not NULL" if self.named else f"whose {self._name(column, '')} is not NULL"
            return f"the number of {many} {known}"
        if one.function in ("SUM", "AVG"):
            return f"the {'sum' if one.function == 'SUM' else 'average'} of {what}"
        return f"the {_EXTREMES[one.function, self._kind(column) == 'date']} value of {what}"

    def _kind(self, one: Expression) -> str:
        """Return "date", "text" or "number"."""
        if isinstance(one, ColumnName):
            kind = self._field(one).kind
            return {"date": "date", "name": "text", "pick": "text"}.get(kind, "number")
        if isinstance(one, AggregateOf) and one.function in ("MIN", "MAX") and one.column:
            return self._kind(one.column)
        return "number"

    def _is_nullable(self, query: SelectQuery, one: Expression) -> bool:
        column = column_of(one)
        outer = any(join.kind == "LEFT" and join.column.table == column.table for join in query.joins)
        return outer or self._field(column).nullable

    def _join(self, parts: Sequence[str]) -> str:
        if len(parts) < 3:
            return " and ".join(parts)
        return f"{', '.join(parts[:-1])}, and {parts[-1]}"


def _quote(value: Any) -> str:
    return value if isinstance(value, str) else format_literal(value)


def _count_ways(schema: Schema, table: str, other: str) -> int:
    """Count the paths from one table to another through parents."""
    if table == other:
        return 1
    return sum(_count_ways(schema, field.values[0], other) for field in schema[table].parents)
