"""The construct "recursive": all rows below or above a row of a hierarchy, and series of months without gaps."""

from __future__ import annotations

import calendar
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from ....code.programs.dice import Dice
from ...databases.hierarchies import name_superior
from ...databases.relations import Schema
from ..query_plans import Plan
from ..query_tree import AggregateOf, ColumnName, Condition, Query, WholeQuery, YearOf, replace
from ..question_notes import with_article
from .construct import Construct, QueryRequest
from .superior_pairs import KEPT, add_hierarchy, explain_link


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """A reference to superiors: its table, column, the word for a superior, and the name for a row."""

    table: str
    link: str
    word: str
    one: str

    @property
    def key(self) -> str:
        return f"{self.table}_id"

    def explain(self) -> list[str]:
        """Write the sentences that say which rows stand below others."""
        chain = f"its {self.word}, its {self.word}'s {self.word}, and so on"
        stands = f"{with_article(self.one).capitalize()} stands below {chain}; these stand above it."
        return [explain_link(self.table, self.link, self.word, self.one), stands]


@dataclass(frozen=True, slots=True)
class RelatedRows(WholeQuery):
    """Rows below (above) one row of a hierarchy at any distance, with their distance or as an aggregate; or all rows
    with their depth.

    Args:
        table: the table.
        columns: columns to show, or one aggregate.
        where: conditions on the rows listed; rows between may fail them.
        hierarchy: the reference to superiors.
        start: key of the row; None for all rows, from those without a superior on.
        upwards: True for the rows above it.
        distance: True to show the distance, 1 for the next.
        first: distance of the first rows; others than 1 in near misses only.
        itself: True to begin with the row itself; in near misses only.
        most: maximum distance; in near misses only.
        through: True if rows between must meet the conditions, too; in near misses only.
    """

    table: str
    columns: tuple[Any, ...]
    where: tuple[Condition, ...]
    hierarchy: Hierarchy
    start: int | None
    upwards: bool
    distance: bool
    first: int = 1
    itself: bool = False
    most: int = 0
    through: bool = False

    @property
    def has_repeats(self) -> bool:
        return not self.is_single_row

    @property
    def is_single_row(self) -> bool:
        return isinstance(self.columns[0], AggregateOf)

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        table, key, link = self.table, self.hierarchy.key, self.hierarchy.link
        # The column of a found row, and the column by which it is found.
        found, by = (link, key) if self.upwards else (key, link)
        base = f"SELECT {found}, {self.first} FROM {table} WHERE {by} = {self.start}"
        if self.start is None:
            base = f"SELECT {key}, {self.first} FROM {table} WHERE {link} IS NULL"
        elif self.itself:
            base = f"SELECT {key}, 0 FROM {table} WHERE {key} = {self.start}"
        step = f"SELECT {table}.{found}, related.distance + 1 FROM {table} JOIN related ON {table}.{by} = related.id"
        if self.through:
            base += "".join(f" AND {one.sql()}" for one in self.where)
            step += self.write_where()
        shown = [column.sql() for column in self.columns] + ["related.distance"] * self.distance
        bound = [f"related.distance <= {self.most}"] if self.most else []
        return (
            f"WITH RECURSIVE related(id, distance) AS ({base} UNION ALL {step}) SELECT {', '.join(shown)} FROM related "
            f"JOIN {table} ON {table}.{key} = related.id{self.write_where(*bound)}"
        )

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        # The next rows only, and those two steps away.
        for most in (1, 2):
            yield "recursion", replace(self, most=most)
        if self.distance:
            yield "recursion", replace(self, first=0)
        if self.start is not None:
            yield "recursion", replace(self, itself=True)
            yield "recursion", replace(self, upwards=not self.upwards)
        if self.where and not self.upwards:
            yield "recursion", replace(self, through=True)

    def ask(self, writer: Any) -> list[str]:
        name, rows = writer.singular(self.table), writer.plural(self.table)
        found = self.hierarchy.explain()
        the_row = f"the {name} with {f'{self.table}_id' if writer.named else 'the id'} {self.start}"
        side = "above" if self.upwards else "below"
        shown = [writer.name(column, "its") for column in self.columns]
        if self.start is None:
            top = f"1 for {with_article(self.hierarchy.one)} without {with_article(self.hierarchy.word)}"
            shown.append(f"its depth ({top}, 2 for one whose {self.hierarchy.word} has depth 1, and so on)")
            found.append(f"For every {name}, give {writer.join(shown)}.")
        elif isinstance(self.columns[0], AggregateOf):
            stands = f"all {rows} that stand {side} {the_row}"
            column = self.columns[0].column
            what = "number" if column is None else f"sum of {writer.name(column, '' if writer.named else 'the')}"
            found.append(f"Give the {what} of {stands}." if column is None else f"Give the {what}, over {stands}.")
        else:
            if self.distance:
                word = self.hierarchy.word
                below = f"the number of steps from it up to {the_row} (1 if that is its {word})"
                above = f"the number of steps from {the_row} up to it (1 if it is the {word} there)"
                shown.append(above if self.upwards else below)
            found.append(f"For every {name} that stands {side} {the_row}, give {writer.join(shown)}.")
        if texts := writer.list_clauses([writer.clause(one, "whose") for one in self.where]):
            keep = "Take only those" if isinstance(self.columns[0], AggregateOf) else "Keep only those"
            found.append(f"{keep}{texts}; others on the way need not meet this.")
        return found if isinstance(self.columns[0], AggregateOf) else [*found, KEPT]

    def steps(self) -> list[str]:
        start = "rows without a superior" if self.start is None else f"the rows next to row {self.start}"
        return [
            f"Begin with {start} of {self.table}, at distance 1.",
            f"Add the rows {'above' if self.upwards else 'below'} those found, by {self.hierarchy.link}, one step "
            "further, until there are no more.",
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
        ]


