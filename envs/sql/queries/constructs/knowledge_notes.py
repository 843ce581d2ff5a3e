"""The construct "note": a note tells what the question needs beyond the schema.

A note defines a word for some rows, a computed number, a season or fiscal year, or the codes of a column.
"""

from __future__ import annotations

import calendar
import datetime
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_fields
from typing import Any

from ....code.programs.dice import Dice
from ...databases.contents import format_literal
from ...databases.relations import Schema
from ..computed import ColumnArithmetic, TotalOf
from ..query_grammar import draw_conditions
from ..query_plans import Plan, find_domain
from ..query_tree import (
    AggregateOf,
    ColumnName,
    Compare,
    Condition,
    EitherOf,
    IsMissing,
    Query,
    RankOver,
    SelectQuery,
    YearOf,
    replace,
)
from ..question_notes import with_article
from .added_clauses import is_repeated
from .construct import Construct, QueryRequest

_TERMS = ("notable", "preferred", "special", "regular", "critical", "key")
# Domain and table -> the first column, operation, column that may be missing, and the word for the number.
_NUMBERS = {
    ("airline", "booking"): ("fare", "+", "tax", "total fare"),
    ("factory", "run"): ("produced", "-", "rejected", "good output"),
    ("factory", "worker"): ("wage", "+", "allowance", "pay"),
    ("restaurant", "dish"): ("price", "-", "cost", "margin"),
    ("shop", "product"): ("price", "-", "unit_cost", "margin"),
}
_OPERATIONS = {"+": ("plus", "-"), "-": ("minus", "+")}
# The year in which seasons begin; most dates lie in it and in the next.
_YEAR = 2022


@dataclass(frozen=True, slots=True)
class Term:
    """A word for rows that meet two conditions, or one of them."""

    word: str
    first: Condition
    second: Condition
    joint: str

    def sql(self, qualified: bool = True) -> str:
        return f"({self.first.sql(qualified)} {self.joint} {self.second.sql(qualified)})"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield conditions that misread the note."""
        yield "note", replace(self, joint="OR" if self.joint == "AND" else "AND")
        yield "note", self.first
        yield "note", self.second

    def ask(self, writer: Any, lead: str, table: str = "") -> str:
        """Write the condition as a clause."""
        return f"the row counts as {self.word}" if writer.named else f"counted as {self.word}"

    def note(self, writer: Any) -> str:
        """Write the note."""
        left: Any = self.first
        table = getattr(left.left, "table", "") or left.left.column.table
        first, second = (writer.clause(one, "its") for one in (self.first, self.second))
        joint = "and" if self.joint == "AND" else "or"
        both = "" if joint == "and" else " (or both)"
        return f"{with_article(writer.singular(table))} counts as {self.word} if {first} {joint} {second}{both}."


@dataclass(frozen=True, slots=True)
class NetNumber:
    """A number with a word: a column plus or minus another, which counts as 0 if it is missing."""

    word: str
    first: ColumnName
    operator: str
    second: ColumnName

    def sql(self, qualified: bool = True) -> str:
        return f"{self.first.sql(qualified)} {self.operator} COALESCE({self.second.sql(qualified)}, 0)"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield numbers that ignore or misread the note."""
        yield "note", ColumnArithmetic(self.first, self.operator, self.second)
        yield "note", replace(self, operator=_OPERATIONS[self.operator][1])
        yield "note", self.first

    def ask(self, writer: Any, lead: str, table: str = "") -> str:
        """Name the number."""
        return f"{lead or 'the'} {self.word}"

    def note(self, writer: Any) -> str:
        """Write the note."""
        names = [one.sql() if writer.named else writer.field(one).phrase for one in (self.first, self.second)]
        rows = with_article(writer.singular(self.first.table))
        the = "" if writer.named else "the "
        way = _OPERATIONS[self.operator][0]
        missing = f"if {names[1]} is NULL, it counts as 0" if writer.named else f"a missing {names[1]} counts as 0"
        return f"the {self.word} of {rows} is {the}{names[0]} {way} {the}{names[1]}; {missing}."