@dataclass(frozen=True, slots=True)
class BelowCounts(WholeQuery):
    """For each row of a hierarchy, the number of rows below it at any distance.

    Args:
        table: the table.
        columns: columns to show.
        where: conditions on the rows listed.
        hierarchy: the reference to superiors.
        form: "below"; in near misses also "direct" (one step), "itself" (the row, too), "above", "joined" (only rows
            with others below).
    """

    table: str
    columns: tuple[ColumnName, ...]
    where: tuple[Condition, ...]
    hierarchy: Hierarchy
    form: str = "below"

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        table, key, link = self.table, self.hierarchy.key, self.hierarchy.link
        shown = ", ".join(column.sql() for column in self.columns)
        if self.form == "direct":
            count = f"(SELECT COUNT(*) FROM {table} AS other WHERE other.{link} = {table}.{key})"
            return f"SELECT {shown}, {count} FROM {table}{self.write_where()}"
        base = f"SELECT {link}, {key} FROM {table} WHERE {link} IS NOT NULL"
        if self.form == "itself":
            base = f"SELECT {key}, {key} FROM {table}"
        step = f"SELECT related.top, {table}.{key} FROM related JOIN {table} ON {table}.{link} = related.id"
        end = "id" if self.form == "above" else "top"
        count = f"(SELECT COUNT(*) FROM related WHERE related.{end} = {table}.{key})"
        more = [f"{table}.{key} IN (SELECT related.top FROM related)"] if self.form == "joined" else []
        return (
            f"WITH RECURSIVE related(top, id) AS ({base} UNION ALL {step}) SELECT {shown}, {count} FROM {table}"
            f"{self.write_where(*more)}"
        )

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        for form in ("direct", "itself", "above", "joined"):
            yield "recursion", replace(self, form=form)

    def ask(self, writer: Any) -> list[str]:
        shown = [writer.name(column, "its") for column in self.columns]
        shown.append(f"the number of all {writer.plural(self.table)} that stand below it (0 if there are none)")
        main = writer.singular(self.table) + writer.main_clauses(self, "its")
        return [*self.hierarchy.explain(), f"For every {main}, give {writer.join(shown)}.", KEPT]

    def steps(self) -> list[str]:
        return [
            f"Begin with the pairs of {self.hierarchy.link} and {self.hierarchy.key} of {self.table}.",
            "Add the pairs of the same top and the rows below those found, until there are no more.",
            *(f"Keep rows with {condition.sql()}." for condition in self.where),
            "Count the pairs of each row; rows without any have 0.",
        ]


@dataclass(frozen=True, slots=True)
class MonthSeries(WholeQuery):
    """For each of some months in a row, an aggregate of the rows of that month, also if there are none.

    Args:
        table: the table.
        where: conditions on its rows.
        date: the column of dates.
        year: the year.
        first: number of the first month.
        last: number of the last month.
        value: COUNT, or SUM of a column.
        form: "all"; in near misses also "gaps" (only months with rows), "years" (of any year) and "zero" (0 for the sum
            over no rows).
    """

    table: str
    where: tuple[Condition, ...]
    date: ColumnName
    year: int
    first: int
    last: int
    value: AggregateOf
    form: str = "all"

    @property
    def columns(self) -> tuple[Any, ...]:
        return ()

    @property
    def has_repeats(self) -> bool:
        return False

    def sql(self, known: Mapping[int, str] = MappingProxyType({})) -> str:
        month = f"CAST(strftime('%m', {self.date.sql()}) AS INTEGER)"
        year = [f"{YearOf(self.date).sql()} = {self.year}"] * (self.form != "years")
        value = self.value.sql()
        if self.form == "gaps":
            where = self.write_where(*year, f"{month} BETWEEN {self.first} AND {self.last}")
            return f"SELECT {month}, {value} FROM {self.table}{where} GROUP BY {month}"
        inner = f"(SELECT {value} FROM {self.table}{self.write_where(*year, f'{month} = months.n')})"
        inner = f"COALESCE({inner}, 0)" if self.form == "zero" else inner
        series = f"SELECT {self.first} UNION ALL SELECT n + 1 FROM months WHERE n < {self.last}"
        return f"WITH RECURSIVE months(n) AS ({series}) SELECT months.n, {inner} FROM months"

    def changes(self, schema: Schema) -> Iterator[tuple[str, Any]]:
        for form in ("gaps", "years", *(["zero"] if self.value.column else [])):
            yield "recursion", replace(self, form=form)
        yield "recursion", replace(self, first=self.first + 1)
        yield "recursion", replace(self, last=self.last + 1)
        yield "recursion", replace(self, last=self.last - 1)

    def often(self, schema: Schema) -> dict[tuple[str, str], list[Any]]:
        """Days in the months, at their ends and next to them, and in other years; one month in the middle has none."""
        empty = (self.first + self.last) // 2
        months = [month for month in range(max(self.first - 1, 1), min(self.last + 1, 12) + 1) if month != empty]
        days = [
            f"{self.year}-{month:02d}-{day:02d}"
            for month in months
            for day in (1, 15, calendar.monthrange(self.year, month)[1])
        ]
        return {(self.date.table, self.date.name): [*days, *(f"{self.year - 1}{day[4:]}" for day in days[1::3])]}

    def ask(self, writer: Any) -> list[str]:
        first, last = (calendar.month_name[month] for month in (self.first, self.last))
        date = writer.name(self.date, "whose")
        texts = [f"{date} lies in it", *(writer.clause(one, "whose") for one in self.where)]
        rows = f"all {writer.plural(self.table)}{writer.list_clauses(texts)}"
        column = self.value.column
        what = f"the number of {rows}"
        if column is not None:
            what = f"the sum of {writer.name(column, '' if writer.named else 'the')} of {rows}"
        return [
            f"For each month from {first} to {last} {self.year}, give the number of the month ({self.first} to "
            f"{self.last}) and {what}.",
            "List months without any as well.",
        ]

    def steps(self) -> list[str]:
        return [
            f"Make the months from {self.first} to {self.last} by counting up.",
            f"For each, a nested query takes {self.value.sql()} of {self.table} in that month of {self.year}.",
            *(f"It takes only rows with {condition.sql()}." for condition in self.where),
        ]


def _prepare(dice: Dice, plan: Plan) -> Plan | None:
    """Choose a hierarchy, or a table with a date of the years of `MonthSeries`."""
    dated = [one.name for one in plan.schema.relations if any(f.kind == "date" and not f.values for f in one.fields)]
    if dated and dice.chance(0.25):
        return Plan(plan.schema, dice.one(dated), ())
    return add_hierarchy(dice, plan)


def _draw(request: QueryRequest, _: Query | None) -> Query | None:
    dice, table, relation = request.dice, request.plan.base, request.plan.schema[request.plan.base]
    numbers = [column for column, _ in request.columns(table, ("int", "real"))]
    if (where := request.draw_conditions(table)) is None:
        return None
    link = next((field for field in relation.fields if field.kind == "self"), None)
    if link is None:
        dates = [column for column, field in request.columns(table, ("date",)) if not field.values]
        first = dice.between(2, 6)
        value = AggregateOf("SUM", dice.one(numbers)) if numbers and dice.chance(0.5) else AggregateOf("COUNT")
        last = first + dice.between(3, 5)
        return MonthSeries(table, where, dice.one(dates), dice.one((2022, 2023)), first, last, value)
    hierarchy = Hierarchy(table, link.name, name_superior(link), relation.singular)
    shown = request.draw_columns(table)
    way = dice.one(("below", "below", "above", "total", "levels", "counts"))
    if way == "counts":
        return BelowCounts(table, shown, where, hierarchy) if shown else None
    if way == "levels":
        return RelatedRows(table, shown, where, hierarchy, None, False, True) if shown else None
    place = relation.fields.index(link)
    above = {row[0]: row[place] for row in request.rows[table]}
    below = {key: [one for one, superior in above.items() if superior == key] for key in above}
    if way == "above":
        starts = [key for key, superior in above.items() if superior and above[superior]]
    else:
        starts = [key for key, found in below.items() if len(found) > 1 and any(map(below.get, found))]
    if not starts:
        return None
    if way == "total":
        aggregate = AggregateOf("SUM", dice.one(numbers)) if numbers and dice.chance(0.6) else AggregateOf("COUNT")
        return RelatedRows(table, (aggregate,), where, hierarchy, dice.one(starts), False, False)
    return RelatedRows(table, shown, where, hierarchy, dice.one(starts), way == "above", dice.chance(0.6))


RECURSIVE_QUERIES = Construct("recursive", _draw, _prepare)