@dataclass(frozen=True, slots=True)
class SeasonIs:
    """Condition that a date lies in a season or fiscal year, from ``low`` to ``high``."""

    left: ColumnName
    low: str
    high: str
    word: str
    rule: str

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} BETWEEN '{self.low}' AND '{self.high}'"

    def around(self, values: Sequence[Any]) -> list[Any]:
        """List dates at and near the bounds, in the years of both, and outside."""
        near = [_shift(day, days) for day in (self.low, self.high) for days in (-1, 0, 1, 45, -45)]
        ends = [f"{day[:4]}-{end}" for day in (self.low, self.high) for end in ("01-01", "12-31")]
        return [*near, *ends, _shift(self.low, 120), _shift(self.low, 240)]

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield conditions that ignore or misread the note."""
        for day in (self.low, self.high):
            yield "note", replace(self, low=f"{day[:4]}-01-01", high=f"{day[:4]}-12-31")
        for years in (-1, 1):
            low, high = (f"{int(day[:4]) + years}{day[4:]}" for day in (self.low, self.high))
            yield "note", replace(self, low=low, high=high)
        yield "note", replace(self, low=_shift(self.low, 1))
        yield "note", replace(self, high=_shift(self.high, 1))
        yield "note", replace(self, high=_shift(self.high, -1))

    def ask(self, writer: Any, lead: str, table: str = "") -> str:
        """Write the condition as a clause."""
        return f"{writer.name(self.left, lead, table)} lies in the {self.word}"

    def note(self, writer: Any) -> str:
        """Write the note."""
        return self.rule


@dataclass(frozen=True, slots=True)
class CodeIs:
    """Condition that a column has (has not) the code of a word. ``codes`` are all codes with their words."""

    left: ColumnName
    code: str
    codes: tuple[tuple[str, str], ...]
    negated: bool = False

    def sql(self, qualified: bool = True) -> str:
        return f"{self.left.sql(qualified)} {'<>' if self.negated else '='} {format_literal(self.code)}"

    def around(self, values: Sequence[Any]) -> list[Any]:
        """List all codes, the one asked for more often."""
        return [*[code for code, _ in self.codes], *[self.code] * (0 if self.negated else len(self.codes)), None]

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        """Yield conditions on other codes, and on NULL."""
        for code, word in self.codes:
            yield "note", replace(self, code=word if code == self.code else code)
        yield "note", replace(self, negated=not self.negated)
        if self.negated and schema[self.left.table][self.left.name].nullable:
            negated: Any = self
            yield "null", EitherOf(negated, IsMissing(self.left))

    def ask(self, writer: Any, lead: str, table: str = "") -> str:
        """Write the condition as a clause."""
        known = "known and " if writer.field(self.left).nullable else ""
        subject, word = writer.name(self.left, lead, table), dict(self.codes)[self.code]
        return f"{subject} is {f'{known}not ' if self.negated else ''}{word}"

    def note(self, writer: Any) -> str:
        """Write the note."""
        owner = with_article(writer.schema[self.left.table].singular)
        subject = self.left.sql() if writer.named else f"the {writer.field(self.left).phrase} of {owner}"
        codes = writer.join([f"{format_literal(code)} for {word}" for code, word in self.codes])
        return f"{subject} is kept as a code, {codes}."


def _shift(day: str, days: int) -> str:
    return str(datetime.date.fromisoformat(day) + datetime.timedelta(days=days))


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Give a column codes, or add the columns of a computed number; or leave the plan as it is."""
    way = dice.one(("codes", "number", "other"))
    relation = plan.schema[plan.base]
    picks = [field for field in relation.fields if field.kind == "pick" and len(field.values[0]) > 2]
    if way == "codes" and picks:
        field = dice.one(picks)
        words = list(field.values)
        codes = tuple(str(number) for number in range(1, len(words) + 1))
        letters = tuple(word[0].upper() for word in words)
        if len(set(letters)) == len(letters) and dice.chance(0.5):
            codes = letters
        else:
            first = dice.below(len(words))
            words = words[first:] + words[:first]
        coded = replace_fields(field, values=codes, words=tuple(words))
        return Plan(plan.schema.with_field(plan.base, coded), plan.base, plan.joins)
    key = (plan.schema.domain, plan.base)
    if way == "number" and key in _NUMBERS:
        domain, schema = find_domain(plan), plan.schema
        for name in _NUMBERS[key][::2]:
            if name in [field.name for field in domain[plan.base].fields]:
                schema = schema.with_field(plan.base, domain[plan.base][name])
        return Plan(schema, plan.base, plan.joins)
    return plan


def _draw(request: QueryRequest, query: Query | None) -> Query | None:
    dice, plan = request.dice, request.plan
    if not isinstance(query, SelectQuery) or query.distinct:
        return None
    relation, words = plan.schema[query.table], set(re.findall(r"\w+", query.sql()))
    names = {field.name for field in relation.fields}
    coded = [field for field in relation.fields if field.words]
    if coded and query.table == plan.base:
        if coded[0].name in words:
            return None
        left = ColumnName(query.table, coded[0].name)
        codes = tuple(sorted(zip(coded[0].values, coded[0].words)))
        return _restrict(query, CodeIs(left, dice.one(codes)[0], codes, dice.chance(0.3)))
    if (found := _NUMBERS.get((plan.schema.domain, query.table))) and {found[0], found[2]} <= names:
        first, operator, second, word = found
        net = NetNumber(word, ColumnName(query.table, first), operator, ColumnName(query.table, second))
        return _use_number(request, query, net)
    dates = [column for column, field in request.columns(query.table, ("date",)) if not field.values]
    dates = [column for column in dates if column.name not in words]
    if dates and dice.chance(0.4):
        return _restrict(query, _draw_season(dice, dice.one(dates)))
    conditions = draw_conditions(dice, plan, request.rows, query.table, 2)
    if conditions is None or len(conditions) < 2:
        return None
    columns = [getattr(one, "left", None) for one in conditions]
    used = [one.column if isinstance(one, YearOf) else one for one in columns]
    if not all(isinstance(one, ColumnName) and one.name not in words for one in used):
        return None
    joint = dice.one(("AND", "AND", "OR"))
    return _restrict(query, Term(dice.one(_TERMS), conditions[0], conditions[1], joint))


def _restrict(query: SelectQuery, condition: Any) -> SelectQuery:
    return replace(query, where=(condition, *query.where))


def _use_number(request: QueryRequest, query: SelectQuery, net: Any) -> SelectQuery | None:
    """Show a computed number, aggregate it, or compare it."""
    dice = request.dice
    if query.group or any(isinstance(column, AggregateOf) for column in query.columns):
        if query.group and not is_repeated(query, request.plan.schema) and dice.chance(0.6):
            total = TotalOf(dice.one(("SUM", "AVG", "MIN", "MAX")), net)
            return replace(query, columns=(*query.columns, total))
    elif not any(isinstance(column, RankOver) for column in query.columns) and dice.chance(0.6):
        return replace(query, columns=(*query.columns, net))
    names = [field.name for field in request.plan.schema[query.table].fields]
    places = [names.index(one.name) for one in (net.first, net.second)]
    sign = 1 if net.operator == "+" else -1
    rows = request.rows[query.table]
    values = sorted({row[places[0]] + sign * (row[places[1]] or 0) for row in rows})
    bound = values[dice.between(1, len(values) // 2)]
    return _restrict(query, Compare(net, dice.one((">", ">=")), bound))


def _draw_season(dice: Dice, column: ColumnName) -> SeasonIs:
    """Draw a season, named after both of its years, or a fiscal year, named after the one in which it ends."""
    is_season = dice.chance(0.5)
    month = dice.one((7, 8, 9, 10)) if is_season else dice.one((4, 7, 10))
    low = f"{_YEAR}-{month:02d}-01"
    high = _shift(f"{_YEAR + 1}-{month:02d}-01", -1)
    first, last = calendar.month_name[month], calendar.month_name[month - 1]
    if is_season:
        rule = f"a season runs from the beginning of {first} to the end of {last}, and is named after both years."
        return SeasonIs(column, low, high, f"season {_YEAR}/{_YEAR - 1999}", rule)
    rule = (
        f"a fiscal year runs from the beginning of {first} to the end of {last}, and is named after the year in which "
        "it ends."
    )
    return SeasonIs(column, low, high, f"fiscal year {_YEAR + 1}", rule)


KNOWLEDGE_NOTES = Construct("note", _draw, _prepare, adds=True)
